"""Versions that stand in the names of the readable samples; ``python -m tests.parsers.seen`` writes checks/seen.py from them."""

from __future__ import annotations

from pathlib import Path

from tests.parsers.samples import samples

FILE = Path(__file__).parents[2] / "checks" / "seen.py"
#: First words of sample names that name a form of output, not a version.
_FORMS = {
    "any",
    "error",
    "text",
    "settings",
    "sysfs",
    "netlink",
    "json",
    "v",
    "vvv",
    "old",
    "linux",
    "table",
    "inbox",
    "bare",
}


def versions() -> dict[str, list[str]]:
    """Command -> versions of which a real or made output is read by the tests, in the order of their numbers."""
    found: dict[str, set[str]] = {}
    for sample in samples():
        words = found.setdefault(sample.command, set())
        first = sample.path.stem.split("--")[0].split("-")[0]
        if sample.readable and first not in _FORMS:
            words.add(first)
    return {command: sorted(words, key=_number) for command, words in sorted(found.items())}


def _number(word: str) -> tuple[str, list[tuple[int, str]]]:
    letters = word.rstrip("0123456789.x")
    return letters, [(int(part) if part.isdigit() else 0, part) for part in word[len(letters) :].split(".")]


def text() -> str:
    """Return the module as it must stand."""
    lines: list[str] = []
    for command, words in versions().items():
        entry = f'"{command}": "{" ".join(words)}",'
        if lines and len(lines[-1]) + len(entry) < 110:
            lines[-1] += f" {entry}"
        else:
            lines.append(f"    {entry}")
    return "\n".join(
        [
            '"""Versions of each tool whose output the tests read; made by ``python -m tests.parsers.seen``."""',
            "",
            "from __future__ import annotations",
            "",
            "#: Command -> versions, kernels or drivers, in one text. Another version is read too, or refused with its reason.",
            "SEEN = {",
            *lines,
            "}  # fmt: skip",
            "",
        ]
    )


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")
