"""A run's evidence written anew with something else in it, whole in itself: as an older build would have left it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kvgate.codec import canonical
from kvgate.evidence.blobs import Blobs
from kvgate.evidence.journal import RESERVED, Journal
from kvgate.evidence.packing import pack, unpack

Change = Callable[[dict[str, Any]], None]


def remade(
    source: Path,
    target: Path,
    *,
    start: Change | None = None,
    acceptance: Change | None = None,
    modules: Change | None = None,
    verdicts: Callable[[list[Any]], None] | None = None,
    line: Change | None = None,
) -> Path:
    """``start`` changes fields of the first line, ``acceptance`` and ``modules`` the documents in it, ``verdicts`` the stored
    rows (clause, subject, blocking, verdict, ...), ``line`` every other line.
    """
    shutil.copytree(source / "blobs", target / "blobs")
    blobs = Blobs(target / "blobs")
    records = [json.loads(raw) for raw in (source / "journal.jsonl").read_text("utf-8").splitlines()]
    first = unpack(records[0], blobs)
    assert isinstance(first, dict)
    run = first.pop("run")
    for name, change in (("acceptance", acceptance), ("modules", modules)):
        if change is not None:
            document = json.loads(first[name])
            change(document)
            first[name] = json.dumps(document)
    if start is not None:
        start(first)
    contents: list[bytes] = []
    journal = Journal.create(target / "journal.jsonl", run, _without(pack(_without(first), contents)))
    for record in records[1:]:
        fields = _without(record)
        if record["kind"] == "verdicts" and verdicts is not None:
            rows = json.loads(blobs.read(fields["rows"]["$blob"], fields["rows"]["size"]))["verdicts"]
            verdicts(rows)
            fields["rows"] = pack(canonical({"verdicts": rows}).encode(), contents)
        elif line is not None:
            line(fields)
        journal.append([(record["kind"], fields)])
    blobs.keep(contents)
    journal.sync()
    journal.close()
    return target


def _without(fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in RESERVED}
