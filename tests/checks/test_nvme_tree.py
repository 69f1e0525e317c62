"""A serial finds its controller and its block device, whatever the kernel called them today; it never guesses."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks.parsers import sysfs_nvme
from checks.probe import UnreadableOutput

SAMPLES = Path(__file__).parents[1] / "parsers" / "sysfs-nvme"


def tree(case: str) -> sysfs_nvme.NvmeTree:
    return sysfs_nvme.parse((SAMPLES / f"{case}.txt").read_text())


def test_the_namespace_is_found_through_the_subsystem_not_by_its_number() -> None:
    found = tree("6.8--heads-named-after-subsystem")
    assert [(one.name, one.serial) for one in found.local] == [("nvme0", "S-A"), ("nvme1", "S-B")]
    assert (found.namespace("S-A"), found.namespace("S-B")) == ("nvme1n1", "nvme0n1")


def test_blanks_around_a_serial_do_not_matter() -> None:
    found = tree("6.8--array-four-disks").controller(" S7Y0NX0W100003  ")
    assert found is not None
    assert (found.name, found.address) == ("nvme2", "0000:43:00.0")


def test_a_serial_that_is_not_there_is_none() -> None:
    found = tree("6.8--no-controllers")
    assert found.controller("S-A") is None
    assert found.namespace("S-A") is None


def test_a_fabrics_controller_is_no_disk_of_this_host() -> None:
    assert tree("6.8--node-disk-and-fabrics").controller("FX100A0000000001") is None


def test_two_controllers_with_one_serial_are_never_guessed() -> None:
    with pytest.raises(UnreadableOutput, match="nvme0, nvme1"):
        tree("6.8--one-serial-twice").controller("S-A")


def test_the_lowest_nsid_wins_not_the_lowest_name() -> None:
    found = tree("6.1--virtual-machine-no-aer")
    assert [one.name for one in found.namespaces(found.fabrics[0])] == ["nvme1n1", "nvme1n2", "nvme1n3", "nvme1n4"]


def test_off_means_never() -> None:
    one = tree("6.8--never-give-up-connecting").fabrics[0]
    assert (one.ctrl_loss_tmo, one.fast_io_fail_tmo, one.state) == (-1, -1, "connecting")
