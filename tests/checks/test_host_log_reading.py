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


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        # stuck: upper case, the prefix of older kernels, task names with blanks
        ("watchdog: Watchdog detected hard LOCKUP on cpu 12", Kind.STUCK),
        ("NMI watchdog: Watchdog detected hard LOCKUP on cpu 12", Kind.STUCK),
        ("NMI watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [fio:812]", Kind.STUCK),
        ("watchdog: BUG: soft lockup - CPU#3 stuck for 26s! [fio:812]", Kind.STUCK),
        ("watchdog: CPU12: Watchdog detected hard LOCKUP on cpu 13", Kind.STUCK),
        ("INFO: task nv queue:1234 blocked for more than 122 seconds.", Kind.STUCK),
        ("INFO: rcu_sched self-detected stall on CPU", Kind.STUCK),
        ("rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", Kind.STUCK),
        # crashes that are no "BUG:" and, before 6.9 or on arm64, do not begin with "Oops"
        ("kernel BUG at mm/slub.c:388!", Kind.CRASH),
        (
            "general protection fault, probably for non-canonical address 0xdead000000000100: 0000 [#1] PREEMPT SMP",
            Kind.CRASH,
        ),
        ("general protection fault: 0000 [#1] SMP NOPTI", Kind.CRASH),
        ("invalid opcode: 0000 [#1] PREEMPT SMP NOPTI", Kind.CRASH),
        ("Oops: invalid opcode: 0000 [#1] PREEMPT SMP NOPTI", Kind.CRASH),
        ("Unable to handle kernel NULL pointer dereference at virtual address 0000000000000010", Kind.CRASH),
        ("Unable to handle kernel paging request at virtual address ffff8000091a0000", Kind.CRASH),
        ("Internal error: Oops: 96000004 [#1] SMP", Kind.CRASH),
        ("Internal error: synchronous external abort: 96000410 [#1] SMP", Kind.CRASH),
        # block errors by every name that the block layer gives them
        ("timeout error, dev nvme0n1, sector 2048 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2", Kind.BLOCK_ERROR),
        ("recoverable transport error, dev nvme0n1, sector 2048 op 0x1:(WRITE) flags 0x0", Kind.BLOCK_ERROR),
        ("reservation conflict error, dev nvme0n1, sector 8 op 0x1:(WRITE) flags 0x0", Kind.BLOCK_ERROR),
        ("device offline error, dev nvme0n1, sector 8 op 0x0:(READ) flags 0x0", Kind.BLOCK_ERROR),
        ("device resource error, dev nvme0n1, sector 8 op 0x0:(READ) flags 0x0", Kind.BLOCK_ERROR),
        ("critical medium error, dev nvme0n1, sector 8 op 0x0:(READ) flags 0x0", Kind.BLOCK_ERROR),
        ("blk_update_request: I/O error, dev nvme0n1, sector 8", Kind.BLOCK_ERROR),
        ("protection error, dev nvme0n1, sector 8 op 0x0:(READ) flags 0x0", Kind.BLOCK_ERROR),
        # disks of newer kernels
        (
            "nvme nvme0: I/O tag 128 (1080) opcode 0x2 (I/O Cmd) QID 4 timeout, aborting req_op:READ(0) size:4096",
            Kind.NVME_TIMEOUT,
        ),
        ("nvme nvme0: I/O tag 128 (1080) opcode 0x2 (I/O Cmd) QID 4 timeout, reset controller", Kind.NVME_RESET),
        ("nvme nvme0: I/O 12 (I/O Cmd) QID 3 timeout, aborting", Kind.NVME_TIMEOUT),
        ("nvme nvme1: I/O tag 0 (0000) opcode 0x18 (Admin Cmd) QID 0 timeout", Kind.FABRIC_LOST),
        ("nvme nvme0: Device not ready; aborting initialisation, CSTS=0x0", Kind.NVME_RESET),
        ("pcieport 0000:20:01.1: DPC: containment event, status:0x1f01 source:0x0000", Kind.AER_UNCORRECTED),
        (
            "nvme 0000:41:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer",
            Kind.AER_UNCORRECTED,
        ),
        # others
        (
            "XFS (nvme1n1): Metadata CRC error detected at xfs_agf_read_verify+0xd0/0xf0 [xfs], xfs_agf block 0x1",
            Kind.XFS_ERROR,
        ),
        ("nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 28 LTSSM Fault Up", Kind.GPU_ERROR),
        # what a healthy machine says
        ("NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.", None),
        ("watchdog: Delayed init of the lockup detector failed: -19", None),
        ("rcu: \tRCU CPU stall warnings timeout set to 60 (rcu_cpu_stall_timeout).", None),
        (
            "BERT: Boot Error Record Table support is disabled. Enable it by using bert_enable as kernel parameter.",
            None,
        ),
        ("nvme nvme0: Shutdown timeout set to 8 seconds", None),
        ("ERST: Error Record Serialization Table (ERST) support is initialized.", None),
        ("nvidia-nvswitch0: using MSI", None),
        ("mce: CPU0: Thermal monitoring enabled (TM1)", None),
        ("RAS: Correctable Errors collector initialized.", None),
    ],
)
def test_wordings_of_many_kernels(message: str, kind: Kind | None) -> None:
    found = dmesg.parse(f"[    0.000000] Linux version 6.8.0\n[   12.345678] {message}\n")
    assert list(found.events) == ([] if kind is None else [kind])
