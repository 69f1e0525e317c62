"""``amd-smi bad-pages [--json]``: memory pages that a card has retired, will retire, or could not retire.

Each group is ``No bad pages found.``, N/A (``None``: not told), one page, or a list of pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checks.lexing import NOT_GIVEN
from checks.outline import card_records, word
from checks.probe import UnreadableOutput

#: The command this file reads, as ``kvgate parse COMMAND`` names it.
COMMAND = "amd-smi-bad-pages"
_NONE = "No bad pages found."


@dataclass(frozen=True, slots=True)
class BadPages:
    """Addresses of the pages of one card, as printed; ``None`` where the tool does not tell."""

    gpu: int
    retired: tuple[str, ...] | None
    pending: tuple[str, ...] | None
    unreservable: tuple[str, ...] | None


def parse(text: str) -> tuple[BadPages, ...]:
    """Read all cards; a group that is absent is refused, for absent is not none."""
    return tuple(
        BadPages(gpu, _pages(record, "retired"), _pages(record, "pending"), _pages(record, "un_res"))
        for gpu, record in card_records(text)
    )


def _pages(record: dict[str, Any], group: str) -> tuple[str, ...] | None:
    if group not in record:
        raise UnreadableOutput(f"no group {group!r} among {sorted(record)[:8]}")
    value = record[group]
    if isinstance(value, str):
        if value.strip() == _NONE:
            return ()
        if value.strip() in NOT_GIVEN and value.strip():
            return None
        raise UnreadableOutput(f"{group} is {value[:40]!r}, wanted pages or {_NONE!r}")
    pages = value if isinstance(value, list) else [value]
    if not all(isinstance(page, dict) for page in pages):
        raise UnreadableOutput(f"{group} is {str(value)[:60]!r}, wanted pages")
    addresses = [word(page.get("page_address"), f"{group}.page_address") for page in pages]
    if None in addresses:
        raise UnreadableOutput(f"a page of {group} has no page_address")
    return tuple(address for address in addresses if address is not None)
