"""What a host's samples say while it is soaked: steady values with a little noise, and its troubles."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from lab.soak import npu
from lab.soak.plan import disks
from lab.soak.trouble import Away, Count, Drift, Leak, Restart, Silent, Trouble, Value, Word

Subjects = dict[str, dict[str, Value]]

_GIB = 2**30
_ETHTOOL = (
    "rx_crc_errors_phy", "rx_symbol_err_phy", "rx_discards_phy", "tx_discards_phy", "rx_out_of_buffer", "link_down_events_phy",
    "tx_pause_storm_warning_events", "tx_pause_storm_error_events", "rx_prio3_pause_duration", "rx_prio3_pause",
)  # fmt: skip


class Host:
    """Samples of one host. Everything follows from the seed; the same plan and seed give the same bytes."""

    def __init__(self, plan: dict[str, Any], seed: int, troubles: Sequence[Trouble], captured: str = "") -> None:
        self.plan, self.node, self._captured = plan, plan["role"] == "node", captured
        self._random = Random(f"{seed}/{plan['host']}")
        self._end = float(plan["seconds"])
        self._changes = [one for one in troubles if isinstance(one, (Word, Count, Drift, Leak))]
        self._silent = [one for one in troubles if isinstance(one, Silent)]
        self._boots = [one for one in troubles if isinstance(one, Away) and one.kind == "reboot"]
        self._restarts = sorted((one for one in troubles if isinstance(one, Restart)), key=lambda one: one.at)

    def sample(self, stream: str, at: float) -> Subjects | None:
        """Values of one sample; None where none is taken."""
        found: Subjects = getattr(self, f"_{stream}")(at)
        for one in self._changes:
            if (
                one.stream == stream
                and stream not in ("smart", "ethtool", "clock", "accelerator")
                and one.subject in found
            ):
                found[one.subject][one.field] = self._changed(one, found[one.subject].get(one.field), at)
        for hole in self._silent:
            if hole.stream in ("", stream) and hole.begin <= at < hole.end:
                if not hole.error and not hole.subject:
                    return None
                found = {name: fields for name, fields in found.items() if hole.subject and name != hole.subject}
                if hole.error:
                    found[hole.subject] = {"error": hole.error}
        return found

    def _changed(self, one: Word | Count | Drift | Leak, value: Value, at: float) -> Value:
        if isinstance(one, Word):
            return one.value if one.begin <= at < one.end else value
        number = value if isinstance(value, (int, float)) else 0
        if isinstance(one, Count):
            return number + one.by if at >= one.at else number
        if isinstance(one, Leak):
            begun = max((each.at for each in self._restarts if each.at <= at), default=0.0)
            return type(number)(number * (1 + one.hour * (at - begun + one.kept * begun) / 3600))
        if at < one.begin:
            return number
        part = 1.0 if one.at_once else (at - one.begin) / (self._end - one.begin)
        return type(number)(number * (1 + one.by * part))

    def _counter(self, stream: str, subject: str, field: str, base: int, at: float) -> int:
        added = [
            one.by for one in self._changes
            if isinstance(one, Count) and (one.stream, one.subject, one.field) == (stream, subject, field) and at >= one.at
        ]  # fmt: skip
        return base + sum(added)

    def _noise(self, value: float, share: float) -> float:
        return value * (1 + share * self._random.uniform(-1, 1))

    def _disk(self, at: float) -> Subjects:
        names = [f"{name}n1" for name in disks(self.plan["role"])] + (["nvme1n1"] if self.node else ["md0"])
        return {
            name: {
                "reads": int(5000 * at), "read_sectors": int(5000 * at * 64), "read_ms": int(400 * at), "writes": int(900 * at),
                "write_sectors": int(900 * at * 64), "write_ms": int(90 * at), "in_flight": self._random.randrange(40),
                "io_ms": int(700 * at),
            }
            for name in names
        }  # fmt: skip

    def _net(self, at: float) -> Subjects:
        changes = 2 if any(at >= one.at for one in self._boots) else 5
        return {
            "ens1f0np0": {
                "operstate": "up", "carrier": 1, "carrier_changes": changes, "rx_bytes": int(2.5e9 * at), "tx_bytes": int(4e8 * at),
                "rx_packets": int(7e5 * at), "tx_packets": int(2e5 * at), "rx_crc_errors": 3, "rx_errors": 3, "rx_dropped": 0,
                "rx_missed_errors": 0, "rx_fifo_errors": 0, "rx_frame_errors": 0, "rx_length_errors": 0, "tx_errors": 0,
                "tx_carrier_errors": 0, "tx_fifo_errors": 0,
            }
        }  # fmt: skip

    def _rdma(self, at: float) -> Subjects:
        return {
            "mlx5_0/1": {
                "state": "ACTIVE", "phys_state": "LinkUp", "port_rcv_data": int(6e8 * at), "port_xmit_data": int(1e8 * at),
                "out_of_sequence": 12, "packet_seq_err": 4, "local_ack_timeout_err": 1, "rnr_nak_retry_err": 0,
                "np_cnp_sent": int(3 * at), "rp_cnp_handled": int(2 * at), "link_downed": 1, "symbol_error": 0, "port_rcv_errors": 0,
                "req_cqe_flush_error": int(at / 100),
            }
        }  # fmt: skip

    def _nvme(self, at: float) -> Subjects:
        found: Subjects = {
            name: {"state": "live", "transport": "pcie", "serial": f"S{self.plan['host']}{name}", "reset_count": 0}
            for name in disks(self.plan["role"])
        }
        if self.node and not any(0 <= at - one.at - one.seconds < one.booting for one in self._boots):
            found["nvme1"] = {
                "state": "live", "transport": "rdma", "serial": "FX100A1", "address": "traddr=192.168.100.10,trsvcid=4420",
                "subsysnqn": "nqn.2026-01.example:fx100-a", "reset_count": 1,
            }  # fmt: skip
        return found

    def _kernel(self, at: float) -> Subjects:
        del at
        return {}

    def _memory(self, at: float) -> Subjects:
        del at
        total = 1024 * _GIB
        return {
            "host": {
                "MemTotal": total, "MemFree": int(self._noise(200 * _GIB, 0.02)), "MemAvailable": int(self._noise(600 * _GIB, 0.01)),
                "Slab": int(self._noise(9 * _GIB, 0.01)), "SUnreclaim": int(self._noise(3 * _GIB, 0.01)),
            }
        }  # fmt: skip

    def _pressure(self, at: float) -> Subjects:
        return {
            name: {"some_avg10": 0.4, "some_total": int(4000 * at), "full_avg10": 0.1, "full_total": int(1000 * at)}
            for name in ("cpu", "memory", "io")
        }

    def _load(self, at: float) -> Subjects:
        del at
        load = round(self._noise(20, 0.1), 2)
        return {
            "host": {
                "load1": load,
                "load5": 20.0,
                "load15": 20.0,
                "files": int(self._noise(21000, 0.01)),
                "files_max": 2**40,
            }
        }

    def _space(self, at: float) -> Subjects:
        # The load fills and the janitor empties: between 60 and 85 percent, once in two hours.
        used = 0.60 + 0.25 * (at % 7200) / 7200
        size = 14 * 10**12
        return {
            path: {
                "size": size, "free": int(size * (1 - used)), "available": int(size * (1 - used)), "inodes": 700_000_000,
                "inodes_free": int(700_000_000 * (1 - used / 10)), "read_only": False, "mounted": True,
            }
            for path in self.plan["streams"]["space"]["paths"]
        }  # fmt: skip

    def _thermal(self, at: float) -> Subjects:
        warm = 3 * math.sin(at / 86400 * 2 * math.pi)
        return {
            f"{name}/Composite": {"celsius": round(self._noise(48 + warm, 0.03), 1), "max": 70.0, "critical": 80.0}
            for name in disks(self.plan["role"])
        }

    def _throttle(self, at: float) -> Subjects:
        del at
        return {"cpu0": {"core_throttle_count": 7, "package_throttle_count": 9}}

    def _edac(self, at: float) -> Subjects:
        del at
        return {"mc0": {"ce_count": 2, "ue_count": 0}}

    def _aer(self, at: float) -> Subjects:
        del at
        return {"0000:41:00.0": {"correctable": 5, "nonfatal": 0, "fatal": 0}}

    def _process(self, at: float) -> Subjects:
        pid = 4000 + sum(1 for one in self._restarts if at >= one.at)
        gone = any(one.at <= at < one.at + one.seconds for one in self._restarts)
        engine: dict[str, Value] = {"processes": 0, "why": "vllm.service does not run"} if gone else {
            "pid": pid, "start": 100000 + pid, "rss_bytes": int(self._noise(90 * _GIB, 0.005)), "fds": int(self._noise(900, 0.02)),
            "threads": 210, "processes": 9,
        }  # fmt: skip
        return {"engine": engine}

    def _worker(self, at: float) -> Subjects:
        return {
            "worker": {
                "cpu_seconds": round(0.004 * at / float(self.plan["scale"]), 3), "rss_bytes": int(self._noise(22 * 2**20, 0.01)),
                "fds": 14, "lines": int(at / 3), "journal_bytes": int(at * 1000), "unread_bytes": 0, "free_bytes": 10**11,
                "late_seconds": 0.01,
            }
        }  # fmt: skip

    # ---- tools: what they print

    def _clock(self, at: float) -> Subjects:
        offset = self._noise(0.00002, 0.9)
        for one in self._changes:
            if isinstance(one, Word) and (one.stream, one.field) == ("clock", "offset") and one.begin <= at < one.end:
                offset = float(one.value or 0)
        text = f"A9FEA97B,169.254.169.123,3,1764450000.1,{offset:.9f},{offset:.9f},0.000012,-2.5,0.001,0.03,0.0004,0.0002,64.1,Normal\n"
        return {"chronyc": {"status": 0, "seconds": 0.01, "stdout": text, "stderr": ""}}

    def _smart(self, at: float) -> Subjects:
        found: Subjects = {}
        for name, subject in zip(disks(self.plan["role"]), self.plan["streams"]["smart"]["commands"], strict=True):
            table = {
                "critical_warning": 0, "temperature": 321, "avail_spare": 100, "spare_thresh": 10, "percent_used": 1,
                "data_units_read": 1000 + int(at), "data_units_written": 900 + int(at / 3), "power_cycles": 12,
                "power_on_hours": 300 + int(at / 3600), "unsafe_shutdowns": 5, "media_errors": 0, "num_err_log_entries": 17,
                "warning_temp_time": 4, "critical_comp_time": 0, "thm_temp1_trans_count": 2, "thm_temp2_trans_count": 0,
            }  # fmt: skip
            table = {field: self._counter("smart", name, field, value, at) for field, value in table.items()}
            found[subject] = {"status": 0, "seconds": 0.02, "stdout": json.dumps(table) + "\n", "stderr": ""}
        return found

    def _ethtool(self, at: float) -> Subjects:
        base = dict.fromkeys(_ETHTOOL, 0) | {
            "rx_crc_errors_phy": 3,
            "rx_prio3_pause_duration": int(200 * at / float(self.plan["scale"])),
            "rx_prio3_pause": int(at),
        }
        lines = [
            f"     {name}: {self._counter('ethtool', 'ens1f0np0', name, value, at)}" for name, value in base.items()
        ]
        text = "NIC statistics:\n" + "\n".join(lines) + "\n"
        return {"ens1f0np0": {"status": 0, "seconds": 0.02, "stdout": text, "stderr": ""}}

    def _metrics(self, at: float) -> Subjects:
        text = f"vllm:num_requests_running {int(self._noise(16, 0.2))}\nvllm:prompt_tokens_total {int(9000 * at)}\n"
        told: dict[str, Value] = {"status": 200, "seconds": 0.01, "stdout": text, "stderr": ""}
        return {page: dict(told) for page in self.plan["streams"]["metrics"]["pages"]}

    def _nvidia(self, at: float) -> str:
        """What nvidia-smi prints, with errors of the card at place 2 since its driver was loaded; without any counts where ECC is off."""
        text = self._captured or (Path(__file__).parents[1] / "machines/nvidia/nvidia-smi-q-x.xml").read_text("utf-8")
        for one in self._changes:
            if (
                isinstance(one, Word)
                and (one.stream, one.field) == ("accelerator", "ecc")
                and one.begin <= at < one.end
            ):
                text = re.sub(r"(<[sd]ram_\w+>)\d+<", rf"\g<1>{one.value}<", text)
        cards = text.split("<volatile>")
        for field in {one.field for one in self._changes if isinstance(one, Count) and one.subject == "nvidia-smi"}:
            number = self._counter("accelerator", "nvidia-smi", field, 0, at)
            cards[3] = re.sub(rf"<{field}>\d+<", f"<{field}>{number}<", cards[3], count=1)
        return "<volatile>".join(cards)

    def _npu(self, field: str, healthy: str, at: float) -> str:
        """A word of the chip at place 2, as a trouble has it."""
        words = [
            str(one.value) for one in self._changes
            if isinstance(one, Word) and (one.subject, one.field) == ("npu-smi", field) and one.begin <= at < one.end
        ]  # fmt: skip
        return words[-1] if words else healthy

    def _npu_count(self, at: float) -> Callable[[str], object]:
        def count(label: str) -> object:
            return self._npu(label, "", at) or self._counter("accelerator", "npu-smi-ecc", label, 0, at)

        return count

    def _accelerator(self, at: float) -> Subjects:
        tools = self.plan["streams"]["accelerator"]["commands"]
        if "npu-smi" in tools:
            texts = {
                "npu-smi": npu.table(self._captured, self._npu("health", "OK", at)),
                "npu-smi-ecc": npu.ecc(self._captured, self._npu_count(at)),
            }
            return {tool: {"status": 0, "seconds": 0.4, "stdout": texts[tool], "stderr": ""} for tool in tools}
        [tool] = tools
        if tool == "nvidia-smi":
            return {tool: {"status": 0, "seconds": 0.4, "stdout": self._nvidia(at), "stderr": ""}}
        if tool != "amd-smi":
            return {tool: {"status": 0, "seconds": 0.4, "stdout": self._captured, "stderr": ""}}
        bad = self._counter("accelerator", "amd-smi", "uncorrectable", 0, at)
        cards = [
            {
                "gpu": gpu, "temperature": {"hotspot": {"value": 71, "unit": "C"}},
                "ecc": {"total_correctable_count": 3, "total_uncorrectable_count": bad if gpu == 2 else 0, "total_deferred_count": 0},
            }
            for gpu in range(8)
        ]  # fmt: skip
        return {
            "amd-smi": {"status": 0, "seconds": 0.4, "stdout": json.dumps({"gpu_data": cards}) + "\n", "stderr": ""}
        }
