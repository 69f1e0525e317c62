"""Which accelerators these are: one identity a card, read from the answer that says what a card is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import ParseError, fromstring

from checks.accelerator.probes import PLATFORMS
from checks.lexing import NOT_GIVEN
from checks.outline import card_records, count, part, word
from checks.parsers import npu_smi
from checks.probe import NotOffered, Probe, UnreadableOutput

Serials = tuple[str, ...]


def _rocm(text: str) -> Serials:
    every = [record for _, record in card_records(text)]
    # Further partitions of a card are listed as cards of their own, with the serial of the first.
    cards = [one for one in every if not count(part(one, "partition", "partition_id"), "partition.partition_id")]
    return _all([word(part(record, "asic", "asic_serial"), "asic.asic_serial") for record in cards], "ASIC serial")


def _ascend(text: str) -> Serials:
    reports = npu_smi.parse(text).reports
    return _all([dict(report.entries).get("Serial Number") for report in reports], "Serial Number")


def _nvidia(text: str) -> Serials:
    try:
        cards = fromstring(text).findall("gpu")
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise UnreadableOutput(f"no XML of nvidia-smi: {error}") from None
    # GeForce-like cards carry no serial; every card has a UUID that stays with it.
    return _all([_given(card.findtext("uuid")) or _given(card.findtext("serial")) for card in cards], "UUID or serial")


def _given(value: str | None) -> str | None:
    return None if value is None or value.strip() in NOT_GIVEN else value.strip()


def _all(found: Sequence[str | None], what: str) -> Serials:
    """Every card's identity, sorted. Raises UnreadableOutput where one is missing or stands twice: a part is no whole."""
    told = [value for value in found if value is not None and value.strip() not in NOT_GIVEN]
    if not found:
        raise UnreadableOutput("no card in the output")
    if len(told) != len(found):
        raise NotOffered(f"{len(found) - len(told)} of {len(found)} cards show no {what}")
    if len(set(told)) != len(told):
        raise UnreadableOutput(f"two cards show the same {what}")
    return tuple(sorted(told))


_READ: Mapping[str, Callable[[str], Serials]] = {"rocm": _rocm, "ascend": _ascend, "nvidia": _nvidia}


def serials(platform: str) -> Probe[Serials]:
    """The question that G1 asks anyway about what its cards are, read for who they are. Raises KeyError."""
    cards = PLATFORMS[platform]
    question = (cards.firmware if platform == "ascend" else cards.identity).probes[0]
    return Probe(question.id, question.argv, _READ[platform], question.limit, question.accepted, question.streams)
