"""Looking at live hosts: two rounds of read-only questions over SSH, and one host's answers as facts or reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from checks.nvme.probes import controllers
from checks.phrase import say
from checks.probe import Device, Level, Probe, UnreadableOutput
from kvgate.draft.form import ORDER, Known, Leaf, Open, Scalar
from kvgate.errors import CannotTell, DeviceAbsent
from kvgate.gate.reading import read
from kvgate.transport.base import Answer, Batch, Command, Transport

Fact = TypeVar("Fact")
Progress = Callable[[str, Batch], None]


class Looked:
    """What one host answered. ``lost`` says why it was not met at all, empty when it was."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lost = ""
        self._answers: dict[str, Answer | CannotTell] = {}
        self._facts: dict[tuple[str, Any], Any] = {}

    def keep(self, answers: Mapping[str, Answer | CannotTell]) -> None:
        """Add the answers of one round."""
        self._answers |= answers

    def fact(self, probe: Probe[Fact]) -> Fact:
        """Read one answer. Raises CannotTell with the reason."""
        key = (probe.command(), probe.parse)
        if key not in self._facts:
            self._facts[key] = self._read(probe)
        if isinstance(found := self._facts[key], CannotTell):
            raise found
        return found  # type: ignore[no-any-return]

    def _read(self, probe: Probe[Any]) -> Any:
        answer = self._answers.get(probe.command())
        if answer is None:
            return CannotTell(say("{name} was not asked: {id}", name=self.name, id=probe.id))
        if isinstance(answer, CannotTell):
            return answer
        try:
            return read(self.name, probe, answer)
        except CannotTell as error:
            return error

    def may(self, probe: Probe[Fact]) -> Fact | None:
        """Return the fact, or None when it could not be told."""
        try:
            return self.fact(probe)
        except CannotTell:
            return None

    def first(self, *probes: Probe[Any]) -> Any:
        """Return the first of several facts that could be told. Raises the reason of the last."""
        for probe in probes[:-1]:
            try:
                return self.fact(probe)
            except CannotTell:
                continue
        return self.fact(probes[-1])

    def value(
        self, wanted: str, probe: Probe[Fact], take: Callable[[Fact], Scalar | None], remark: str = ORDER
    ) -> Leaf:
        """Return one value of a fact, or the placeholder with the reason why there is none."""
        try:
            found = take(self.fact(probe))
        except CannotTell as error:
            return Open(wanted, str(error))
        return Open(wanted, f"{probe.tool} does not tell it") if found is None else Known(found, remark)


def look(
    hosts: Iterable[str],
    transport: Transport,
    first: Callable[[str], Iterable[Probe[Any]]],
    then: Callable[[Looked], Iterable[Probe[Any]]],
    progress: Progress | None = None,
) -> dict[str, Looked]:
    """Ask every host ``first``, then what follows from its answers. A host that was not met says so; none raises."""
    looked = {name: Looked(name) for name in hosts}
    asked = {name: {probe.command(): probe for probe in first(name)} for name in looked}
    _round(looked, asked, transport, progress)
    met = {name: one for name, one in looked.items() if not one.lost}
    _round(met, {name: {p.command(): p for p in then(one)} for name, one in met.items()}, transport, progress)
    return looked


def _round(
    looked: Mapping[str, Looked],
    asked: Mapping[str, Mapping[str, Probe[Any]]],
    transport: Transport,
    progress: Progress | None,
) -> None:
    commands: dict[str, list[Command]] = {}
    for name, probes in asked.items():
        commands[name] = []
        for key, probe in probes.items():
            if probe.level is not Level.PASSIVE:
                raise ValueError(f"{probe.id} is not read-only; a draft only looks")
            try:
                line = probe.command(_names(looked[name], probe)) if probe.devices else key
            except CannotTell as error:
                looked[name].keep({key: error})
                continue
            commands[name].append(Command(key, line, probe.limit, reads=True))
    for name, batch in transport.run({name: lines for name, lines in commands.items() if lines}).items():
        looked[name].keep(batch.answers)
        reasons = [answer for answer in batch.answers.values() if isinstance(answer, CannotTell)]
        if reasons and len(reasons) == len(batch.answers) and not batch.boot_id:
            looked[name].lost = str(reasons[0])
        if progress is not None:
            progress("looking", batch)


def _names(looked: Looked, probe: Probe[Any]) -> dict[Device, str]:
    tree = looked.fact(controllers())
    names: dict[Device, str] = {}
    for device in probe.devices:
        try:
            if device.kind == "namespace":
                name = tree.namespace(device.serial)
            else:
                name = controller.name if (controller := tree.controller(device.serial)) else None
        except UnreadableOutput as error:
            raise DeviceAbsent(say("{name}: {error}", name=looked.name, error=str(error))) from None
        if name is None:
            raise DeviceAbsent(
                say("{name}: no namespace on the disk with serial {serial}", name=looked.name, serial=device.serial)
            )
        names[device] = f"/dev/{name}"
    return names
