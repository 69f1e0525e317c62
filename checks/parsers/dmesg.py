"""``dmesg``, ``dmesg -T``, ``dmesg -x --time-format iso``, ``dmesg -J``, ``journalctl -k``: known troubles in the kernel log.

Every known wording becomes an event with its device and its time as printed; what an event means for a clause is decided
elsewhere. Seen: Linux 4.x to 6.18, util-linux 2.38, systemd 252. Only lines of the kernel itself are classified; a process
that writes to ``/dev/kmsg`` is passed over. A log without a single time stamp is accepted only if a wording is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from checks.lexing import json_documents, lines
from checks.probe import UnreadableOutput

COMMAND = "dmesg"


class Kind(StrEnum):
    """What a line reports."""

    NVME_TIMEOUT = "nvme_timeout"
    NVME_RESET = "nvme_reset"
    NVME_DEAD = "nvme_dead"
    BLOCK_ERROR = "block_error"
    MD_FAILED = "md_failed"
    XFS_ERROR = "xfs_error"
    XFS_SHUTDOWN = "xfs_shutdown"
    FABRIC_CONNECTED = "fabric_connected"
    FABRIC_DISCONNECTED = "fabric_disconnected"
    FABRIC_REFUSED = "fabric_refused"
    FABRIC_LOST = "fabric_lost"
    FABRIC_REMOVED = "fabric_removed"
    FABRIC_RECOVERED = "fabric_recovered"
    PATH_LOST = "path_lost"
    RDMA_ERROR = "rdma_error"
    GPU_ERROR = "gpu_error"
    GPU_RESET = "gpu_reset"
    MACHINE_CHECK = "machine_check"
    MEMORY_UNCORRECTED = "memory_uncorrected"
    MEMORY_CORRECTED = "memory_corrected"
    AER_UNCORRECTED = "aer_uncorrected"
    AER_CORRECTED = "aer_corrected"
    NFS_LOST = "nfs_lost"
    NFS_RECOVERED = "nfs_recovered"
    OUT_OF_MEMORY = "out_of_memory"
    STUCK = "stuck"
    CRASH = "crash"
    THROTTLED = "throttled"


@dataclass(frozen=True, slots=True)
class Event:
    """One line of trouble; ``line`` counts from 1. ``device`` and ``time`` are as printed, empty where none is named."""

    line: int
    device: str
    time: str
    message: str


@dataclass(frozen=True, slots=True)
class LimitedLink:
    """A driver says that its PCI Express link is slower than the device could; bandwidths in Gb/s."""

    device: str
    available: float
    lanes: int
    at: str
    capable: float


@dataclass(frozen=True, slots=True)
class KernelLog:
    """Events by kind. ``from_boot``: the kernel's first lines are there; ``missed``: journald lost messages."""

    from_boot: bool
    missed: bool
    first_time: str
    last_time: str
    events: Mapping[Kind, tuple[Event, ...]]
    limited_links: tuple[LimitedLink, ...]

    def of(self, *kinds: Kind) -> tuple[Event, ...]:
        """Events of these kinds in the log's order."""
        return tuple(
            sorted((event for kind in kinds for event in self.events.get(kind, ())), key=lambda event: event.line)
        )


# One pattern a subsystem; the name of the innermost alternative that matched is the kind. ``needle`` is a cheap filter:
# a line without it cannot match, so that most lines of a long log cost a few substring searches only.
_BDF = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_WORDINGS: tuple[tuple[str, str], ...] = (
    (
        "nvme",
        (
            r"nvme (?P<device>nvme\d+): (?:"
            r"(?P<nvme_reset>I/O .*timeout, reset|.*\btimeout, disable controller|controller is down; will reset|resetting controller|"
            r"Device not ready; aborting (?:reset|initiali[sz]ation))|"
            r"(?P<nvme_timeout>I/O .*timeout, (?:aborting|completion polled))|"
            r"(?P<nvme_dead>Disabling device after reset failure|Removing after probe failure|Device shutdown incomplete|"
            r"Identify Controller failed \(-|failed to mark controller)|"
            r"(?P<fabric_connected>new ctrl: NQN)|(?P<fabric_disconnected>Removing ctrl: NQN)|"
            r"(?P<fabric_refused>Connect [A-Z]\S*(?: \S+)* (?:Parameter|failed)|Connect command failed|"
            r"Identify Controller failed \(\d|failed to connect (?:queue|socket)|"
            r"rdma connection establishment failed|rdma_resolve_\w+ failed|(?:address|route) resolution failed|Connect rejected)|"
            r"(?P<fabric_removed>Removing controller)|(?P<fabric_recovered>Successfully reconnected)|"
            r"(?P<fabric_lost>starting error recovery|Reconnecting in \d|Failed reconnect attempt|failed nvme_keep_alive_end_io|"
            r"I/O .*\btimeout$|queue \d+: timeout|keep-alive timer|.*\bkeep-alive\b.*\bexpired|receive failed|"
            r"(?:RECV|SEND|MEMREG|LOCAL_INV) for CQE .* failed|disconnected \(\d+\)))"
        ),
    ),
    (
        "nvmet: ctrl",
        r"(?P<fabric_lost>nvmet: (?P<device>ctrl \d+) (?:keep-alive timer \(\d+ seconds\) expired|fatal error))",
    ),
    ("path - ", r"block (?P<device>nvme\w+): (?P<path_lost>no (?:usable|available) path - )"),
    ("CQE", r"(?:\S+ )?(?P<device>mlx\d_\d+|\w+_\d+):.*(?P<rdma_error>dump_cqe|\bCQE error\b|error cqe)"),
    ("syndrome", r"(?:\S+ )?(?P<device>mlx\d_\d+):.*(?P<rdma_error>mlx5_poll_one\b.*syndrome)"),
    (
        "rror, dev ",
        (
            r"(?P<block_error>(?:blk_update_request: |print_req_error: )?(?:[A-Za-z/][A-Za-z/ ]{0,40} )?"
            r"error, dev (?P<device>[\w-]+), sector)"
        ),
    ),
    ("I/O Error (sct", r"(?P<device>nvme\w+): (?P<block_error>\S.*LBA \d+, \d+ blocks, I/O Error \(sct)"),
    ("Buffer I/O error", r"(?P<block_error>Buffer I/O error on dev (?P<device>[\w-]+),)"),
    ("md/raid", r"md/raid\d*:?(?P<device>md\w+): (?P<md_failed>Disk failure on|.*failing array)"),
    ("writeback error", r"(?P<device>[\w-]+): (?P<xfs_error>writeback error on inode)"),
    (
        "XFS (",
        (
            r"XFS \((?P<device>[^)]+)\): (?:"
            r"(?P<xfs_shutdown>.*Shutting down filesystem|.*Filesystem has been shut down|User initiated shutdown|xfs_do_force_shutdown)|"
            r"(?P<xfs_error>metadata I/O error|Metadata CRC error|.*[Cc]orruption (?:detected|warning)|xfs_log_force: error|log I/O error|"
            r".*Log I/O Error|"
            r"Internal error|.*writeback error|page discard on page|.*returned error -\d+|.*\bCorruption of in-memory data|"
            r"First \d+ bytes of corrupted|log mount(?:/recovery)? failed|Failed to recover|failed to recover|.*mount failed|"
            r".*error -(?:5|117|74)\b))"
        ),
    ),
    (
        "NVRM: ",
        r"NVRM: (?:(?P<gpu_error>Xid \((?P<device>PCI:[^)]+)\): \d+|.*has fallen off the bus|.*RmInitAdapter failed))",
    ),
    ("SXid (", r"nvidia-nvswitch\d+: (?P<gpu_error>SXid \((?P<device>PCI:[^)]+)\): \d+)"),
    (
        "amdgpu",
        r"(?:\[drm[^\]]*\] )?amdgpu(?: (?P<device>" + _BDF + r"))?: (?:amdgpu: )?(?:\[drm[^\]]*\] )?(?:"
        r"(?P<gpu_reset>.*GPU reset begin|.*GPU reset\(?\d*\)? (?:failed|succeeded|end)|.*device lost from bus)|"
        r"(?P<gpu_error>(?!.*\bno uncorrectable).*(?<!\d)[1-9]\d* (?:new )?(?:uncorrectable|deferred) hardware errors detected|"
        r".*poison is consumed|.*poison consumption|.*sram_ecc|.*ring \S+ timeout|.*Fatal error during GPU init|"
        r".*uncorrectable error detected|.*socket: \d+.*fatal error))",
    ),
    ("*ERROR* ring", r".*\[drm:amdgpu_job_timedout.*(?P<gpu_error>\*ERROR\* ring \S+ timeout)"),
    (
        "[Hardware Error]",
        r"(?P<machine_check>(?:mce: )?(?:\{\d+\})?(?:mce: )?\[Hardware Error\])",
    ),
    ("emory failure: 0x", r"(?P<memory_uncorrected>Memory failure: 0x)"),
    ("mce: Uncorrected", r"(?P<machine_check>mce: Uncorrected hardware memory error)"),
    ("throttled", r"(?:mce: )?(?P<device>CPU\d+): (?P<throttled>(?:Core|Package) temperature (?:is )?above threshold)"),
    (
        "EDAC ",
        r"EDAC (?:\S+ )?(?P<device>MC\d+): (?:(?P<memory_uncorrected>(?:\d+ )?UE\b)|(?P<memory_corrected>(?:\d+ )?CE\b))",
    ),
    (
        "PCIe Bus Error",
        r"(?:\S+ )?(?P<device>" + _BDF + r"): (?:AER: )?PCIe Bus Error: (?:"
        r"(?P<aer_uncorrected>severity=Uncorrect)|(?P<aer_corrected>severity=Correct))",
    ),
    (
        "AER: ",
        r"\S+ (?P<device>"
        + _BDF
        + r"): (?P<aer_uncorrected>AER: (?:Multiple )?Uncorrect(?:ed|able) .*(?:received|from))",
    ),
    ("DPC: ", r"\S+ (?P<device>" + _BDF + r"): (?P<aer_uncorrected>DPC: containment event)"),
    (
        "nfs: server",
        r"nfs: server (?P<device>\S+) (?:(?P<nfs_lost>not responding)|(?P<nfs_recovered>OK))",
    ),
    ("ut of memory", r"(?P<out_of_memory>Out of memory(?: and no killable processes|: Kill(?:ed)? process))"),
    ("CONSTRAINT_NONE", r"(?P<out_of_memory>oom-kill:constraint=CONSTRAINT_NONE)"),
    (
        "blocked for more than",
        r"(?:INFO: )?(?P<stuck>task .{1,40}? blocked(?: in I/O wait)? for more than \d+ seconds)",
    ),
    ("soft lockup", r"(?:NMI )?(?:watchdog: )?(?P<stuck>BUG: soft lockup)"),
    ("LOCKUP", r"(?:NMI )?(?:watchdog: )?(?:CPU\d+: )?(?P<stuck>Watchdog detected hard LOCKUP)"),
    ("lockup", r".*(?P<stuck>detected .*[Ll]ockup)"),
    (" stall", r"(?:rcu: )?(?:INFO: )?(?P<stuck>\w+ (?:self-)?detected (?:expedited )?stalls?)"),
    ("BUG: ", r"(?P<crash>BUG: (?:unable to handle|kernel NULL|Bad page))"),
    ("kernel BUG at", r"(?:-+\[ cut here \]-+ )?(?P<crash>kernel BUG at)"),
    (
        " [#",
        r"(?P<crash>(?:general protection fault|invalid opcode|Internal error|divide error|stack segment)\b.* \[#\d+\])",
    ),
    (
        "to handle kernel ",
        r"(?P<crash>Unable to handle kernel (?:NULL pointer|paging request|access|execute|read|write))",
    ),
    ("Oops", r"(?P<crash>Oops(?: - |: ))"),
    ("ernel panic", r"(?P<crash>Kernel panic - )"),
)
_MISSED_WORDS = " kernel messages"
_NEVER = r"(?!)"  # lines that are read elsewhere, named here so that the filter keeps them
_RULES = tuple(
    (needle, re.compile(pattern))
    for needle, pattern in (*_WORDINGS, ("available PCIe bandwidth", _NEVER), (_MISSED_WORDS, _NEVER))
)
_KINDS = {kind.value: kind for kind in Kind}

_STAMP = re.compile(
    r"(?:<\d+>)?(?:(?P<facility>[a-z]+) *:[a-z]+ *: ?)?"  # dmesg -r, dmesg -x
    r"(?:"
    r"\[ *(?P<seconds>\d+\.\d+)\] ?(?:\[[ TC\d]+\] ?)?"  # dmesg, journalctl -o short-monotonic
    r"|\[(?P<wall>[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})\] "  # dmesg -T
    r"|(?P<iso>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d,\d+[-+]\d\d:\d\d) "  # dmesg --time-format iso: a comma
    r"|(?P<journal>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[-+]\d\d:?\d\d)"  # journalctl -o short-iso
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?) "  # journalctl -o short
    r")?",
    re.ASCII,
)
#: Behind the stamp of a journal stand host and writer; dmesg names a writer other than the kernel with its process number.
_BY = re.compile(r"(?:[\w.-]+ )?(?:(?P<kernel>kernel)|[\w@.()-]+)(?:\[\d+\])?: ", re.ASCII)
_PROCESS = re.compile(r"[\w@.-]+\[\d+\]: ", re.ASCII)
_KERNEL = re.compile(r"(?:[\w.-]+ )?kernel: ", re.ASCII)
_INNER = re.compile(r"\[ *\d+\.\d+\] (?:\[[ TC\d]+\] ?)?", re.ASCII)
_MISSED = re.compile(r"(?:systemd-journald\[\d+\]: )?Missed \d+ kernel messages")
_LIMITED = re.compile(
    r"\S+ (?P<device>" + _BDF + r"): (?P<available>\d{1,6}(?:\.\d{1,6})?) Gb/s available PCIe bandwidth, limited by "
    r"[\d.]+ GT/s PCIe x(?P<lanes>\d{1,3}) link at (?P<at>"
    + _BDF
    + r") \(capable of (?P<capable>\d{1,6}(?:\.\d{1,6})?) Gb/s",
    re.ASCII,
)
_FIRST = re.compile(r"(?:^|[\]:+\d] )Linux version \d")
_BOOT_LINES = 20  # microcode and firmware lines may stand before "Linux version"


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    time: str
    message: str
    kernel: bool = True


def parse(text: str) -> KernelLog:
    """Classify every line, or refuse what is no kernel log: empty, an error of the tool, or neither stamps nor known words."""
    if re.match(r"\s*\{\s*\"", text):
        entries = [*_json_entries(text)]
        boot = any(entry.message.startswith("Linux version ") for entry in entries[:_BOOT_LINES])
        return _log(entries, _RULES, boot, entries[0].time, entries[-1].time)
    found = lines(text)
    if found[0].startswith(("dmesg: ", "journalctl: ", "No journal files were found", "-- No entries --")):
        raise UnreadableOutput(f"the tool gave no log: {found[0][:120]!r}")
    ends = [line for line in (*found[: _BOOT_LINES + 2], found[-1]) if not line.startswith("-- ")]
    if not ends:
        raise UnreadableOutput("nothing but headings of journalctl")
    candidates, rules = _candidates(text)
    first = next((time for line in ends if (time := _entry(0, line).time)), "")
    boot = any(_FIRST.search(line) for line in ends[:_BOOT_LINES])
    log = _log(candidates, rules, boot, first, _entry(0, ends[-1]).time)
    if not (first or log.events or log.limited_links):
        raise UnreadableOutput(f"no line looks like a kernel message; the first is {found[0][:80]!r}")
    return log


def _candidates(text: str) -> tuple[list[_Line], list[tuple[str, re.Pattern[str]]]]:
    # Most lines of a long log hold no known wording: the text is searched as a whole, and only lines with a hit are cut out.
    rules = []
    starts: set[int] = set()
    for rule in _RULES:
        at = text.find(rule[0])
        if at >= 0:
            rules.append(rule)
        while at >= 0:
            starts.add(text.rfind("\n", 0, at) + 1)
            at = text.find(rule[0], text.find("\n", at))
    entries = []
    number, counted = 1, 0
    for start in sorted(starts):
        number, counted = number + text.count("\n", counted, start), start
        entries.append(_entry(number, text[start : text.find("\n", start)].rstrip("\r")))
    return entries, rules


def _log(
    entries: list[_Line], rules: Sequence[tuple[str, re.Pattern[str]]], from_boot: bool, first: str, last: str
) -> KernelLog:
    events: dict[Kind, list[Event]] = {}
    links: list[LimitedLink] = []
    missed = False
    for line in entries:
        if _MISSED.match(line.message):
            missed = True
        if not line.kernel:
            continue
        if found := _LIMITED.match(line.message):
            device, available, lanes, at, capable = found.group("device", "available", "lanes", "at", "capable")
            links.append(LimitedLink(device, float(available), int(lanes), at, float(capable)))
        elif (known := _classify(line.message, rules)) is not None:
            kind, device = known
            events.setdefault(kind, []).append(Event(line.number, device, line.time, line.message.strip()))
    kept = {kind: tuple(found) for kind, found in events.items()}
    return KernelLog(from_boot, missed, first, last, kept, tuple(links))


def _classify(message: str, rules: Sequence[tuple[str, re.Pattern[str]]]) -> tuple[Kind, str] | None:
    for needle, pattern in rules:
        if needle in message and (found := pattern.match(message)):
            groups = found.groupdict()
            kind = next((name for name, value in groups.items() if value is not None and name in _KINDS), None)
            if kind is not None:
                return _KINDS[kind], groups.get("device") or ""
    return None


def _entry(number: int, line: str) -> _Line:
    stamp = _STAMP.match(line)
    if stamp is None:
        return _Line(number, "", line)
    time = stamp["seconds"] or stamp["wall"] or stamp["iso"] or stamp["journal"] or ""
    message = line[stamp.end() :]
    kernel = stamp["facility"] in {None, "kern"}
    if stamp["journal"] and (by := _BY.match(message)):
        kernel, message = by["kernel"] is not None, message[by.end() :]
    elif _PROCESS.match(message):
        kernel = False
    elif by := _KERNEL.match(message):
        message = message[by.end() :]
    if inner := _INNER.match(message):
        message = message[inner.end() :]
    return _Line(number, time, message, kernel)


def _json_entries(text: str) -> Iterator[_Line]:
    number = 0
    for document in json_documents(text):
        if not isinstance(document, dict):
            raise UnreadableOutput("a JSON document of the log is no object")
        items = document["dmesg"] if isinstance(document.get("dmesg"), list) else None
        if items is None:
            number += 1
            kernel = document.get("SYSLOG_IDENTIFIER") == "kernel"
            yield _Line(number, _realtime(document), _member(document, "MESSAGE"), kernel)
        for item in items or ():
            message, seconds = _member(item, "msg"), item.get("time")
            if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 <= seconds < 1e12:
                raise UnreadableOutput("an entry of the log has no time")
            number += 1
            yield _Line(number, f"{seconds:.6f}", message)
    if not number:
        raise UnreadableOutput("the log has no entries")


def _member(item: Any, key: str) -> str:
    value = item.get(key) if isinstance(item, dict) else None
    if isinstance(value, list):  # journald writes bytes that are no UTF-8 as a list of numbers
        return ""
    if not isinstance(value, str):
        raise UnreadableOutput(f"an entry of the log has no {key!r}")
    return value


def _realtime(document: dict[str, Any]) -> str:
    value = document.get("__REALTIME_TIMESTAMP")
    if not isinstance(value, str):
        raise UnreadableOutput("an entry of the log has no '__REALTIME_TIMESTAMP'")
    return value
