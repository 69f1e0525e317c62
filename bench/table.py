"""Medians of samples, and the Markdown table of them with ratios to plain ``ssh``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from bench.sample import Sample

README = Path(__file__).with_name("README.md")
_HEAD = "| hosts | way | wall s | ÷ ssh | client CPU s | ÷ ssh | ms a host | server CPU s | peak MB | over imports | foreign | n |"


def rows(samples: Sequence[Sample]) -> list[str]:
    """One row for each number of hosts and way, fastest first; ratios to ``ssh`` of the same number of hosts."""
    lines = [_HEAD, "|" + "---|" * (_HEAD.count("|") - 1)]
    for hosts in sorted({sample.hosts for sample in samples}):
        ways = {
            way: [one for one in samples if one.way == way and one.hosts == hosts]
            for way in dict.fromkeys(one.way for one in samples if one.hosts == hosts)
        }
        good = {way: [one for one in found if not one.trouble] for way, found in ways.items()}
        floor = good.get("ssh") or []
        wall, cpu = _of(floor, "wall"), _of(floor, "cpu")
        for way in sorted(ways, key=lambda way: _of(good[way], "wall") or 1e9):
            found, bad = good[way], [one for one in ways[way] if one.trouble]
            if not found:
                lines.append(f"| {hosts} | {way} |" + " |" * 9 + f" 0: {bad[0].trouble} |")
                continue
            mine, spent = _of(found, "wall"), _of(found, "cpu")
            name = f"**{way}**" if way == "kvgate" else way
            failed = f", {len(bad)} failed" if bad else ""
            lines.append(
                f"| {hosts} | {name} | {mine:.2f} | {_ratio(mine, wall)} | {spent:.2f} | {_ratio(spent, cpu)} "
                f"| {1000 * spent / hosts:.0f} | {_of(found, 'server'):.1f} | {_of(found, 'peak') / 1e6:.0f} "
                f"| {(_of(found, 'peak') - _of(found, 'imported')) / 1e6:+.0f} | {_of(found, 'foreign'):.2f} "
                f"| {len(found)}{failed} |"
            )
    return lines


def _of(found: Sequence[Sample], name: str) -> float:
    return float(median(getattr(one, name) for one in found)) if found else 0.0


def _ratio(mine: float, floor: float) -> str:
    return f"{mine / floor:.2f}" if floor else ""


def put(mark: str, text: str, file: Path = README) -> None:
    """Replace what stands between ``<!-- mark -->`` and ``<!-- /mark -->``. Raises ValueError when the marks are missing."""
    before = file.read_text("utf-8")
    pattern = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- /{mark} -->)", re.DOTALL)
    after, count = pattern.subn(lambda found: found[1] + text.rstrip("\n") + "\n" + found[2], before)
    if count != 1:
        raise ValueError(f"{file} has {count} places named {mark}, wanted one")
    file.write_text(after, "utf-8")
