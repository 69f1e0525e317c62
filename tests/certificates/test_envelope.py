"""What is signed has one spelling; every other one is refused with its reason."""

from __future__ import annotations

import base64
import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from kvgate.certificates import canonical, envelope
from kvgate.errors import Unproven
from tests.certificates.conftest import Keys

FIXED = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
STATEMENT = {"_type": "https://in-toto.io/Statement/v1", "name": "阵列", "n": 7, "list": [True, None]}


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def made(**changes: object) -> bytes:
    sound = {
        "payload": encoded(canonical.write(STATEMENT)), "payloadType": envelope.PAYLOAD_TYPE,
        "signatures": [{"keyid": "SHA256:x", "sig": encoded(bytes(64))}],
    }  # fmt: skip
    return json.dumps({**sound, **changes}).encode()


def test_the_signed_bytes_are_those_of_the_specification() -> None:
    # The example of the DSSE protocol page.
    assert (
        envelope.pae(b"hello world", "http://example.com/HelloWorld")
        == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


def test_an_envelope_reads_back_as_it_was_signed(vendor: Keys, customer: Keys) -> None:
    first = envelope.seal(STATEMENT).signed_by(vendor.signer)
    both = envelope.read(first.to_bytes()).signed_by(customer.signer)
    assert envelope.read(both.to_bytes()) == both
    assert both.payload == first.payload
    assert both.digest == first.digest
    assert both.statement() == STATEMENT
    for keys, signature in zip((vendor, customer), both.signatures, strict=True):
        assert keys.signer.public.verifies(signature.sig, envelope.pae(both.payload))
        assert signature.keyid == keys.signer.public.fingerprint


def test_nobody_signs_twice(vendor: Keys) -> None:
    with pytest.raises(Unproven, match="has signed this already"):
        envelope.seal(STATEMENT).signed_by(vendor.signer).signed_by(vendor.signer)


def test_any_layout_of_the_envelope_itself_is_read(vendor: Keys) -> None:
    sound = envelope.seal(STATEMENT).signed_by(vendor.signer)
    assert envelope.read(json.dumps(json.loads(sound.to_bytes()), indent=2).encode()) == sound


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "cannot be read"),
        (b"\xff\xfe{}", "cannot be read"),
        (b"[]", "wanted a JSON object"),
        (b"[" * 100_000, "nested too deep"),
        (b'{"payload": "", "payload": ""}', "'payload' stands twice"),
        (made()[:-1], "cannot be read"),
        (made(payloadType="text/plain"), "payload type 'text/plain'"),
        (made(payloadType=None), "payload type None"),
        (made(timestamp="x"), "'timestamp', which no signature covers"),
        (made(payload=7), "no payload"),
        (made(payload=encoded(b"{}")[:-1]), "not standard base64"),
        (made(payload=encoded(b"{}") + "\n"), "not standard base64"),
        (made(payload="e30\u00e9"), "not standard base64"),
        (made(payload=base64.urlsafe_b64encode(b'{"~":"\xc3\xbf\xc3\xbf?>"}').decode()), "URL-safe"),
        (made(payload="e31="), "not canonical base64"),
        (made(payload=encoded(b'{"b":1,"a":2}')), "not canonical"),
        (made(payload=encoded(b'{"a": 1}')), "not canonical"),
        (made(payload=encoded(b'{"a":1}\n')), "not canonical"),
        (made(payload=encoded('{"a":"é"}'.encode())), "not canonical"),
        (made(payload=encoded(b'{"a":1.0}')), "the fraction 1.0"),
        (made(payload=encoded(b'{"a":1e999}')), "the fraction inf"),
        (made(payload=encoded(b'{"a":NaN}')), "found NaN"),
        (made(payload=encoded(b'{"a":-0}')), "not canonical"),
        (made(payload=encoded(b'{"a":9007199254740993}')), "not every reader keeps exactly"),
        (made(payload=encoded(b'{"result":"FAILED","result":"PASSED"}')), "'result' stands twice"),
        (made(payload=encoded(b"[1]")), "wanted a JSON object"),
        (made(payload=encoded('{"a":1}'.encode("utf-16"))), "cannot be read"),
        (made(signatures={}), "no list"),
        (made(signatures=[{"keyid": "", "sig": encoded(bytes(64))}] * 17), "no list of at most 16"),
        (made(signatures=["x"]), "wanted sig and keyid"),
        (made(signatures=[{"keyid": "x"}]), "wanted sig and keyid"),
        (made(signatures=[{"keyid": "x", "sig": encoded(bytes(64)), "cert": ""}]), "wanted sig and keyid"),
        (made(signatures=[{"keyid": 7, "sig": encoded(bytes(64))}]), "key id"),
        (made(signatures=[{"keyid": "x" * 257, "sig": encoded(bytes(64))}]), "key id"),
        (made(signatures=[{"sig": encoded(bytes(63))}]), "63 bytes"),
        (made(signatures=[{"sig": None}]), "no sig"),
    ],
)  # fmt: skip
def test_what_is_not_as_it_must_be_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(Unproven) as caught:
        envelope.read(data)
    assert reason in str(caught.value)
    assert len(str(caught.value)) < 400


def test_an_envelope_without_key_ids_is_read() -> None:
    assert envelope.read(made(signatures=[{"sig": encoded(bytes(64))}])).signatures[0].keyid == ""


def test_an_oversized_envelope_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(envelope, "LIMIT", 100)
    with pytest.raises(Unproven, match="wanted at most 100"):
        envelope.read(made())


@pytest.mark.parametrize("value", [1.5, float("nan"), 2**53, b"bytes", {1: 2}])
def test_what_not_every_reader_keeps_is_never_signed(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        envelope.seal({"a": [{"b": value}]})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), JSON, max_size=5))
def test_every_statement_reads_back(statement: dict[str, object]) -> None:
    sealed = envelope.seal(statement)
    assert envelope.read(sealed.to_bytes()).statement() == statement


def _kept(data: bytes) -> bool:
    try:
        envelope.read(data)
    except Unproven:
        return False
    return True


@given(st.binary(max_size=300))
def test_no_bytes_end_in_anything_but_a_reason(data: bytes) -> None:
    assert not _kept(data)


@given(JSON)
def test_no_json_ends_in_anything_but_a_reason(value: object) -> None:
    assert not _kept(json.dumps(value).encode())


@settings(max_examples=300)
@given(place=st.integers(0, 10**6), byte=st.integers(0, 255))
def test_a_changed_byte_is_noticed_or_changes_nothing_that_counts(place: int, byte: int) -> None:
    keys = Keys(FIXED)
    sound = envelope.seal(STATEMENT).signed_by(keys.signer)
    data = bytearray(sound.to_bytes())
    data[place % len(data)] = byte
    try:
        found = envelope.read(bytes(data))
    except Unproven:
        return
    (signature,) = found.signatures
    if keys.signer.public.verifies(signature.sig, envelope.pae(found.payload)):
        assert found.payload == sound.payload
        assert signature.sig == sound.signatures[0].sig
