"""The run of G3 that lies beside the runbooks. ``python -m tests.e2e.example /srv/kvgate-example`` makes it again on the embedded rack."""

from __future__ import annotations

import json
import lzma
import sys
import tarfile
from pathlib import Path

from tests.e2e.site import ROOT, Site, properties, served

FOLDER = ROOT / "runbooks" / "example-g3"
PACKED = FOLDER / "run.tar.xz"
REPORT = {language: FOLDER / f"report.{language}.txt" for language in ("en", "zh")}


def unpacked(into: Path) -> Path:
    """The evidence of the run, in a folder named as the run is."""
    with lzma.open(PACKED) as stream, tarfile.open(fileobj=stream) as packed:
        packed.extractall(into, filter="data")
    (found,) = into.iterdir()
    return found


def came_of(report: Path) -> list[dict[str, str]]:
    """What came of every clause, of the JUnit report of ``kvgate judge``, as it stands in expected.json."""
    told = ("clause", "subject", "outcome", "measured", "required")
    return [{name: row.get(name, "") for name in told} for row in properties(report)]


def _pack(evidence: Path) -> None:
    """The same bytes for the same evidence: no times and no owners but those within it."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = 0, 0, 0, "", ""
        return entry

    with lzma.open(PACKED, "wb", preset=9) as stream, tarfile.open(fileobj=stream, mode="w") as packed:
        packed.add(evidence, evidence.name, filter=plain)


def _passed(site: Site, gate: str) -> str:
    ended = site.call(site.command("--allow-load", gate=gate), limit=1200)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    run, document = str(site.last()["run"]), str(site.folder / f"{gate}.json")
    for party, words in (("vendor", ("certify", run, "-o", document)), ("customer", ("cosign", document, "--yes"))):
        done = site.kvgate(*words, *site.by(party))
        assert done.returncode == 0, done.stderr
    return run


def make(folder: Path) -> None:
    """Pass G1 to G3 at one concurrency, on two nodes, and keep the last one's evidence with what is told of it."""
    FOLDER.mkdir(exist_ok=True)
    with served(folder, nodes=2) as site:
        site.change("concurrencies: [8, 16, 32]", "concurrencies: [8]")
        site.trust()
        run = [_passed(site, gate) for gate in ("G1", "G2", "G3")][-1]
        _pack(site.evidence / run)
    write(site)


def write(site: Site) -> None:
    """Write what is told of the evidence that is packed."""
    run, report = str(unpacked(site.folder / "again")), site.folder / "report.xml"
    told = site.kvgate("judge", run, "--junitxml", str(report))
    assert told.returncode == 0, told.stderr
    rows = came_of(report)
    (FOLDER / "expected.json").write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", "utf-8")
    for language, path in REPORT.items():
        shown = site.kvgate("report", run, "--lang", language)
        assert shown.returncode == 0, shown.stderr
        path.write_text(shown.stdout, "utf-8")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
