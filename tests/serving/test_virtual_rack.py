"""What kernels of the virtual rack told around a cell: both arms, 20 prompts of four chunks each, read from XFS on real devices.

One namespace lies behind NVMe-oF over soft RoCE: its device is a head of paths and counts nothing itself, its port only packets.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checks.serving.comparable import REQUIRED, Arm, differences
from checks.serving.kv import Layout
from checks.serving.readback import compared
from checks.serving.readback import parse as settings
from checks.serving.reconciliation import Expected, reconcile, unproven
from checks.serving.site import Server, Side, Site
from checks.serving.snapshot import Window, parse, silent, traffic
from tests.serving.experiment import site

KEPT = Path(__file__).parent / "virtual_rack"
LAYOUT = Layout(256, 2)
PROMPTS, TOKENS, CHUNK = 20, 1030, 256
PORTS = {"local": (8101, 7101, 7102), "array": (8102, 7201, 7202)}


def side(role: str) -> Side:
    urls = tuple(f"http://127.0.0.1:{port}/metrics" for port in PORTS[role])
    server = Server(urls[0].removesuffix("/metrics"), urls, "unit", f"engine-{role}.service")
    mount = {"local": "/mnt/nvme0", "array": "/mnt/fx100"}[role]
    return Side(role, role, "node", (server,), mount, "xfs", f"{mount}/kv", over_rdma=role == "array")


def where() -> Site:
    return replace(
        site(), chunk=CHUNK, model="tiny", model_path="/srv/engine/model", sides=(side("local"), side("array"))
    )


def window(role: str) -> Window:
    before, after = (parse((KEPT / f"{role}-{moment}.txt").read_text("utf-8")) for moment in ("before", "after"))
    device, other = {"local": ("nvme0n1", "nvme1n1"), "array": ("nvme1n1", "nvme0n1")}[role]
    return Window(before, after, device, other)


@pytest.mark.parametrize("role", ["local", "array"])
def test_tokens_store_device_and_port_of_real_kernels_tell_the_same_bytes(role: str) -> None:
    seen = window(role)
    assert silent(seen) == ()
    told = traffic(seen, side(role), where(), LAYOUT, 60.0)
    assert (told.store, told.device, told.host) == (PROMPTS * 4 * CHUNK, 0, 0)
    assert (told.block, told.other_block) == (10_559_488, 0)
    rows = reconcile(told, Expected(PROMPTS, TOKENS, CHUNK, LAYOUT, role == "array", {}))
    assert [str(why) for why in unproven(rows)] == []


def test_what_came_over_the_network_is_told_by_the_port_below_soft_roce() -> None:
    read = PROMPTS * 4 * CHUNK * LAYOUT.token_bytes
    told = traffic(window("array"), side("array"), where(), LAYOUT, 60.0)
    assert told.rdma is not None
    assert read < told.rdma < 1.05 * read
    quiet = traffic(window("local"), side("local"), where(), LAYOUT, 60.0)
    assert quiet.rdma is not None
    assert quiet.rdma < read / 1000


def test_arms_of_real_processes_differ_in_a_port_and_in_what_no_machine_without_accelerators_has() -> None:
    arms = {}
    for role in ("local", "array"):
        found = compared(settings((KEPT / f"{role}-settings.txt").read_text("utf-8")), where())
        here = side(role)
        arms[role] = Arm(role, here.store, here.mount, "vllm", "lmcache", "fs", True, found)
    wanting = [one.setting for one in differences(arms["local"], arms["array"])]
    assert wanting == ["accelerator.runtime", "engine.arguments", "host.driver"]  # --worker-port is no word of vLLM
    assert set(wanting) <= set(REQUIRED)
