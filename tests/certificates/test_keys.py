"""Keys as people have them: OpenSSH files, PEM files, with a passphrase, in an agent. Nothing secret is ever shown."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import PrivateFormat

from kvgate.certificates import envelope
from kvgate.certificates.keys import PublicKey, public_key, signer
from kvgate.errors import NotAllowed, Unproven
from tests.certificates.conftest import Keys


def nobody(path: Path) -> str:
    raise AssertionError(f"asked for the passphrase of {path}")


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An ssh-agent of this test alone."""
    socket = tmp_path / "agent"
    started = subprocess.run(["ssh-agent", "-s", "-a", socket], capture_output=True, text=True, check=True).stdout
    number = re.search(r"SSH_AGENT_PID=(\d+)", started)
    assert number is not None
    monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
    monkeypatch.setenv("SSH_AGENT_PID", number[1])
    yield
    subprocess.run(["ssh-agent", "-k"], capture_output=True, check=True)


def test_a_key_made_by_ssh_keygen_signs_and_has_its_fingerprint(tmp_path: Path) -> None:
    path = tmp_path / "vendor"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "open sesame", "-f", path], check=True)
    listed = subprocess.run(["ssh-keygen", "-lf", path], capture_output=True, text=True, check=True).stdout
    found = signer(path, lambda _: "open sesame")
    assert found.public.fingerprint == listed.split()[1]
    assert found.public.verifies(found.sign(b"x"), b"x")


@pytest.mark.parametrize("form", [PrivateFormat.OpenSSH, PrivateFormat.PKCS8])
@pytest.mark.parametrize("passphrase", [None, b"open sesame"])
def test_every_form_of_a_key_gives_the_same_signature(
    tmp_path: Path, vendor: Keys, form: PrivateFormat, passphrase: bytes | None
) -> None:
    path = vendor.write(tmp_path / "key", passphrase, form)
    found = signer(path, nobody if passphrase is None else lambda _: "open sesame")
    assert found.sign(b"x") == vendor.signer.sign(b"x")


@pytest.mark.usefixtures("agent")
def test_an_agent_gives_the_same_signature_and_is_asked_before_a_passphrase(tmp_path: Path, vendor: Keys) -> None:
    path = vendor.write(tmp_path / "key")
    subprocess.run(["ssh-add", "-q", path], check=True)
    vendor.write(path, b"open sesame")
    for named in (path, path.with_name("key.pub")):
        found = signer(named, nobody)
        assert "AgentSigner" in repr(found)
        assert found.sign(b"x") == vendor.signer.sign(b"x")


@pytest.mark.usefixtures("agent")
def test_a_key_that_the_agent_does_not_hold_is_refused_with_what_to_do(tmp_path: Path, vendor: Keys) -> None:
    vendor.write(tmp_path / "key")
    with pytest.raises(NotAllowed, match=r"is not running, or holds no key: add SHA256:.* with ssh-add"):
        signer(tmp_path / "key.pub", nobody)


def test_without_an_agent_a_locked_key_asks_for_its_passphrase(
    tmp_path: Path, vendor: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    path = vendor.write(tmp_path / "key", b"open sesame")
    assert signer(path, lambda asked: "open sesame" if asked == path else "").public == vendor.signer.public


@pytest.mark.parametrize("passphrase", ["", "wrong"])
@pytest.mark.parametrize("form", [PrivateFormat.OpenSSH, PrivateFormat.PKCS8])
def test_a_wrong_passphrase_is_refused_without_repeating_it(
    tmp_path: Path, vendor: Keys, monkeypatch: pytest.MonkeyPatch, passphrase: str, form: PrivateFormat
) -> None:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    path = vendor.write(tmp_path / "key", b"open sesame", form)
    with pytest.raises(NotAllowed, match="passphrase") as caught:
        signer(path, lambda _: passphrase)
    assert "sesame" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("kind", ["rsa", "ecdsa"])
def test_a_key_of_another_kind_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", path], check=True)
    with pytest.raises(NotAllowed, match="ssh-keygen -t ed25519"):
        signer(path, nobody)
    with pytest.raises(Unproven, match="ssh-keygen -t ed25519"):
        public_key(path.with_name("key.pub").read_text())


@pytest.mark.parametrize("text", ["", "hello", "ssh-ed25519", "ssh-ed25519 AAAA", "-----BEGIN PUBLIC KEY-----\nAAAA\n"])
def test_what_is_no_public_key_is_refused(text: str) -> None:
    with pytest.raises(Unproven):
        public_key(text)


def test_a_damaged_private_key_is_refused_without_showing_it(tmp_path: Path, vendor: Keys) -> None:
    path = vendor.write(tmp_path / "key")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\nAA", 2))
    with pytest.raises(NotAllowed, match=r"no private key that can be read") as caught:
        signer(path, nobody)
    assert "AAAA" not in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        "root:x:0:0\n",
        "hf_TokenOf==",
        "password = s3cret-of-ours\n",
        "sk-0123456789abcdef0123456789abcdef",
        "ssh-secret.pw",
    ],
)
def test_any_other_file_is_refused_without_showing_it(tmp_path: Path, content: str) -> None:
    (tmp_path / "file").write_text(content)
    with pytest.raises(Unproven) as refused:
        signer(tmp_path / "file", lambda _: "")
    assert "holds no key" in str(refused.value)
    assert not [
        word for word in content.split() if len(word) > 1 and word in str(refused.value).replace(str(tmp_path), "")
    ]


def test_an_absent_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotAllowed, match="No such file"):
        signer(tmp_path / "absent", nobody)


def test_public_keys_read_back_in_both_forms(vendor: Keys) -> None:
    public = vendor.signer.public
    assert public_key(public.openssh() + " who it is") == public_key(public.pem()) == public


def test_a_key_under_which_anything_verifies_is_refused(vendor: Keys) -> None:
    """The identity point: the signature (identity, 0) verifies over every message."""
    for raw in (
        b"\1" + bytes(31),
        bytes(32),
        b"\xec" + b"\xff" * 30 + b"\x7f",
        b"\xff" * 32,
        b"",
        vendor.signer.public.raw * 2,
    ):
        with pytest.raises(Unproven, match="no Ed25519 key"):
            PublicKey(raw)


def test_the_points_of_small_order_are_the_known_ones() -> None:
    """Each, taken eight times, is the identity; so a signature under it proves nothing."""
    from kvgate.certificates.keys import _P, _SMALL_ORDER

    d = -121665 * pow(121666, -1, _P) % _P

    def add(one: tuple[int, int], two: tuple[int, int]) -> tuple[int, int]:
        (a, b), (x, y) = one, two
        k = d * a * b * x * y
        return (a * y + b * x) * pow(1 + k, -1, _P) % _P, (b * y + a * x) * pow(1 - k, -1, _P) % _P

    for y in _SMALL_ORDER:
        square = (y * y - 1) * pow(d * y * y + 1, -1, _P) % _P
        x = pow(square, (_P + 3) // 8, _P)
        if x * x % _P != square:
            x = x * pow(2, (_P - 1) // 4, _P) % _P
        assert x * x % _P == square
        point = (x, y)
        for _ in range(3):
            point = add(point, point)
        assert point == (0, 1)


def test_no_private_byte_is_in_an_envelope_or_a_representation(tmp_path: Path, vendor: Keys) -> None:
    path = vendor.write(tmp_path / "key", b"open sesame")
    found = signer(path, lambda _: "open sesame")
    seed = vendor.key.private_bytes_raw()
    shown = repr(found).encode() + envelope.seal({"a": 1}).signed_by(found).to_bytes()
    for secret in (seed, seed.hex().encode(), b"sesame", path.read_bytes().split(b"\n")[3]):
        assert secret not in shown
    assert path.stat().st_mode & 0o077 == 0
