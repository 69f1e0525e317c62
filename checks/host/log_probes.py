"""What to ask a host about its logs: the kernel's own, where the journal lies, how much room there is."""

from __future__ import annotations

from checks.host.facts import whole_boot
from checks.parsers import (
    dmesg,
    journal_files,
    stat_f,
)
from checks.probe import Glob, Probe


def log_space() -> Probe[tuple[stat_f.FileSystem, ...]]:
    """Ask the free space of the root filesystem and of the one that holds the logs."""
    return Probe("stat-f", ("stat", "-f", "/", "/var/log"), stat_f.parse)


def journal() -> Probe[journal_files.JournalFiles]:
    """Ask whether the journal is kept on disk or in memory."""
    files = (Glob("/var/log/journal/*/system.journal"), Glob("/run/log/journal/*/system.journal"))
    return Probe(
        "journal-files",
        ("ls", "-d", "/run/systemd/journal", *files),
        journal_files.parse,
        accepted=frozenset({0, 1, 2}),
    )


def kernel_journal() -> Probe[dmesg.KernelLog]:
    """Ask the journal for the kernel's log of this boot; one that does not reach back to the boot is no answer."""
    words = ("journalctl", "-k", "-b", "-q", "--no-pager", "-o", "short-iso-precise")
    return Probe("kernel-journal", words, whole_boot, limit=60)


def kernel_ring() -> Probe[dmesg.KernelLog]:
    """Ask the kernel's own buffer, which may have dropped its beginning."""
    return Probe("dmesg", ("dmesg", "-x", "--time-format", "iso"), dmesg.parse, limit=30)
