"""What came of each test on the virtual rack, kept as it goes: a page to read, and lines by which a stopped run goes on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Part:
    """One test: its outcome as pytest names it, the seconds it took, and what it said."""

    name: str
    outcome: str
    seconds: float
    said: tuple[str, ...]


@dataclass(frozen=True)
class Report:
    """``parts.jsonl`` and ``report.md`` in a folder."""

    folder: Path

    @property
    def _lines(self) -> Path:
        return self.folder / "parts.jsonl"

    def begin(self) -> None:
        """Forget what an earlier run left."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lines.unlink(missing_ok=True)
        self._write()

    def add(self, part: Part) -> None:
        """Keep one more; what was said of it before is replaced."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._lines.open("a", encoding="utf-8") as file:  # on a line of its own, also after one that was cut short
            file.write("\n" + json.dumps(asdict(part), ensure_ascii=False) + "\n")
        self._write()

    def parts(self) -> Sequence[Part]:
        """The last word on each test, in the order they were first run. A line that was cut short by a lost power is left out."""
        found: dict[str, Part] = {}
        try:
            lines = self._lines.read_text("utf-8").splitlines()
        except OSError:
            return ()
        for line in lines:
            try:
                told = json.loads(line)
                part = Part(told["name"], told["outcome"], told["seconds"], tuple(told["said"]))
            except (ValueError, KeyError, TypeError):
                continue
            found[part.name] = part
        return tuple(found.values())

    def passed(self) -> frozenset[str]:
        """Tests that need not be run again."""
        return frozenset(one.name for one in self.parts() if one.outcome == "passed")

    def _write(self) -> None:
        rows = [
            f"| {one.name} | {one.outcome} | {one.seconds:.0f} s | {'; '.join(one.said)} |".replace("\n", " ")
            for one in self.parts()
        ]
        head = ["# The virtual rack, tested", "", "| test | outcome | took | said |", "|---|---|---|---|"]
        (self.folder / "report.md").write_text("\n".join([*head, *rows]) + "\n", "utf-8")
