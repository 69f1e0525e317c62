"""The serving loads of a soak: kvgate's own client on the arm of the array, canaries, digests of KV files, restarts of the engine."""

from __future__ import annotations

from typing import Any

from checks.serving.client import COMMAND
from checks.serving.procedure import IDS
from checks.serving.work import Mode, Work
from kvgate.inventory.model import Rack
from kvgate.inventory.serving import Arm, Control, Serving
from kvgate.inventory.soak import Serve

_CAP = 16 * 2**20  # bytes of a client's document
_LEAST = 10  # requests for each one under way: the least that G3 measures with


def loads(rack: Rack, host: str) -> list[dict[str, Any]]:
    """What runs on that host; nothing where the inventory does not ask for it."""
    if rack.soak is None or (serve := rack.soak.serve) is None or (serving := rack.serving) is None:
        return []
    [arm, *_] = (one for one in serving.shapes[serving.primary].arms.values() if one.role == "array")
    found: list[dict[str, Any]] = []
    if host == serving.load_host:
        found += [_client(serving, serve, arm), _canary(serving, serve, arm)]
    if host == arm.host:
        evicts = any(one.host == host for one in rack.soak.janitor)
        if arm.mount is not None and arm.store is not None:
            words = ["{worker}", "kvfiles", arm.store, "evicts" if evicts else "keeps"]
            place = {"mount": arm.mount}
            found.append(
                {"name": "kvfiles", "argv": words, "first": 600, "every": serve.files, "limit": serve.files, **place}
            )
        for number, instance in enumerate(arm.instances):
            if words := _restart(instance.control):
                found.append(
                    {
                        "name": f"restart{number or ''}", "argv": words, "first": serve.restart / 2, "every": serve.restart,
                        "limit": serve.within, "scheduled": True, "within": serve.within, "mark": False,
                    }
                )  # fmt: skip
    return found


def _work(
    serving: Serving, arm: Arm, mode: Mode, prompts: str, count: int, concurrency: int, limit: float
) -> list[str]:
    work = Work(
        mode=mode, endpoints=tuple(one.endpoint for one in arm.instances), model=serving.model.name, seed=serving.workload.seed,
        prompt_set=prompts, count=count, tokens_in=serving.workload.prompt_tokens, tokens_out=serving.workload.output_tokens,
        concurrency=concurrency, ids=IDS, limit=limit,
    )  # fmt: skip
    return [*COMMAND, work.options]


def _client(serving: Serving, serve: Serve, arm: Arm) -> dict[str, Any]:
    """The same prompts in every run: after the first they come back from the store. Runs follow one another without a pause."""
    most = max(serve.rota)
    count = max(serving.workload.requests, _LEAST * most)
    rota = [_work(serving, arm, Mode.MEASURE, "soak", count, level, serve.turn) for level in serve.rota]
    return {
        "name": "client",
        "rota": rota,
        "turn": serve.turn,
        "again": True,
        "limit": serve.turn + 120,
        "output": "whole",
        "cap": _CAP,
    }


def _canary(serving: Serving, serve: Serve, arm: Arm) -> dict[str, Any]:
    """One at a time: what is computed beside others may differ from what is computed alone."""
    count, limit = max(1, serving.workload.canaries), serve.canaries * 0.9
    words = _work(serving, arm, Mode.CANARIES, "soak/canary", count, 1, limit)
    return {
        "name": "canary",
        "argv": words,
        "first": 300,
        "every": serve.canaries,
        "limit": limit,
        "output": "whole",
        "cap": _CAP,
    }


def _restart(control: Control) -> list[str]:
    if control.unit is not None:
        return ["systemctl", "restart", control.unit]
    if control.container is not None:
        return [control.runtime, "restart", control.container]
    return []
