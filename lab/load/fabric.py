"""perftest on a virtual host: what client and server print, and the counters that move while the fabric is loaded."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from pathlib import Path

from lab.machine import Reply

_HERE = Path(__file__).parent
_ROCE = (
    "duplicate_request", "implied_nak_seq_err", "lifespan", "local_ack_timeout_err", "np_cnp_sent",
    "np_ecn_marked_roce_packets", "out_of_buffer", "out_of_sequence", "packet_seq_err", "req_cqe_error",
    "req_cqe_flush_error", "rnr_nak_retry_err", "roce_adp_retrans", "rp_cnp_handled", "rp_cnp_ignored",
)  # fmt: skip
#: What a run may lie above the mean.
_LITTLE = 0.003
#: TCP ports from here on serve several clients at once.
_MANY = 18600
_BASE = {"lifespan": 10, "local_ack_timeout_err": 1, "np_cnp_sent": 31, "out_of_sequence": 2, "packet_seq_err": 2}


@dataclass(frozen=True)
class Cable:
    """What is wrong with a host's port under load. ``runs`` are numbers of its client runs, empty for all.

    ``factor`` slows, ``decay`` slows each run by so much more, ``mtu`` is RoCE's in bytes, ``noise`` the relative deviation,
    ``both`` slows only both directions at once, ``card`` only accelerator memory; ``jitter`` is what a typical latency
    differs by. ``short`` is the share of its time that perftest ran. ``said`` replaces what the client prints
    and ``status`` how it ends. ``grows`` are counters that rise with each run; ``ecn`` and ``pause`` say what holds senders back.
    """

    runs: tuple[int, ...] = ()
    factor: float = 1.0
    decay: float = 0.0
    mtu: int = 4096
    noise: float = 0.001
    both: float = 1.0
    card: float = 1.0
    latency: float = 1.0
    jitter: float = 0.0
    tail: float = 1.0
    short: float = 1.0
    said: str = ""
    status: int = 0
    served: str = ""
    grows: tuple[tuple[str, int], ...] = ()
    gone: tuple[str, ...] = ()
    ecn: bool = True
    obeys: bool = True
    pause: int = 0
    alone: bool = False


@dataclass
class FabricHost:
    """The RDMA side of one host. ``nodes`` share the array's port when all of them read at once."""

    name: str
    nodes: int
    cables: tuple[Cable, ...] = ()
    runs: dict[str, int] = field(default_factory=dict)
    grown: dict[str, int] = field(default_factory=dict)

    def answer(self, words: list[str]) -> Reply | None:
        """Answer one of the two scripts, or the look at the counters."""
        if words[:2] != ["sh", "-c"] or len(words) < 6:
            return None
        if "hw_counters" in words[2] and "ethtool -S" in words[2]:
            return self._counters(words[4], words[5])
        if "RoCE v2" not in words[2]:
            return None
        return self._serve(words) if "server %s ended" in words[2] else self._call(words)

    def _cable(self, run: int) -> Cable:
        return next((one for one in self.cables if not one.runs or run in one.runs), Cable())

    def _rise(self, name: str, count: int) -> None:
        self.grown[name] = self.grown.get(name, 0) + count

    def _counters(self, device: str, port: str) -> Reply:
        gone = {name for cable in self.cables for name in cable.gone}
        base = f"/sys/class/infiniband/{device}/ports/{port}/hw_counters"
        rows = [f"{base}/{name}:{_BASE.get(name, 0) + self.grown.get(name, 0)}\n" for name in _ROCE if name not in gone]
        text = (_HERE.parent / "machines" / "common" / "ethtool-S.txt").read_text("utf-8")

        def line(found: re.Match[str]) -> str:
            return "" if found[2] in gone else f"{found[1]}{found[2]}: {int(found[3]) + self.grown.get(found[2], 0)}\n"

        counted = re.sub(r"^( +)(\w+): (\d+)\n", line, text, flags=re.MULTILINE)
        return Reply(("".join(rows) + "ethtool -S ens1f0np0\n" + counted).encode())

    def _serve(self, words: list[str]) -> Reply:
        count, port = int(words[7]), int(words[8])
        cable = self._cable(0)
        if cable.served.startswith("kvgate: "):
            return Reply(f"{cable.served}\n".encode(), status=3)
        if count > 1 and cable.ecn:
            self._rise("np_ecn_marked_roce_packets", 4200)
            self._rise("np_cnp_sent", 3900)
        if count > 1 and cable.pause:
            self._rise("tx_prio3_pause", cable.pause)
        for name, by in cable.grows:
            self._rise(name, by)
        status = 1 if cable.served else 0
        return Reply("".join(f"server {port + i} ended {status}\n{cable.served}\n" for i in range(count)).encode())

    def _call(self, words: list[str]) -> Reply:
        tool, options = words[9], words[10:]
        run = self.runs[tool] = self.runs.get(tool, 0) + 1
        cable = self._cable(run)
        for name, by in cable.grows:
            self._rise(name, by)
        port = int(options[options.index("-p") + 1])
        if port >= _MANY and cable.ecn and cable.obeys:
            self._rise("rp_cnp_handled", 1900)
        if cable.said:
            return Reply(f"{cable.said}\n".encode(), status=cable.status or 1)
        if tool.endswith("_lat"):
            return Reply(_latency(cable, run).encode())
        return Reply(self._rate(tool, options, cable, run, port).encode())

    def _rate(self, tool: str, options: list[str], cable: Cable, run: int, port: int) -> str:
        both = "-b" in options
        carried = 100e9 * cable.mtu / (cable.mtu + 82) * 0.998 * cable.factor * (1 - cable.decay) ** (run - 1)
        if both:
            carried *= 2 * cable.both
        if any(word.startswith("--use_") for word in options):
            carried *= cable.card
        if port >= _MANY:
            carried /= 1 if cable.alone else 2 if "write" in tool else self.nodes
        noise = random.Random(f"{self.name} {tool} {options} {run}").gauss(0.0, cable.noise)
        bits = carried * (1 + noise if noise < _LITTLE else 1 - noise)  # no noise makes a port faster than it is
        seconds = (int(options[options.index("-D") + 1]) - 2 * int(options[options.index("-f") + 1])) * cable.short
        size = int(options[options.index("-s") + 1])
        rate = bits / 8 / size
        title = {"ib_write_bw": "RDMA_Write", "ib_read_bw": "RDMA_Read"}[tool] + (" Bidirectional" if both else "")
        count = int(rate * seconds / (2 if both else 1))
        row = f" {size:<10} {count:<12}     0.00               {bits / 1e9:.2f}              {rate / 1e6:.6f}"
        heading = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"
        return _head(f"{title} BW Test", cable.mtu) + f"{heading}\n{row}\n{_RULE}\n"


_RULE = "-" * 87


def _head(title: str, mtu: int) -> str:
    return (
        f"{_RULE}\n                    {title}\n"
        " Dual-port       : OFF          Device         : mlx5_0\n"
        " Number of qps   : 4            Transport type : IB\n"
        " Connection type : RC           Using SRQ      : OFF\n"
        " TX depth        : 128\n"
        f" Mtu             : {mtu}[B]\n"
        " Link type       : Ethernet\n"
        " GID index       : 3\n"
        " Max inline data : 0[B]\n"
        " rdma_cm QPs     : OFF\n"
        f" Data ex. method : Ethernet\n{_RULE}\n"
    )


def _latency(cable: Cable, run: int) -> str:
    typical = 3.52 * cable.latency * (1 + (0.004 + cable.jitter) * (run % 3))
    tail = 9.87 * cable.latency * cable.tail
    heading = (
        " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]"
        "   99% percentile[usec]   99.9% percentile[usec] "
    )
    times = (typical - 0.1, tail * 3, typical, typical + 0.03, 0.22, typical * 1.2, tail)
    row = " 4096    20000      " + "   ".join(f"{one:.2f}" for one in times)
    return _head("RDMA_Read Latency Test", cable.mtu) + f"{heading}\n{row}\n{_RULE}\n"
