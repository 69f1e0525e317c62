"""When nothing that was stored changed: fio verify passes, hashes of KV files, canary answers, and the state at the end."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from checks.parsers import fio, kvgate_client
from checks.phrase import Phrase, joined, say
from checks.probe import UnreadableOutput
from checks.serving.answers import Canary, corrupt
from checks.soak.facts import HostSoak
from checks.soak.judging import count, finished, loads_of, when
from checks.soak.outages import failed
from checks.soak.track import Doing
from checks.units import show_bytes
from checks.verdict import Verdict

_NAMED = 4
#: errno EILSEQ: what fio ends with when a block is not what it wrote.
_EILSEQ = 84


def verified(soaks: Mapping[str, HostSoak], load: str, least: int) -> Verdict:
    """Every pass of fio verify came to its end and found every block as it was written; there were at least ``least``."""
    required = say("at least {least} passes on each host that verifies, none with a bad block", least=least)

    def look(one: Doing) -> Phrase | None:
        try:
            run = fio.parse(str(one.fields.get("stdout") or ""))
        except UnreadableOutput as error:
            first = str(one.fields.get("stderr") or "").strip().partition("\n")[0]
            if failed(one):
                return say(
                    "fio ended with status {status}: {said}",
                    status=str(one.fields.get("status")),
                    said=first or str(error),
                )
            raise
        bad = [job for job in run.jobs if job.error or job.total_errors]
        if bad:
            what = (
                say("a block is not what was written")
                if bad[0].error == _EILSEQ
                else say("errno {error}", error=bad[0].error)
            )
            return say("{job}: {what}", job=bad[0].name, what=what)
        if failed(one):
            return say("fio ended with status {status}", status=str(one.fields.get("status")))
        back, out = (
            sum(way.io_bytes for job in run.jobs for way in job.directions if way.name == name) for name in ("read", "write")
        )  # fmt: skip
        if (
            one.fields.get("why") == "limit"
        ):  # told to end, fio says nothing of an error, and read back what it had come to
            raise UnreadableOutput(say("its time was over before it had read back all: {back}", back=show_bytes(back)))
        if back < max(out, 1):
            raise UnreadableOutput(
                say("fio read back {back} of {out} that it wrote", back=show_bytes(back), out=show_bytes(out))
            )
        return None

    return _passes(soaks, load, least, required, look)


def files_kept(soaks: Mapping[str, HostSoak], load: str, least: int) -> Verdict:
    """Every KV file whose digest was taken when it was stored has that digest at every later look."""
    required = say("at least {least} looks, every file as it was stored", least=least)

    def look(one: Doing) -> Phrase | None:
        table = _table(one)
        files, wrong, gone = (_whole(table, key) for key in ("files", "mismatched", "missing"))
        if wrong or gone:
            return say("of {files} files {wrong} changed and {gone} are gone", files=files, wrong=wrong, gone=gone)
        if files == 0:
            raise UnreadableOutput("no file was looked at")
        return None

    return _passes(soaks, load, least, required, look)


def answers_kept(soaks: Mapping[str, HostSoak], load: str, least: int) -> Verdict:
    """Canaries answer in every round as in the first: no answer garbled, and no more differences than computing twice makes.

    kvgate's own client computes no canary twice: what differs there may be the engine's noise or stored KV that is wrong.
    """
    required = say(
        "at least {least} rounds; no garbled answer, no more differences than computing twice makes", least=least
    )
    references: dict[str, tuple[str | None, ...]] = {}

    def look(one: Doing) -> Phrase | None:
        text = str(one.fields.get("stdout") or "")
        client = "kvgate_client" in text
        asked, again, restored, garbled = _answers(text, references) if client else _counts(one)
        if asked == 0:
            raise UnreadableOutput("no canary was asked")
        if garbled:
            return say("{count} of {asked} answers are garbled", count=garbled, asked=asked)
        if again is not None and restored > again:
            return say(
                "{restored} of {asked} restored answers differ, {again} when computed twice",
                restored=restored, asked=asked, again=again,
            )  # fmt: skip
        if again is None and restored:
            raise UnreadableOutput(
                say(
                    "{restored} of {asked} answers differ from those of the first round: the engine's own noise, or stored KV that "
                    "is wrong; only an engine that answers alike each time can tell",
                    restored=restored, asked=asked,
                )
            )  # fmt: skip
        return None

    return _passes(soaks, load, least, required, look)


def _why(error: UnreadableOutput) -> Phrase | str:
    found = error.args[0] if error.args else ""
    return found if isinstance(found, Phrase) else str(error)


def _counts(one: Doing) -> tuple[int, int | None, int, int]:
    table = _table(one)
    asked, again, restored, garbled = (
        _whole(table, key) for key in ("asked", "computed_differs", "restored_differs", "garbled")
    )
    return asked, again, restored, garbled


def _answers(text: str, references: dict[str, tuple[str | None, ...]]) -> tuple[int, int | None, int, int]:
    """A round of kvgate's client against its first round of these prompts; nothing of it was computed twice."""
    run = kvgate_client.parse(text)
    found = tuple(row.output for row in run.requests)
    unanswered = sum(1 for row in run.requests if row.status != "completed")
    if unanswered:
        raise UnreadableOutput(f"{unanswered} canaries were not answered")
    reference = references.setdefault(run.prompts, found)
    differs = [(first, now) for first, now in zip(reference, found, strict=True) if first != now]
    canaries = [Canary("", first, first, None, now, None) for first, now in differs]
    return len(found), None, len(differs), sum(map(corrupt, canaries))


def _ends(soak: HostSoak, load: str) -> list[Doing]:
    return [one for one in soak.loads if one.name == load and one.what == "end" and one.fields.get("why") != "stopped"]


def _passes(
    soaks: Mapping[str, HostSoak], load: str, least: int, required: Phrase, look: Callable[[Doing], Phrase | None]
) -> Verdict:
    mine = {(host, name): soak for host, soak in sorted(soaks.items()) for name in loads_of(soak, load)}
    if not mine:
        return Verdict.undecided(say("no plan has the load {load}", load=load), required)
    bad: list[tuple[int, Phrase]] = []
    unread: list[Phrase | str] = []
    few: list[Phrase | str] = []
    total = 0
    for (host, name), soak in mine.items():
        good = 0
        for one in _ends(soak, name):
            minute = int(one.at // 60)
            try:
                why = look(one)
            except UnreadableOutput as error:
                unread.append(say("{host} {when}: {why}", host=host, when=when(minute), why=_why(error)))
                continue
            if why is None:
                good += 1
            else:
                bad.append((minute, say("{host} {when}: {why}", host=host, when=when(minute), why=why)))
        total += good
        if good < least:
            few.append(say("{host}: {count} passes", host=host, count=good))
    measured = say("passes: {count} on {hosts} hosts", count=total, hosts=len({host for host, _ in mine}))
    if bad:
        return Verdict.of(
            False,
            joined([why for _, why in bad[:_NAMED]]),
            required,
            note=measured,
            quantities=count("bad passes", len(bad)),
        )
    if unread or few:
        return Verdict.undecided(joined([*unread[:_NAMED], *few[:_NAMED]]), required, measured)
    verdict = Verdict.of(True, measured, required, quantities=count("passes", total))
    for soak in mine.values():
        verdict = finished(soak, verdict)
    return verdict


def _table(one: Doing) -> Mapping[str, object]:
    text = str(one.fields.get("stdout") or "").strip()
    last = text.rpartition("\n")[2]
    try:
        table = json.loads(last)
    except ValueError:
        said = str(one.fields.get("stderr") or "").strip().partition("\n")[0]
        raise UnreadableOutput(f"the load printed no result: {(said or last)[:80]!r}") from None
    if not isinstance(table, dict):
        raise UnreadableOutput(f"the load's result is no object: {last[:80]!r}")
    return table


def _whole(table: Mapping[str, object], key: str) -> int:
    found = table.get(key)
    if isinstance(found, bool) or not isinstance(found, int) or found < 0:
        raise UnreadableOutput(f"{key} of the load's result is {found!r:.40}, wanted a count")
    return found


def ends_as_it_began(soak: HostSoak, streams: Sequence[str]) -> Verdict:
    """What was there at the begin is there at the end and stands as it stood: controllers, paths, ports, mounts."""
    required = say("the last sample tells the same as the first")
    differ: list[Phrase | str] = []
    untold: list[str] = []
    for key in sorted({*soak.first, *soak.final}):
        before, after = soak.first.get(key, "-"), soak.final.get(key, "-")
        if before != after:
            stream, subject, field = key
            if (
                field
                and all((stream, subject, "") in sample for sample in (soak.first, soak.final))
                and "-" in (before, after)
            ):
                untold.append(
                    f"{stream} {subject} {field}"
                )  # it is there, and one of the samples does not say what it is
                continue
            differ.append(
                say("{stream} {subject} {field}: {before} -> {after}", stream=stream, subject=subject, field=field or "-",
                    before=before, after=after)
            )  # fmt: skip
    if differ and not soak.running:
        return Verdict.of(False, joined(differ[:_NAMED]), required, quantities=count("differences", len(differ)))
    if untold and not soak.running:
        note = say("the first or the last sample does not tell {what}", what=", ".join(untold[:_NAMED]))
        return Verdict.undecided(note, required)
    missing = [stream for stream in streams if not any(key[0] == stream for key in soak.first)]
    if missing:
        return Verdict.undecided(
            say("the first sample tells nothing of {streams}", streams=", ".join(missing)), required
        )
    if not soak.final:
        return Verdict.undecided(say("the journal holds no state"), required)
    measured = say("{count} states, all as at the begin", count=len(soak.first))
    return finished(soak, Verdict.of(True, measured, required, quantities=count("differences", len(differ))))
