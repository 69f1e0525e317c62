"""Each side signs with a key of its own: what is no such key is refused before anything else happens."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kvgate.errors import BadInput, Fault
from kvgate.inventory import reader
from tests.inventory.test_reader import only, written


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "keys").mkdir()
    for side in ("vendor", "customer"):
        make(tmp_path / "keys" / side)
    return tmp_path


def make(path: Path, *kind: str) -> None:
    words = ["ssh-keygen", "-q", "-N", "", "-f", str(path), "-t", *(kind or ("ed25519",))]
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)


def faults(folder: Path, text: str = "") -> list[Fault]:
    file = folder / "rack.yaml"
    file.write_text(text or written(nodes=1).replace("simulated: true", "simulated: false"))
    try:
        reader.read(file)
    except BadInput as error:
        return list(error.faults)
    return []


def test_two_keys_of_the_right_kind_are_good(folder: Path) -> None:
    assert faults(folder) == []


def test_the_pem_form_is_good_too(folder: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    key = Ed25519PrivateKey.generate().public_key()
    (folder / "keys" / "vendor.pub").write_bytes(key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    assert faults(folder) == []


@pytest.mark.parametrize("side", ["vendor", "customer"])
def test_a_key_that_is_not_there_is_named_with_its_path(folder: Path, side: str) -> None:
    (folder / "keys" / f"{side}.pub").unlink()
    (fault,) = faults(folder)
    assert fault.where == f"parties.{side}.key"
    assert f"keys/{side}.pub: No such file" in str(fault.found)
    assert f"keys/{side}`" in str(fault.wanted)
    assert "ssh-keygen -t ed25519 -f " in str(fault.wanted)
    assert "ssh-keygen -t ed25519" in str(fault.wanted)
    assert (fault.line, fault.column) > (0, 0)


def test_a_simulated_rack_may_do_without_and_still_not_with_a_bad_one(folder: Path) -> None:
    (folder / "keys" / "vendor.pub").unlink()
    (folder / "keys" / "customer.pub").unlink()
    assert faults(folder, written(nodes=1)) == []
    (folder / "keys" / "vendor.pub").write_text("garbage")
    assert [fault.where for fault in faults(folder, written(nodes=1))] == ["parties.vendor.key"]


@pytest.mark.parametrize(
    "content",
    [b"", b"ssh-ed25519", b"ssh-ed25519 AAAA", b"\x00\xff" * 40, b"-----BEGIN PUBLIC KEY-----\nAAAA\n", b"a" * 70000],
)
def test_what_is_no_key_is_refused(folder: Path, content: bytes) -> None:
    (folder / "keys" / "vendor.pub").write_bytes(content)
    assert [fault.where for fault in faults(folder)] == ["parties.vendor.key"]


def test_a_folder_is_no_key(folder: Path) -> None:
    (folder / "keys" / "vendor.pub").unlink()
    (folder / "keys" / "vendor.pub").mkdir()
    assert [fault.where for fault in faults(folder)] == ["parties.vendor.key"]


def test_a_private_key_is_called_what_it_is_and_never_shown(folder: Path) -> None:
    private = (folder / "keys" / "vendor").read_text()
    (folder / "keys" / "vendor.pub").write_text(private)
    (fault,) = faults(folder)
    assert "a private key" in str(fault.found)
    assert private.splitlines()[1] not in str(fault)


def test_a_key_that_cannot_sign_certificates_is_refused(folder: Path) -> None:
    (folder / "keys" / "vendor.pub").unlink()
    (folder / "keys" / "vendor").unlink()
    make(folder / "keys" / "vendor", "ecdsa")
    (fault,) = faults(folder)
    assert "another kind" in str(fault.found)


def test_one_key_under_two_names_is_one_key(folder: Path) -> None:
    (folder / "keys" / "customer.pub").write_text(
        "ssh-ed25519 " + (folder / "keys" / "vendor.pub").read_text().split()[1]
    )
    (fault,) = faults(folder)
    assert fault.where == "parties.customer.key"
    assert "the key of vendor too" in str(fault.found)


@pytest.mark.parametrize("same", ["keys/vendor.pub", "./keys/vendor.pub", "keys//vendor.pub"])
def test_one_file_for_both_sides_is_refused(same: str) -> None:
    fault = only(written(nodes=1).replace("keys/customer.pub", same))
    assert fault.where == "parties.customer.key"
    assert "vendor" in str(fault.found)


@pytest.mark.parametrize("same", ["keys/vendor.pub", "./keys/vendor.pub"])
def test_one_file_for_both_sides_is_told_once_however_good_the_file_is(folder: Path, same: str) -> None:
    """The text shows it and the key shows it: one fault, not two in other words."""
    text = written(nodes=1).replace("simulated: true", "simulated: false").replace("keys/customer.pub", same)
    assert [fault.where for fault in faults(folder, text)] == ["parties.customer.key"]
    (folder / "keys" / "vendor.pub").unlink()
    assert [fault.where for fault in faults(folder, text)] == ["parties.vendor.key", "parties.customer.key"]


@pytest.mark.parametrize("gone", ["  vendor: {key: keys/vendor.pub}\n", "  customer: {key: keys/customer.pub}\n"])
def test_both_sides_are_named(gone: str) -> None:
    fault = only(written(nodes=1).replace(gone, ""))
    assert fault.where == "parties"
    assert gone.split(":")[0].strip() in str(fault.wanted)


def test_a_stored_run_is_read_without_its_key_files() -> None:
    assert reader.parse(written(nodes=1).replace("simulated: true", "simulated: false")).rack.parties


KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGnZ0Q2b1oH0s1m2Yy5gC2dZ4Yk2b3Nf0bKq7mT1uVwX li@vendor"


@pytest.mark.parametrize("simulated", [True, False])
@pytest.mark.parametrize(
    "text", [KEY, "ssh-rsa AAAAB3NzaC1yc2E= x", "AAAAC3NzaC1lZDI1NTE5AAAAIGnZ0Q2b1oH0s1m2Yy5gC2dZ4Yk"]
)
def test_a_key_in_place_of_its_file_is_refused_and_said_to_be_one(folder: Path, text: str, simulated: bool) -> None:
    whole = written(nodes=1).replace("{key: keys/vendor.pub}", f'{{key: "{text}"}}')
    (fault,) = faults(folder, whole if simulated else whole.replace("simulated: true", "simulated: false"))
    assert fault.where == "parties.vendor.key"
    assert str(fault.found) == "the text of a key"
    assert "name of a file" in str(fault.wanted)


@pytest.mark.parametrize("side", ["vendor", "customer"])
def test_a_simulated_rack_has_both_keys_or_none(folder: Path, side: str) -> None:
    (folder / "keys" / f"{side}.pub").unlink()
    (fault,) = faults(folder, written(nodes=1))
    assert (fault.where, "No such file" in str(fault.found)) == (f"parties.{side}.key", True)
    for file in (folder / "keys").iterdir():
        file.unlink()
    assert faults(folder, written(nodes=1)) == []
