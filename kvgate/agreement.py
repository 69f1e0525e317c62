"""The acceptance document in force: gates/acceptance.yaml plus the campaign's overlay, with every overlaid number named."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Literal

from pydantic import BaseModel, ConfigDict, StrictStr, ValidationError

from checks.acceptance import Acceptance, Clause, Limit, Text
from checks.decision import Owed
from checks.phrase import Phrase, listed, say
from kvgate.codec import digest
from kvgate.errors import BadInput, Fault
from kvgate.inventory import strict_yaml
from kvgate.inventory.faults import faults, once_each
from kvgate.inventory.model import Rack
from kvgate.inventory.strict_yaml import Document, Key
from kvgate.inventory.subjects import Thing, owed, things

_ABSENT = "-"
_SIGNED = ("°C", "dB", "percentage points")  # units of what may be below zero; nothing else may
_COUNTED = ("files", "files at a time", "jobs", "requests", "requests a job")  # of these there is a whole one at least
_ROUNDS, _SURE = (
    "rounds",
    "% sure",
)  # how units begin that say of what there is at least one, and how certain one must be
_FORM = b"1 "  # of the compiled document; another form has another digest


class _Change(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    limits: dict[StrictStr, Limit] = {}
    weight: Literal["blocking", "advisory"] | None = None


class _Overlay(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    overlay: dict[StrictStr, _Change]


@dataclass(frozen=True, slots=True)
class Overlaid:
    """One thing in which an agreement differs from the standard document, before and after; ``origin`` only of numbers."""

    clause: str
    what: str
    before: str
    after: str
    origin: str


@dataclass(frozen=True)
class Agreement:
    """The clauses in force and what was overlaid. Two agreements with one digest are the same text."""

    acceptance: Acceptance
    overlaid: tuple[Overlaid, ...]

    @property
    def digest(self) -> str:
        """SHA-256 of the effective clauses."""
        return self.acceptance.digest()

    def canonical(self) -> str:
        """Return the effective clauses as JSON, as stored with every run."""
        return json.dumps(self.acceptance.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)


def standard_file() -> Path:
    """Where the acceptance document of this installation lies."""
    return Path(str(files("gates") / "acceptance.yaml"))


def read(overlay: Path | None = None, standard: Path | None = None) -> Agreement:
    """Read the document and lay the overlay on it. Raises BadInput with every fault of either file."""
    acceptance = _document(standard or standard_file())
    if overlay is None:
        return Agreement(acceptance, ())
    changes = strict_yaml.agreed(overlay)
    found: list[Fault] = list(changes.faults)
    wanted: _Overlay | None = None
    try:
        wanted = _Overlay.model_validate(changes.data)
    except ValidationError as error:
        found += faults(error, changes, _Overlay)
    found += _misfits(changes, acceptance)  # of what can be read, so that a wrong form hides no wrong number
    if found or wanted is None:
        raise BadInput(once_each(found))
    clauses = dict(acceptance.clauses)
    for clause_id, change in wanted.overlay.items():
        clause = clauses[clause_id]
        limits = {**clause.limits, **change.limits}
        clauses[clause_id] = clause.model_copy(update={"limits": limits, "weight": change.weight or clause.weight})
    return _agreement(Acceptance(acceptance=1, clauses=clauses), acceptance)


def _document(path: Path) -> Acceptance:
    """Read a document once as long as the file stays the same; strict reading costs half a second."""
    try:
        state = path.stat()
    except OSError:
        return _validate(strict_yaml.read(path))  # which says why it cannot be read
    return _unchanged(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=8)
def _unchanged(path: Path, modified: int, size: int) -> Acceptance:
    del modified, size
    document = path.read_bytes()
    compiled = path.parent / "__pycache__" / f"{path.stem}.kvgate-{digest(_FORM + document)[:32]}.json"
    with suppress(OSError, ValueError):
        seal, _, text = compiled.read_text("utf-8").partition("\n")
        if seal == digest(text):
            return Acceptance.model_validate_json(text, strict=False)
    acceptance = _validate(strict_yaml.read(path))
    with suppress(OSError):  # a folder that takes no writes: it is read strictly every time
        _compile(acceptance, compiled)
    return acceptance


def _compile(acceptance: Acceptance, compiled: Path) -> None:
    """Keep what strict reading came to beside the document, as Python does with its modules: under a digest of the document."""
    text = acceptance.model_dump_json()
    compiled.parent.mkdir(exist_ok=True)
    for old in compiled.parent.glob(f"{compiled.name.split('.')[0]}.kvgate-*"):
        old.unlink(missing_ok=True)
    with NamedTemporaryFile("w", dir=compiled.parent, prefix=compiled.name, encoding="utf-8", delete=False) as file:
        file.write(f"{digest(text)}\n{text}")
    Path(file.name).replace(compiled)


def stored(canonical: str, standard: Acceptance | None = None) -> Agreement:
    """Return the agreement a run was judged by, from its stored JSON. Raises BadInput when it cannot be read.

    ``overlaid`` is what it differs in from ``standard`` (the document of this installation): the campaign's own numbers,
    and whatever another version of the document said.
    """
    try:
        found = Acceptance.model_validate_json(canonical, strict=False)
        return _agreement(found, standard or _document(standard_file()))
    except ValidationError as error:
        message = str(error).splitlines()[0]
        raise BadInput((Fault("stored acceptance", 0, 0, "file", message, say("the clauses of a run")),)) from None


def _agreement(effective: Acceptance, standard: Acceptance) -> Agreement:
    return Agreement(effective, differences(standard, effective))


def differences(before: Acceptance, after: Acceptance) -> tuple[Overlaid, ...]:
    """Return everything in which two agreements differ, in the order of the second; remedies do not decide and are left out."""
    found: list[Overlaid] = []
    for name, clause in after.clauses.items():
        if (old := before.clauses.get(name)) is None:
            found.append(Overlaid(name, "clause", _ABSENT, clause.check, ""))
        else:
            found += _changes(name, old, clause)
    found += [
        Overlaid(name, "clause", clause.check, _ABSENT, "")
        for name, clause in before.clauses.items()
        if name not in after.clauses
    ]
    return tuple(found)


def _changes(name: str, before: Clause, after: Clause) -> Iterator[Overlaid]:
    for limit in dict.fromkeys((*after.limits, *before.limits)):
        old, new = before.limits.get(limit), after.limits.get(limit)
        if old is None or new is None or (old.value, old.unit, old.origin) != (new.value, new.unit, new.origin):
            yield Overlaid(name, limit, _show(old), _show(new), new.origin.value if new else "")
    for what in ("weight", "check", "subject", "where", "level", "answer", "text"):
        one, other = getattr(before, what), getattr(after, what)
        if one != other:
            yield Overlaid(name, what, _word(one), _word(other), "")


def _word(value: object) -> str:
    if isinstance(value, Text):
        return value.en
    if isinstance(value, Mapping):
        return "; ".join(f"{key} {' or '.join(words)}" for key, words in value.items()) or _ABSENT
    return str(value)


def _validate(document: Document) -> Acceptance:
    found = list(document.faults)
    try:
        acceptance = Acceptance.model_validate(document.data)
    except ValidationError as error:
        raise BadInput(tuple(found + list(faults(error, document, Acceptance)))) from None
    if found:
        raise BadInput(tuple(found))
    return acceptance


def _misfits(changes: Document, acceptance: Acceptance) -> Iterator[Fault]:
    """What the text of an overlay says that does not fit the document, whether or not the rest of it has the right form."""
    for clause_id, change in _mapping(_mapping(changes.data).get("overlay")).items():
        if (clause := acceptance.clauses.get(clause_id)) is None:
            wanted = say("a clause of the document")
            yield changes.fault(("overlay", clause_id), repr(clause_id), wanted, key=True)
            continue
        for name, limit in _mapping(_mapping(change).get("limits")).items():
            path = ("overlay", clause_id, "limits", name)
            if (before := clause.limits.get(name)) is not None:
                yield from _misfit(changes, path, _mapping(limit), before)
                continue
            known = listed([*clause.limits]) if clause.limits else say("no limits")
            yield changes.fault(path, repr(name), say("one of {words}", words=known), key=True)


def _mapping(found: object) -> Mapping[str, object]:
    return found if isinstance(found, Mapping) else {}


def _misfit(changes: Document, path: Key, limit: Mapping[str, object], before: Limit) -> Iterator[Fault]:
    unit, value = limit.get("unit"), limit.get("value")
    if isinstance(unit, str) and unit != before.unit:
        yield changes.fault((*path, "unit"), repr(unit), repr(before.unit))
    if not isinstance(value, (bool, int, float, str, tuple)):
        return  # nothing, or a mapping: its form is told already
    if _kind(value) != _kind(before.value):
        wanted = say("{kind} like {value}", kind=_kind(before.value), value=repr(before.value))
        yield changes.fault((*path, "value"), changes.spelled.get((*path, "value"), repr(value)), wanted)
    elif _below_zero(value) and not before.unit.startswith(_SIGNED):
        wanted = say("0 or more: it counts or measures what cannot be less than nothing")
        yield changes.fault((*path, "value"), changes.spelled.get((*path, "value"), repr(value)), wanted)
    elif (senseless := _senseless(value, before.unit)) is not None:
        yield changes.fault((*path, "value"), changes.spelled.get((*path, "value"), repr(value)), senseless)


def _senseless(value: object, unit: str) -> Phrase | None:
    """Say what is wanted where nothing could be measured or shown with such a number; None: it can be agreed."""
    if not isinstance(value, (int, float)):
        return None
    if (unit in _COUNTED or unit.startswith(_ROUNDS)) and (value < 1 or value != int(value)):
        return say("a whole number, at least 1")
    if unit.startswith(_SURE) and value != 0 and not 50 < value < 100:
        return say("more than 50 and less than 100 percent, or 0 for no such proof")
    return None


def _below_zero(value: object) -> bool:
    if isinstance(value, tuple):
        return any(map(_below_zero, value))
    return isinstance(value, (int, float)) and value < 0


def _kind(value: object) -> Phrase:
    if isinstance(value, bool):
        return say("a truth value")
    if isinstance(value, (int, float)):
        return say("a number")
    return say("a word") if isinstance(value, str) else say("a list")


def _show(limit: Limit | None) -> str:
    return _ABSENT if limit is None else f"{limit.value} {limit.unit}".strip()


def what_is_owed(agreement: Agreement, rack: Rack, file: str, gate: str) -> list[tuple[Owed, Thing]]:
    """What a run of ``gate`` owes. Raises BadInput for a clause that selects on an unknown trait, a declaration nobody owes."""
    try:
        items = owed(agreement.acceptance, rack, gate)
    except KeyError as error:
        raise BadInput(
            (Fault(file, 0, 0, "where", say("trait {name}", name=str(error)), say("a trait of the clause's subject")),)
        ) from None
    strange = [*_strange(agreement.acceptance, rack, file), *_contradicted(rack, file, items)]
    if gate == "G1":
        strange += _unasked(rack, file, items)
    if strange:
        raise BadInput(tuple(strange))
    return items


def _strange(acceptance: Acceptance, rack: Rack, file: str) -> Iterator[Fault]:
    """Declarations that answer for nothing: an unknown clause, or no subject of the clause's kind."""
    everything = list(things(rack))
    for index, declaration in enumerate(rack.declared):
        place = f"declared[{index}]"
        clause = acceptance.clauses.get(declaration.clause)
        if clause is None:
            yield Fault(
                file,
                0,
                0,
                place,
                say("clause {name!r}", name=declaration.clause),
                say("a clause of gates/acceptance.yaml"),
            )
        subjects = [thing.id for thing in everything if clause is None or thing.kind is clause.subject]
        if not any(fnmatchcase(subject, declaration.subject) for subject in subjects):
            kind = "subject" if clause is None else clause.subject.value
            wanted = say("a {kind} of this inventory", kind=kind)
            if subjects:
                near = ", ".join(subjects[:4])
                wanted = say("a {kind} of this inventory, such as {subjects}", kind=kind, subjects=near)
            yield Fault(file, 0, 0, place, say("subject {name!r}", name=declaration.subject), wanted)


def _contradicted(rack: Rack, file: str, items: Sequence[tuple[Owed, Thing]]) -> Iterator[Fault]:
    """Subjects that one declaration calls good and another one bad."""
    for item, _ in items:
        given = [
            (index, declaration)
            for index, declaration in enumerate(rack.declared)
            if declaration.clause == item.clause and fnmatchcase(item.subject, declaration.subject)
        ]
        for index, declaration in given[1:]:
            if declaration.conforms is not given[0][1].conforms:
                found = say(
                    "the opposite of declared[{first}] for {clause} on {subject}",
                    first=given[0][0],
                    clause=item.clause,
                    subject=item.subject,
                )
                yield Fault(file, 0, 0, f"declared[{index}]", found, say("one answer"))
                break


def _unasked(rack: Rack, file: str, items: Sequence[tuple[Owed, Thing]]) -> Iterator[Fault]:
    """Hosts that owe nothing that could keep the gate shut: a PASS of the rack would seem to speak for them."""
    asked = {thing.host for item, thing in items if item.blocking}
    for name in rack.hosts:
        if name not in asked:
            wanted = say("something ordered of it (system, disks, nics, ...), or no such host in the rack")
            yield Fault(file, 0, 0, f"hosts.{name}", say("nothing that a blocking clause is about"), wanted)
