"""Whatever is wrong with a rack, a draft is written: what is broken or untold never becomes a value that was seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from kvgate.draft.first_contact import Pin, Wanted
from kvgate.draft.page import draft
from kvgate.inventory import reader, strict_yaml
from kvgate.inventory.model import Defaults
from kvgate.transport.base import Answer, Batch, Command
from lab.faults import every
from lab.rack import VirtualHost, build, fingerprint


class Lab:
    """A transport that asks virtual hosts without a network between."""

    def __init__(self, hosts: Sequence[VirtualHost]) -> None:
        self._hosts = {host.name: host for host in hosts}

    def run(
        self, commands: Mapping[str, Sequence[Command]], progress: Callable[[Batch], None] | None = None
    ) -> dict[str, Batch]:
        del progress
        return {
            name: Batch(name, {one.key: self._ask(name, one) for one in asked}, boot_id="b")
            for name, asked in commands.items()
        }

    def _ask(self, name: str, command: Command) -> Answer:
        reply = self._hosts[name].machine.answer(command.line)
        if reply.hang or reply.delay > command.limit:
            return Answer(command.key, b"", b"", 124, command.limit)
        return Answer(command.key, reply.stdout, reply.stderr, reply.status, 0.01)

    def close(self) -> None:
        return None


def drafted(*faults: str, platform: str = "rocm") -> tuple[str, set[str]]:
    hosts = build(1, platform, faults)
    wanted = [Wanted(host.name, None, "127.0.0.1", 2200 + number) for number, host in enumerate(hosts)]
    pins = {host.name: Pin(fingerprint(host.key), "given") for host in hosts}
    made = draft(wanted, pins, Defaults(), Lab(hosts), "today")
    return made.page.text(), {decision.where for decision in made.page.decisions}


@pytest.fixture(scope="module")
def healthy() -> dict[str, tuple[str, set[str]]]:
    return {platform: drafted(platform=platform) for platform in ("rocm", "ascend", "nvidia")}


@pytest.mark.parametrize("name", sorted(every()))
def test_a_draft_is_written_whatever_is_wrong(name: str, healthy: dict[str, tuple[str, set[str]]]) -> None:
    platform = every()[name].platform or "rocm"
    text, open_ = drafted(name, platform=platform)
    assert text.count("\n") > 150
    assert {"rack", "campaign", "fabric.dscp"} <= open_
    if text == healthy[platform][0]:  # the fault is about something that no inventory orders
        assert open_ == healthy[platform][1]


@pytest.mark.parametrize("name", sorted(every())[::10])
def test_every_such_draft_can_be_read_by_the_inventory_s_own_reader(name: str) -> None:
    text, _ = drafted(name, platform=every()[name].platform or "rocm")
    assert not strict_yaml.parse(text, "draft").faults
    with pytest.raises(Exception, match="placeholder"):
        reader.parse(text)


def test_the_array_s_memory_is_asked_of_the_vendor_and_of_nobody_else(healthy: dict[str, tuple[str, set[str]]]) -> None:
    text, open_ = healthy["rocm"]
    assert [where for where in open_ if where.endswith(".cache")] == ["hosts.fx100-a.cache"]
    (line,) = [one for one in text.splitlines() if one.startswith("    cache:")]
    assert all(words in line for words in ("{size: 0 B}", "{flushed: true}", "or delete the line", "# ask the vendor"))
