"""A run with two hosts, answers and failures, as a gate would write it."""

from __future__ import annotations

from kvgate.errors import HostKeyRefused, TimedOut
from kvgate.evidence import AskedProbe
from kvgate.transport.base import Answer, Batch, Clock

RUN = "20261129T130000-0a1b2c3d"
START = {
    "inventory": "rack: rack-a\nhosts: {}\n",
    "acceptance": '{"clauses":{}}',
    "code": "0.1.0",
    "argv": ["-m", "G1"],
}


def batch(host: str = "node-01", *, count: int = 3) -> Batch:
    answers = {f"q{n}": Answer(f"q{n}", f"{host} says {n}\n".encode(), b"", 0, 0.01 * n) for n in range(count)}
    return Batch(
        host=host,
        answers={
            **answers,
            "slow": TimedOut("nvme list took more than 10 s"),
            "key": HostKeyRefused("another key", "SHA256:abc"),
        },
        host_key="SHA256:def",
        boot_id="1f-2e",
        clock=Clock(-0.01, 0.02),
        started_utc="2026-11-29T13:00:00.000000Z",
        started_monotonic=12.5,
        seconds=0.3,
        notes=("reconnected once",),
    )


def asked(count: int = 3) -> dict[str, AskedProbe]:
    keys = [*(f"q{n}" for n in range(count)), "slow", "key"]
    return {key: AskedProbe(f"probe-{key}", f"nvme {key}", "passive") for key in keys}
