"""Written once, read back later: fio's checksums of every block, and SHA-256 of whole files. What comes back is what was written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from checks import io_errors
from checks.block import rounds
from checks.block.live import rates
from checks.block.space import FOLDER, made, removed, room
from checks.block.trials import version
from checks.files import proof
from checks.files.anew import Anew, taken
from checks.lexing import lines
from checks.parsers import fio
from checks.parsers.fio import FioRun
from checks.phrase import Phrase, say
from checks.probe import Level, Probe, Streams, UnreadableOutput
from checks.raid import probes as raid
from checks.trial import Step, Trial
from checks.units import show_bytes

MIB = 2**20

#: Block sizes of successive rounds: what a round left behind has another length in its headers and is never taken for the next.
BLOCKS = (MIB, MIB // 2, MIB // 4)

#: errno of a failed verify; the kernel answers a read whose protection information is wrong with the same.
EILSEQ = 84

_SLOWEST = 50 * 10**6  # bytes a second that a slow filesystem is given at least
_ACROSS = re.compile(r"unsupported header version|across versions of fio")

# Random files, their sums taken from what goes to the disk; each is durable before its line is printed.
_WRITE_SUMS = " ".join(
    (
        "dir=$1; count=$2; size=$3; i=0;",
        'while [ "$i" -lt "$count" ]; do f=$dir/sum-$i;',
        'sum=$(head -c "$size" /dev/urandom | tee -- "$f" | sha256sum) && sync -- "$f" && found=$(stat -c %s -- "$f") || exit;',
        'echo "file $i $found ${sum%% *}"; i=$((i + 1)); done',
    )
)
_READ_SUMS = " ".join(
    (
        "dir=$1; count=$2; i=0;",
        'while [ "$i" -lt "$count" ]; do f=$dir/sum-$i;',
        'sum=$(sha256sum <"$f") && found=$(stat -c %s -- "$f") || exit;',
        'echo "file $i $found ${sum%% *}"; i=$((i + 1)); done',
    )
)
_SUM = re.compile(r"file (\d{1,6}) (\d{1,15}) ([0-9a-f]{64})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Place:
    """A mount on one host."""

    host: str
    path: str
    filesystem: str

    @property
    def folder(self) -> str:
        """Where loads put their files."""
        return f"{self.path.rstrip('/')}/{FOLDER}"


@dataclass(frozen=True, slots=True)
class Checked:
    """One round: bytes written and verified, and what came back wrong (empty: nothing). ``given``: bytes of the device.

    ``anew`` is what came of letting the volume go in between, None where that was not to be.
    """

    writer: str
    reader: str
    written: int
    verified: int
    wrong: str
    given: int
    anew: Anew | None = None

    @property
    def brief(self) -> Phrase:
        """In a few words, for whoever watches."""
        size = show_bytes(self.verified)
        return say("{wrong}", wrong=self.wrong) if self.wrong else say("{size} as it was written", size=size)


def by_blocks(writer: Place, reader: Place, size: int, count: int, anew: Probe[Anew] | None = None) -> Trial[Checked]:
    """Write a file of ``size`` bytes on one host and verify every block on the other (or the same, caches dropped).

    With ``anew`` the reader lets its volume go in between and takes it again.
    """
    between = ((Step("anew", reader.host, anew, must=taken),),) if anew is not None else ()

    def stages(number: int) -> tuple[tuple[Step, ...], ...]:
        block = BLOCKS[(number - 1) % len(BLOCKS)]
        return (
            *_looks(writer, reader),
            (Step("version written", writer.host, version()), *_version_of_reader(writer, reader)),
            (Step("write", writer.host, _fio(writer, size, block, writing=True)),),
            *between,
            (
                Step("drop", reader.host, proof.dropped()),
                Step("given before", reader.host, proof.given(reader.filesystem)),
            ),
            (Step("verify", reader.host, _fio(reader, size, block, writing=False)),),
            (Step("given after", reader.host, proof.given(reader.filesystem)),),
        )

    return Trial(
        id=f"integrity.{'anew' if anew else 'blocks'}:{writer.host}:{writer.path}:{reader.host}",
        title=_title(writer, reader, anew is not None),
        prepare=_prepared(writer, size),
        stages=stages(1),
        varied=stages,
        clean=(Step("remove", writer.host, removed(writer.folder)),),
        read=partial(_blocks, writer=writer, reader=reader, size=size),
        errors_decide=True,
        rounds=count,
        decisive=damaged,
        seconds=2 * size / 10**9 + 5.0,
        live=rates(writer.host, writer.path, writer.filesystem),
    )  # fmt: skip


def damaged(found: Checked) -> bool:
    """Whether something came back otherwise than it was written: no further round makes that good."""
    return bool(found.wrong)


def _title(writer: Place, reader: Place, anew: bool) -> Phrase:
    if anew:
        return say("blocks verified after {path} of {reader} was connected anew", path=reader.path, reader=reader.host)
    values = {"writer": writer.host, "reader": reader.host, "path": writer.path}
    return say("blocks written on {writer} and verified on {reader}, {path}", **values)


def by_sums(writer: Place, reader: Place, files: int, size: int, count: int) -> Trial[Checked]:
    """Write ``files`` random files of ``size`` bytes on one host and compare their SHA-256 on the other."""
    limit = 120.0 + files * size / _SLOWEST
    write = Probe(
        "sums-written",
        ("sh", "-c", _WRITE_SUMS, "sh", writer.folder, str(files), str(size)),
        _sums,
        limit,
        level=Level.LOAD,
    )
    again = Probe(
        "sums-read", ("sh", "-c", _READ_SUMS, "sh", reader.folder, str(files)), _sums, limit, level=Level.LOAD
    )
    return Trial(
        id=f"integrity.sums:{writer.host}:{writer.path}:{reader.host}",
        title=say("files written on {writer} and summed on {reader}, {path}", writer=writer.host, reader=reader.host, path=writer.path),
        prepare=_prepared(writer, files * size),
        stages=(
            *_looks(writer, reader),
            (Step("write", writer.host, write),),
            (
                Step("drop", reader.host, proof.dropped()),
                Step("given before", reader.host, proof.given(reader.filesystem)),
            ),
            (Step("verify", reader.host, again),),
            (Step("given after", reader.host, proof.given(reader.filesystem)),),
        ),
        clean=(Step("remove", writer.host, removed(writer.folder)),),
        read=partial(_files, writer=writer, reader=reader, files=files, size=size),
        errors_decide=True,
        rounds=count,
        decisive=damaged,
        seconds=files * size / (3 * 10**8) + 5.0,
        live=rates(writer.host, writer.path, writer.filesystem),
    )  # fmt: skip


def _prepared(writer: Place, size: int) -> tuple[tuple[Step, ...], ...]:
    stands = rounds.stands(writer.path, writer.filesystem)
    return (
        (
            Step("mounts first", writer.host, raid.mounts(), must=stands),
            Step("space", writer.host, raid.space(writer.path), must=room(writer.path, size)),
        ),
        (Step("folder", writer.host, made(writer.folder)),),
    )


def _looks(writer: Place, reader: Place) -> tuple[tuple[Step, ...], ...]:
    """Look at the mounts of both: a load on a lost mount would test the disk below."""
    found = [Step("mounts", reader.host, raid.mounts(), must=rounds.stands(reader.path, reader.filesystem))]
    if writer.host != reader.host:
        found.append(
            Step("mounts there", writer.host, raid.mounts(), must=rounds.stands(writer.path, writer.filesystem))
        )
    return (tuple(found),)


def _version_of_reader(writer: Place, reader: Place) -> tuple[Step, ...]:
    return (Step("version verified", reader.host, version()),) if reader.host != writer.host else ()


def _fio(place: Place, size: int, block: int, *, writing: bool) -> Probe[FioRun]:
    way = ("--rw=write", "--do_verify=0", "--end_fsync=1", "--refill_buffers=1") if writing else (
        "--rw=read", "--verify_fatal=1", "--allow_file_create=0"
    )  # fmt: skip
    argv = (
        "fio", "--name=integrity", f"--filename={place.folder}/integrity", f"--size={size}", f"--bs={block}", "--iodepth=16",
        "--ioengine=libaio", "--direct=1", "--verify=crc32c", "--verify_state_save=0", *way, "--output-format=json",
    )  # fmt: skip
    # A failed verify ends with 1 and says where: that is an answer.
    accepted = frozenset({0}) if writing else frozenset({0, 1})
    limit = 120.0 + size / _SLOWEST
    return Probe(
        f"fio-integrity-{'write' if writing else 'verify'}", argv, fio.parse, limit, accepted, Streams.BOTH, Level.LOAD
    )


def verified(run: FioRun, size: int) -> tuple[int, str]:
    """Bytes that fio verified, and what was wrong with them (empty: nothing).

    Raises UnreadableOutput where it says nothing about the data: other versions, a signal, another error.
    """
    if across := next((note for note in run.notes if _ACROSS.search(note)), None):
        raise UnreadableOutput(f"written and verified by different versions of fio: {across[:100]}")
    if run.interrupted:
        raise UnreadableOutput("fio was ended by a signal")
    errors = {job.error or job.first_error or 0 for job in run.jobs}
    moved = sum(one.io_bytes for job in run.jobs for one in job.directions if one.name == "read")
    if errors & io_errors.ERRNOS.keys():
        said = next((note for note in run.notes if re.search(r"verify failed|bad magic|bad header|verify:", note)), "")
        what = "a failed verify" if EILSEQ in errors else "an input/output error"
        return moved, f"{what}: {said[:160]}" if said else what
    if other := sorted(errors - {0}):
        raise UnreadableOutput(f"fio ended with error {other[0]}")
    if any(job.total_errors for job in run.jobs):
        raise UnreadableOutput("fio counts errors and does not say which")
    if moved != size:
        raise UnreadableOutput(f"fio verified {moved:,} of {size:,} bytes")
    if dict((*run.options, *run.jobs[0].options)).get("verify") != "crc32c":
        raise UnreadableOutput("fio did not run with verify=crc32c: nothing was verified")
    return moved, ""


def written(run: FioRun, size: int) -> int:
    """Bytes that fio wrote. Raises UnreadableOutput unless it wrote all of them without an error."""
    if run.interrupted or any(job.error or job.total_errors for job in run.jobs):
        raise UnreadableOutput("fio could not write: " + (run.notes[0][:120] if run.notes else "it reports an error"))
    moved = sum(one.io_bytes for job in run.jobs for one in job.directions if one.name == "write")
    if moved != size:
        raise UnreadableOutput(f"fio wrote {moved:,} of {size:,} bytes")
    return moved


def _blocks(facts: Mapping[str, Any], writer: Place, reader: Place, size: int) -> Checked:
    versions = {facts[name] for name in ("version written", "version verified") if name in facts}
    if len(versions) > 1:
        raise UnreadableOutput(f"written and verified by different versions of fio: {', '.join(sorted(versions))}")
    put = written(facts["write"], size)
    got, wrong = verified(facts["verify"], size)
    came = 0 if wrong else proof.came(facts, facts["mounts"], reader.path, got)
    return Checked(writer.host, reader.host, put, got, wrong, came, facts.get("anew"))


def _files(facts: Mapping[str, Any], writer: Place, reader: Place, files: int, size: int) -> Checked:
    put, got = facts["write"], facts["verify"]
    for side in (put, got):
        if sorted(side) != list(range(files)):
            raise UnreadableOutput(f"{len(side)} files were summed, wanted {files}")
    if short := [number for number, (found, _) in put.items() if found != size]:
        raise UnreadableOutput(f"file {short[0]} was written with {put[short[0]][0]:,} of {size:,} bytes")
    other = [f"file {number}" for number in put if put[number] != got[number]]
    total = sum(found for found, _ in got.values())
    came = 0 if other else proof.came(facts, facts["mounts"], reader.path, total)
    wrong = f"other contents than written: {', '.join(other)}" if other else ""
    return Checked(writer.host, reader.host, files * size, total, wrong, came)


def _sums(text: str) -> dict[int, tuple[int, str]]:
    found: dict[int, tuple[int, str]] = {}
    for line in lines(text):
        match = _SUM.fullmatch(line)
        if match is None or int(match[1]) in found:
            raise UnreadableOutput(f"found {line[:80]!r}, wanted 'file NUMBER BYTES SHA-256', each file once")
        found[int(match[1])] = (int(match[2]), match[3])
    return found
