"""The form in which scripts for serving hosts answer: named sections, each with the exit status of what printed it.

``== STATUS NAME`` begins a section, its lines follow behind ``| ``, ``== end`` ends the answer: no tool's output can look like the
beginning of the next section, and an answer that was cut short is seen to be.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.probe import UnreadableOutput

#: Shell functions that print sections: ``show NAME WORD...`` runs the words, standard error included.
SHOW = (
    """told() { echo "== $2 $1"; printf '%s\\n' "$3" | sed 's/^/| /'; }; """
    """show() { name=$1; shift; out=$("$@" 2>&1); told "$name" "$?" "$out"; }; """
)

_HEAD = re.compile(r"== (\d{1,3}) (.+)")


@dataclass(frozen=True, slots=True)
class Section:
    """What one tool printed, and its exit status."""

    status: int
    text: str

    @property
    def good(self) -> bool:
        """Whether the tool ended well and said something."""
        return self.status == 0 and bool(self.text.strip())


def parse(text: str) -> dict[str, Section]:
    """Read all sections. Raises UnreadableOutput for an answer in another form, cut short, or with a name twice."""
    rows = text.splitlines()
    if not rows or rows[-1] != "== end":
        raise UnreadableOutput(f"the answer is cut short: it ends {text[-60:]!r}")
    found: dict[str, Section] = {}
    name, status, kept = "", 0, list[str]()
    for row in [*rows[:-1], "== 0 end"]:
        head = _HEAD.fullmatch(row)
        if head is None:
            if not row.startswith("|") or not name:
                raise UnreadableOutput(f"found {row[:80]!r}, wanted '== STATUS NAME' or a line behind '| '")
            kept.append(row[2:])
            continue
        if name:
            if name in found:
                raise UnreadableOutput(f"section {name[:80]!r} stands twice")
            found[name] = Section(status, "".join(f"{line}\n" for line in kept))
        name, status, kept = head[2], int(head[1]), []
    return found
