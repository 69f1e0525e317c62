"""A draft shows what live hosts have, decides nothing, and is worth as much as what people then decide."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checks.verdict import Outcome
from kvgate.inventory import reader
from kvgate.inventory.model import Rack
from lab.order import PLATFORMS
from lab.rack import fingerprint, host_key
from tests.cli.conftest import ROOT, Kvgate
from tests.gates.harness import judge

_CLAIMED = {
    "rack": "embedded", "campaign": "drafted", "pfc_priority": 3, "dscp": 26, "cnp_dscp": 48, "ecn": True,
    "mtu": 9000, "roce_mtu": 4096, "traffic_class": 106, "role": "baseline", "scratch": False, "unit": "vllm.service", "gds": True,
    "peer_direct": True, "cache": {"size": "64 GB"},
    "value": "as agreed", "conforms": True, "by": "network team", "on": "2026-11-28",
}  # fmt: skip
EXAMPLE_KEYS = ROOT / "inventories" / "keys"


def decided(text: str, **more: Any) -> str:
    """Fill every placeholder as the people of the embedded rack would."""
    lines, path, side = [], "", ""
    for line in text.splitlines():
        if found := re.fullmatch(r"  (vendor|customer):", line):
            side = found[1]
        if found := re.match(r"\s*- path: (\S+)", line):
            path = found[1]
        found = re.fullmatch(r'(\s*(?:- )?)(\w+): "<[^<>]*>"(.*)', line)
        if found is None:
            lines.append(line)
        elif found[2] == "key":
            lines.append(f"{found[1]}key: {EXAMPLE_KEYS / f'example-{side}.pub'}")
        elif found[2] == "arm":
            lines.append(f"{found[1]}arm: {'fx100' if path == '/mnt/fx100' else 'local'}")
        else:
            lines.append(f"{found[1]}{found[2]}: {json.dumps((_CLAIMED | more)[found[2]])}")
    return "\n".join(lines) + "\n"


def draft(kvgate: Kvgate, rack: Any, *more: str, roles: bool = False) -> Any:
    return kvgate(
        "inventory",
        "draft",
        *rack.words(roles),
        "--user",
        "ops",
        "--identity",
        rack.identity,
        "-o",
        rack.folder / "draft.yaml",
        *more,
    )


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_decided_draft_of_the_healthy_rack_is_its_order_and_passes(
    serve: Callable[..., Any], kvgate: Kvgate, platform: str
) -> None:
    with serve(platform=platform, nodes=2) as rack:
        made = draft(kvgate, rack)
        assert made.exit_code == 0, made.stderr
        file = rack.folder / "draft.yaml"
        assert all(not host.machine.unknown for host in rack.rack.hosts), "the lab has no answer"
        assert kvgate("inventory", "check", file).exit_code == 4
        file.write_text(decided(file.read_text()))
        checked = kvgate("inventory", "check", file)
        assert checked.exit_code == 0, checked.stderr
        result = judge(platform=platform, nodes=2, inventory=file.read_text())
        _same_as_ordered(reader.read(file).rack, reader.read(rack.inventory).rack)
    for outcome in (Outcome.STOP, Outcome.UNDECIDED):
        assert not result.clauses(outcome), [result.why(clause) for clause in result.clauses(outcome)]
    assert len(result.clauses(Outcome.PASS)) > 100


def _same_as_ordered(drafted: Rack, ordered: Rack) -> None:
    assert drafted.fabric == ordered.fabric
    for name, host in ordered.hosts.items():
        seen = drafted.hosts[name]
        assert (seen.role, seen.address, seen.port, seen.host_key) == (
            host.role,
            host.address,
            host.port,
            host.host_key,
        )
        # A data sheet is a promise: no disk tells it, and nobody may draft it.
        disks = tuple(disk.model_copy(update={"sheet": None}) for disk in host.disks)
        assert (seen.disks, seen.raid, seen.nics, seen.nvmeof) == (disks, host.raid, host.nics, host.nvmeof)
        assert seen.system is not None
        assert host.system is not None
        # The whole command line is drafted for people to choose from; the order names one word of it.
        assert seen.system.model_copy(update={"cmdline": host.system.cmdline}) == host.system
        assert set(host.system.cmdline) <= set(seen.system.cmdline)
        for mount, wanted in zip(sorted(seen.mounts, key=str), sorted(host.mounts, key=str), strict=True):
            assert not mount.remount, "to let a volume go is a person's leave: nobody may draft it"
            people = {"forbidden": wanted.forbidden, "capacity": wanted.capacity, "remount": wanted.remount}
            assert mount.model_copy(update=people) == wanted
            assert 0.99 < mount.capacity / wanted.capacity < 1.01
        if host.accelerators is None:
            assert seen.accelerators is None
            continue
        cards, wanted_cards = seen.accelerators, host.accelerators
        assert cards is not None
        assert wanted_cards.model in cards.model
        assert cards.model_copy(update={"model": wanted_cards.model, "memory": wanted_cards.memory}) == wanted_cards


def test_the_draft_says_what_it_is_and_leaves_decisions_to_people(serve: Callable[..., Any], kvgate: Kvgate) -> None:
    with serve() as rack:
        made = draft(kvgate, rack, "--json")
        text = (rack.folder / "draft.yaml").read_text()
    head = text.split("rack:")[0]
    assert "what was SEEN" in head
    assert "not what was ORDERED" in head
    for party in ("vendor", "customer", "network team", "both"):
        assert re.search(rf"^#   {party} ", head, re.MULTILINE)
    told = json.loads(made.stdout)
    assert set(told) == {"file", "hosts", "decide"}
    assert [host["role"] for host in told["hosts"]] == ["array", "node"]
    open_ = {decision["where"] for decision in told["decide"]}
    wanted = {
        "rack",
        "campaign",
        "parties.vendor.key",
        "parties.customer.key",
        "hosts.node-01.disks[0].role",
        "fabric.dscp",
    }
    assert wanted | {"hosts.node-01.disks[0].scratch", "hosts.node-01.mounts[0].arm", "declared[0].value"} <= open_
    refused = kvgate("inventory", "check", rack.folder / "draft.yaml", "--json")
    assert refused.exit_code == 4
    placeholders = {fault["where"] for fault in json.loads(refused.stdout)["faults"] if "placeholder" in fault["found"]}
    assert placeholders == open_
    assert "guessed: exports NVMe-oF subsystems" in text
    assert text.count("# compare with the order") > 20


def test_roles_can_be_given(serve: Callable[..., Any], kvgate: Kvgate) -> None:
    with serve() as rack:
        draft(kvgate, rack, roles=True)
        assert "guessed" not in (rack.folder / "draft.yaml").read_text()


@pytest.mark.parametrize(
    ("fault", "where", "reason"),
    [
        ("ethtool-missing", "hosts.node-01.nics[0].firmware", "ethtool is not installed"),
        ("disk-link-narrow", "hosts.fx100-a.disks[2].pcie.lanes", "runs at 2, the device can 4"),
        ("disk-no-nvme-cli", "hosts.node-01.disks[0].lba", "nvme is not installed"),
    ],
)  # fmt: skip
def test_what_was_not_told_or_is_not_right_becomes_a_placeholder_with_its_reason(
    serve: Callable[..., Any], kvgate: Kvgate, fault: str, where: str, reason: str
) -> None:
    with serve(fault) as rack:
        made = draft(kvgate, rack, "--json")
    assert made.exit_code == 0, made.stderr
    reasons = {decision["where"]: decision["reason"] for decision in json.loads(made.stdout)["decide"]}
    assert reason in reasons[where]
    assert reason in (rack.folder / "draft.yaml").read_text()


def test_a_host_that_is_down_stays_in_the_draft_and_in_the_exit_status(
    serve: Callable[..., Any], kvgate: Kvgate
) -> None:
    with serve(behave={"node-01": {"down"}}) as rack:
        made = draft(kvgate, rack)
    assert made.exit_code == 6
    assert "node-01 was not met" in made.stderr
    text = (rack.folder / "draft.yaml").read_text()
    assert "NOT MET" in text
    assert '"<everything of this host>"' in text


def test_nothing_is_written_when_no_host_was_met(serve: Callable[..., Any], kvgate: Kvgate) -> None:
    with serve(behave={"node-01": {"down"}, "fx100-a": {"refuse-login"}}) as rack:
        made = draft(kvgate, rack)
    assert made.exit_code == 6
    assert "nothing was written" in made.stderr
    assert not (rack.folder / "draft.yaml").exists()


def test_another_key_than_the_verified_one_is_never_talked_to(serve: Callable[..., Any], kvgate: Kvgate) -> None:
    with serve(behave={"node-01": {"changed-host-key"}, "fx100-a": {"changed-host-key"}}) as rack:
        keys = [
            word
            for host in rack.rack.hosts
            for word in ("--host-key", f"{host.name}={fingerprint(host_key(host.name))}")
        ]
        words = [word for word in rack.words() if "=127." in word]
        made = kvgate(
            "inventory", "draft", *words, *keys, "--identity", rack.identity, "-o", rack.folder / "draft.yaml"
        )
        asked = [count for host in rack.rack.hosts for count in host.machine.asked.values()]
    assert made.exit_code == 6
    assert "presents the host key" in made.stderr
    assert not asked


def test_known_hosts_of_the_operator_counts_as_verified(serve: Callable[..., Any], kvgate: Kvgate, home: Path) -> None:
    with serve() as rack:
        (home / ".ssh").mkdir()
        lines = [
            f"[127.0.0.1]:{host.port} {host.key.export_public_key('openssh').decode().strip()}\n"
            for host in rack.rack.hosts
        ]
        (home / ".ssh" / "known_hosts").write_text("".join(lines))
        words = [word for word in rack.words() if "=127." in word]
        made = kvgate("inventory", "draft", *words, "--identity", rack.identity, "-o", rack.folder / "draft.yaml")
        assert made.exit_code == 0, made.stderr
        assert "from the operator's known_hosts" in (rack.folder / "draft.yaml").read_text()
        revoked = "@revoked " + lines[1]
        (home / ".ssh" / "known_hosts").write_text(lines[0] + revoked + lines[1])
        refused = kvgate("inventory", "draft", *words, "--identity", rack.identity, "-o", rack.folder / "more.yaml")
        assert refused.exit_code == 4
        assert "node-01=SHA256:" in refused.stderr
        assert "fx100-a=SHA256:" not in refused.stderr


def test_a_host_unknown_to_both_is_refused_with_what_to_do(serve: Callable[..., Any], kvgate: Kvgate) -> None:
    with serve() as rack:
        words = [word for word in rack.words() if "=127." in word]
        refused = kvgate("inventory", "draft", *words, "-o", rack.folder / "draft.yaml")
        assert refused.exit_code == 4
        for expected in ("none is trusted on first use", "fx100-a=SHA256", "node-01=SHA256", "ssh-keygen -lf"):
            assert expected in refused.stderr
        assert not any(host.machine.asked for host in rack.rack.hosts)


KEY = "SHA256:" + "A" * 43


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a b"], "wanted [array:|node:]"),
        (["-oProxyCommand=x"], "No such option|wanted|Missing argument"),
        (["x/y=10.0.0.1"], "wanted letters"),
        (["10.0.0.1", "10.0.0.1"], "two hosts are called"),
        (["a=10.0.0.1", "b=10.0.0.1"], "named twice"),
        (["10.0.0.1", "--host-key", "SHA256:short"], "43 characters"),
        (["10.0.0.1", "10.0.0.2", "--host-key", KEY], "wanted to know whose"),
        (["10.0.0.1", "--host-key", f"10.0.0.9={KEY}"], "wanted one key for one of: 10.0.0.1"),
        (["10.0.0.1", "--identity", "/nonexistent"], "no key file"),
        (["10.0.0.1", "--port", "70000"], "70000"),
    ],
)
def test_what_a_user_mistypes_is_refused_before_any_contact(
    kvgate: Kvgate, tmp_path: Path, words: list[str], said: str
) -> None:
    refused = kvgate("inventory", "draft", *words, "-o", tmp_path / "draft.yaml")
    assert refused.exit_code == 4
    assert re.search(said.replace("[", r"\[") if "wanted [" in said else said, refused.stderr), refused.stderr
    assert not (tmp_path / "draft.yaml").exists()


def test_a_file_that_is_there_is_never_overwritten(kvgate: Kvgate, tmp_path: Path) -> None:
    file = tmp_path / "rack.yaml"
    file.write_text("mine")
    for target, said in (
        (file, "not overwritten"),
        (tmp_path, "not overwritten"),
        (tmp_path / "no" / "x.yaml", "no folder"),
    ):
        refused = kvgate("inventory", "draft", "10.0.0.1", "--host-key", KEY, "-o", target)
        assert refused.exit_code == 4
        assert said in refused.stderr
    assert file.read_text() == "mine"
