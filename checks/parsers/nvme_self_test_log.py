"""``nvme self-test-log DEVICE -o json``: results of the disk's own tests, newest first."""

from __future__ import annotations

from dataclasses import dataclass

from checks.lexing import entry, json_document, whole
from checks.probe import UnreadableOutput

COMMAND = "nvme-self-test-log"

#: Result of an entry that was never used.
UNUSED = 15


@dataclass(frozen=True, slots=True)
class SelfTest:
    """One finished test. ``result``: 0 passed, 1-4, 8 and 9 aborted, 5-7 failed; ``code``: 1 short, 2 extended."""

    result: int
    code: int
    power_on_hours: int


@dataclass(frozen=True, slots=True)
class SelfTestLog:
    """``running`` is the code of the test in progress, 0 for none. ``results`` leave out entries never used."""

    running: int
    percent_done: int
    results: tuple[SelfTest, ...]


def parse(text: str) -> SelfTestLog:
    """Read the log; a result outside 0-9 and 15 is refused."""
    table = json_document(text)
    results = []
    for one in entry(table, "List of Valid Reports", list):
        result = whole(one, "Self test result", "report")
        if result == UNUSED:
            continue
        if result > 9:
            raise UnreadableOutput(f"self test result {result}, wanted 0 to 9 or 15")
        results.append(SelfTest(result, whole(one, "Self test code", "report"), whole(one, "Power on hours", "report")))
    return SelfTestLog(
        running=whole(table, "Current Device Self-Test Operation"),
        percent_done=whole(table, "Current Device Self-Test Completion"),
        results=tuple(results),
    )
