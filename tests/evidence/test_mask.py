"""A secret is gone before a byte is written; everything else stays as the host said it."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvgate import agreement as agreements
from kvgate.errors import TimedOut
from kvgate.evidence import AskedProbe, Evidence, Masker
from kvgate.transport.base import Answer, Batch
from tests.evidence.sample import RUN, START

PEM = (
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ\n"
    "AAAAAAAAABAAAAMwAAAAtzc2gtZWQyNTUxOQAAACB\n-----END OPENSSH PRIVATE KEY-----"
)

SECRETS = [
    (f"key:\n{PEM}\nend", "b3BlbnNz"),
    (PEM[:120], "b3BlbnNz"),
    ("nvme connect --dhchap-secret=DHHC-1:00:ia6zGodOr4SEG0Zzaw398rpY0wqipUWj4jWjUh4HWUz6aQ2n:", "ia6zGodO"),
    ("NVMeTLSkey-1:01:MDAxMTIyMzM0NDU1NjY3Nzg4OTlhYWJiY2NkZGVlZmaZrV:", "MDAxMTIy"),
    ("curl -H 'Authorization: Bearer abc.def-123456'", "abc.def-123456"),
    ("Authorization: Basic dXNlcjpodW50ZXIy", "dXNlcjpodW50ZXIy"),
    ("//nas/share /mnt cifs username=ops,password=hunter2,vers=3", "hunter2"),
    ("DB_PASSWORD=hunter2-long", "hunter2-long"),
    ('{"password": "hunter2"}', "hunter2"),
    ("api_key: sk-1234567890abcdef", "sk-1234567890abcdef"),
    ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG\nx", "wJalrXUtnFEMI"),
    ("aws_secret_access_key = x\naws_access_key_id=AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
    ("found AKIAIOSFODNN7EXAMPLE here", "AKIAIOSFODNN7EXAMPLE"),
    ("HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz123456", "hf_abcdefg"),
    ("hf_abcdefghijklmnopqrstuvwxyz123456", "hf_abcdefg"),
    ("https://ops:hunter2@nas.example/x", "hunter2"),
    ("root:$6$abcdefgh$abcdefghijklmnopqrstuvwxyz:19000", "abcdefghijklmnop"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w", "dozjgNry"),
]

HARMLESS = [
    "max_tokens=4096", "token: 2", "eos_token: 151643", "passwordauthentication yes", "tokens per second: 12.5",
    "nqn.2024-01.io.kvgate:fx100", "http://10.0.0.1:8000/v1", "psk: none\n"[:3], "LnkSta: Speed 16GT/s", "SHA256:4YAiOp7T",
    "temperature: 41", "Password required pam_unix", "key 0x00000000", "/sys/class/nvme/nvme0/dhchap_secret", "none",
    "/sys/class/nvme/nvme0/dhchap_secret:none", '"password": null', "aspirin asia AKIA", "$6", "[masked]",
]  # fmt: skip


@pytest.mark.parametrize("text, secret", SECRETS)
def test_a_secret_is_masked_and_counted(text: str, secret: str) -> None:
    assert secret in text
    masked, count = Masker().mask(text.encode())
    assert secret.encode() not in masked
    assert b"[masked]" in masked
    assert count >= 1
    assert Masker().mask(masked)[0] == masked, "masking is settled after one pass"


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert Masker().mask(text.encode()) == (text.encode(), 0)


def test_real_outputs_stay_as_they_are() -> None:
    samples = sorted((Path(__file__).parents[1] / "parsers").glob("*/*.txt"))
    changed = [str(path) for path in samples if Masker().mask(path.read_bytes())[1]]
    assert changed == []


def test_only_the_value_goes() -> None:
    assert (
        Masker().mask(b"cifs username=ops,password=hunter2,vers=3")[0] == b"cifs username=ops,password=[masked],vers=3"
    )
    assert Masker().mask(b"https://ops:hunter2@nas/x")[0] == b"https://ops:[masked]@nas/x"
    assert Masker().mask(b"Authorization: Bearer abcdef\nHost: x")[0] == b"Authorization: Bearer [masked]\nHost: x"


def test_registered_secrets_are_masked_longest_first() -> None:
    masker = Masker(["hunter2", "hunter2-and-more"])
    assert masker.mask(b"x hunter2-and-more hunter2 x") == (b"x [masked] [masked] x", 2)
    with pytest.raises(ValueError, match="3 bytes") as caught:
        masker.register("abc")
    assert "abc" not in str(caught.value)


@settings(max_examples=80, deadline=None)
@given(st.binary(max_size=200), st.binary(min_size=4, max_size=12), st.binary(max_size=200))
def test_a_registered_secret_never_survives(before: bytes, secret: bytes, after: bytes) -> None:
    masker = Masker([secret])
    masked, count = masker.mask(before + secret + after)
    assert count >= 1
    assert secret not in masked or secret in b"[masked]" or secret not in masked.replace(b"[masked]", b"")
    assert masker.mask(before + secret + after) == (masked, count)


def test_a_hostile_output_does_not_hold_up_the_run() -> None:
    for text in (
        b"-----BEGIN PRIVATE KEY-----\n" * 20_000,
        b"password:" * 100_000,
        b"a-" * 500_000 + b"token",
        b"://" * 300_000,
    ):
        begun = time.perf_counter()
        Masker().mask(text)
        assert time.perf_counter() - begun < 5, text[:30]


def test_no_secret_reaches_the_folder(tmp_path: Path) -> None:
    masker = Masker(["swordfish"])
    start = {
        **START,
        "argv": ["--ledger", "postgresql://kv:hunter2@db/x"],
        "inventory": "rack: a\n# swordfish\n",
        "password": "open sesame",
    }
    asked = {
        "a": AskedProbe("p", "nvme connect --dhchap-secret=DHHC-1:00:abcdefghijklmnop:", "passive"),
        "b": AskedProbe("p", "l", "passive"),
    }
    with Evidence.create(tmp_path, RUN, start, masker=masker) as evidence:
        answer = Answer("a", b"password=hunter2\n", b"swordfish\n", 0, 0.1)
        kept = evidence.keep(
            Batch("h", {"a": answer, "b": TimedOut("sudo: swordfish is wrong")}, notes=("swordfish",)), asked, 1
        )
        evidence.note("note", text="swordfish\nswordfish")
        found = evidence.answer(kept["a"])
        assert found.stdout == b"password=[masked]\n"
        assert found.line == "nvme connect --dhchap-secret=[masked]"
        assert [line.get("masked") for line in evidence.lines()] == [3, 1, 4, 1, 2]
    whole = b"".join(
        gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for path in tmp_path.rglob("*")
        if path.is_file()
    )
    for secret in (b"swordfish", b"hunter2", b"abcdefghijklmnop", b"sesame"):
        assert secret not in whole
    assert json.loads((tmp_path / RUN / "journal.jsonl").read_bytes().splitlines()[0])["masked"] == 3


def test_no_word_of_the_agreement_looks_like_a_secret() -> None:
    """A text that masking changes would be another agreement in the evidence than in the ledger: nothing could be certified."""
    text = agreements.read().canonical()
    assert Masker().mask(text.encode() if isinstance(text, str) else text)[1] == 0
