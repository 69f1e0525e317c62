"""Reading a kernel log: whole or cut, the kernel or somebody else, long."""

from __future__ import annotations

import pytest

from checks.host import facts
from checks.parsers import dmesg
from checks.parsers.dmesg import Kind
from checks.probe import UnreadableOutput


def test_a_journal_that_begins_later_is_no_answer() -> None:
    with pytest.raises(UnreadableOutput, match="whole boot"):
        facts.whole_boot("2026-11-28T09:14:07.213345+0000 host kernel: md0: detected capacity change from 0 to 1\n")
    assert facts.whole_boot("2026-11-28T06:12:03.104512+0000 host kernel: Linux version 6.8.0\n").from_boot


def test_a_process_that_talks_like_the_kernel_is_not_the_kernel() -> None:
    text = "2026-11-28T06:12:03.1+0000 host kernel: Linux version 6.8.0\n2026-11-28T06:12:04.1+0000 host app[7]: {}\n"
    assert not dmesg.parse(text.format("nvme nvme0: controller is down; will reset: CSTS=0x3")).events
    assert dmesg.parse(
        text.replace("app[7]", "kernel").format("nvme nvme0: controller is down; will reset: CSTS=0x3")
    ).events


def test_a_long_log_is_read_in_one_pass() -> None:
    lines = "".join(f"[{n:12.6f}] pci 0000:00:05.0: bridge window [mem 0x{n:08x}] to [bus 02]\n" for n in range(20_000))
    found = dmesg.parse(
        "[    0.000000] Linux version 6.8.0\n" + lines + "[99999.000000] nvme nvme0: resetting controller\n"
    )
    assert found.from_boot
    assert [(kind, [event.line for event in events]) for kind, events in found.events.items()] == [
        (Kind.NVME_RESET, [20_002])
    ]
