"""The acceptance document is read strictly; an overlay may change numbers of the same kind, and every change is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvgate import agreement as agreements
from kvgate.errors import BadInput, Fault
from kvgate.inventory import reader
from tests.inventory.test_reader import written

DOCUMENT = """
acceptance: 1
clauses:
  G1.2.7:
    check: nvme.smart.media_errors
    subject: disk
    weight: blocking
    text: {en: "No media errors.", zh: "无介质错误。"}
    remedy: {en: "Replace the disk.", zh: "更换磁盘。"}
    limits:
      media_errors: {value: 0, unit: errors, origin: engineering default}
"""


def read(tmp_path: Path, overlay: str | None = None, document: str = DOCUMENT) -> agreements.Agreement:
    (tmp_path / "acceptance.yaml").write_text(document, "utf-8")
    if overlay is not None:
        (tmp_path / "overlay.yaml").write_text(overlay, "utf-8")
    return agreements.read(tmp_path / "overlay.yaml" if overlay is not None else None, tmp_path / "acceptance.yaml")


def test_the_shipped_document_is_good() -> None:
    found = agreements.read()
    assert found.acceptance.gate("G1")


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("value: 0", "value: ", "value"),
        ("origin: engineering default", "origin: rumour", "contract"),
        ("unit: errors, ", "", "unit"),
        ("weight: blocking", "weight: heavy", "blocking"),
        ("subject: disk", "subject: cupboard", "disk"),
        ("    weight: blocking\n", "    weight: blocking\n    wieght: advisory\n", "weight"),
        ("G1.2.7", "G9.2.7", "G<gate>"),
        (', zh: "无介质错误。"', "", "zh"),
    ],
)
def test_a_wrong_document_is_refused(tmp_path: Path, old: str, new: str, word: str) -> None:
    assert old in DOCUMENT
    with pytest.raises(BadInput) as caught:
        read(tmp_path, document=DOCUMENT.replace(old, new))
    assert word in str(caught.value)


def test_an_overlaid_number_is_named_with_before_and_after(tmp_path: Path) -> None:
    overlay = "overlay: {G1.2.7: {limits: {media_errors: {value: 2, unit: errors, origin: contract}}}}\n"
    found = read(tmp_path, overlay)
    assert found.acceptance.clauses["G1.2.7"].limits["media_errors"].value == 2
    assert [(c.clause, c.what, c.before, c.after, c.origin) for c in found.overlaid] == [
        ("G1.2.7", "media_errors", "0 errors", "2 errors", "contract")
    ]
    assert found.digest != read(tmp_path).digest


@pytest.mark.parametrize(
    "overlay",
    [
        "overlay: {G1.9.9: {weight: advisory}}\n",
        "overlay: {G1.2.7: {limits: {mistakes: {value: 2, unit: errors, origin: contract}}}}\n",
        "overlay: {G1.2.7: {limits: {media_errors: {value: 2, unit: percent, origin: contract}}}}\n",
        'overlay: {G1.2.7: {limits: {media_errors: {value: "2", unit: errors, origin: contract}}}}\n',
        "overlay: {G1.2.7: {text: {en: x, zh: y}}}\n",
        "overlay: 3\n",
    ],
)
def test_an_overlay_that_does_not_fit_is_refused(tmp_path: Path, overlay: str) -> None:
    with pytest.raises(BadInput):
        read(tmp_path, overlay)


WRONG = """overlay:
  G1.2.9:
    limits:
      media_errors: {value: -5, unit: parsecs, origin: contract}
  G1.99.1: {weight: advisory}
  G1.1.1: {weight: maybe}
"""


def test_an_overlay_is_told_all_its_faults_at_once_those_of_form_and_those_of_meaning(tmp_path: Path) -> None:
    """A wrong word in one clause hid a wrong number in another."""
    (tmp_path / "overlay.yaml").write_text(WRONG, "utf-8")
    with pytest.raises(BadInput) as caught:
        agreements.read(tmp_path / "overlay.yaml")
    told = [(fault.line, fault.column, fault.where, str(fault.found)) for fault in caught.value.faults]
    assert told == [
        (4, 29, "overlay.G1.2.9.limits.media_errors.value", "-5"),
        (4, 39, "overlay.G1.2.9.limits.media_errors.unit", "'parsecs'"),
        (5, 3, "overlay.G1.99.1", "'G1.99.1'"),
        (6, 20, "overlay.G1.1.1.weight", "'maybe'"),
    ]


@pytest.mark.parametrize(
    ("limit", "places"),
    [
        ("value: 2, unit: percent, origin: rumour", ["origin", "unit"]),
        ('value: "2", unit: errors, origin: contract, why: x', ["value", "why"]),
        ("value: -1, unit: errors", ["origin", "value"]),
        ("value: , unit: errors, origin: contract", ["value"]),
        ("value: 0, unit: errors, origin: contract", []),
    ],
)
def test_each_part_of_a_number_is_judged_by_itself(tmp_path: Path, limit: str, places: list[str]) -> None:
    found: tuple[Fault, ...] = ()
    try:
        read(tmp_path, f"overlay: {{G1.2.7: {{limits: {{media_errors: {{{limit}}}}}}}}}\n")
    except BadInput as error:
        found = error.faults
    told = sorted({fault.where.removeprefix("overlay.G1.2.7.limits.media_errors").strip(".") for fault in found})
    assert all(fault.line == 1 and fault.column for fault in found)
    # a key that is missing is told at the whole number, whose place has no name of its own here
    assert [place or "origin" for place in told] == places


@pytest.mark.parametrize(
    ("unit", "value", "good"),
    [
        ("°C", -5, True),
        ("dB above low alarm", -0.5, True),
        ("errors", 0, True),
        ("h", -1, False),
        ("%", -0.1, False),
    ],
)
def test_below_zero_is_refused_only_where_nothing_can_be_below_zero(
    tmp_path: Path, unit: str, value: float, good: bool
) -> None:
    document = DOCUMENT.replace("unit: errors", f'unit: "{unit}"')
    overlay = (
        f'overlay: {{G1.2.7: {{limits: {{media_errors: {{value: {value}, unit: "{unit}", origin: contract}}}}}}}}\n'
    )
    if good:
        assert read(tmp_path, overlay, document).acceptance.clauses["G1.2.7"].limits["media_errors"].value == value
        return
    with pytest.raises(BadInput) as caught:
        read(tmp_path, overlay, document)
    (fault,) = caught.value.faults
    assert "0 or more" in str(fault.wanted)


def test_the_digest_ignores_comments_and_layout(tmp_path: Path) -> None:
    first = read(tmp_path).digest
    assert read(tmp_path, document="# hello\n" + DOCUMENT).digest == first


def test_a_stored_agreement_reads_back_to_the_same_digest(tmp_path: Path) -> None:
    found = read(tmp_path)
    assert agreements.stored(found.canonical()).digest == found.digest


def test_a_declaration_for_an_unknown_clause_or_subject_is_refused() -> None:
    strange = '{clause: G1.77.1, subject: nobody, value: x, conforms: true, by: "A", on: 2026-10-05}'
    text = written().replace("declared:\n", f"declared:\n  - {strange}\n")
    rack = reader.parse(text).rack
    with pytest.raises(BadInput) as caught:
        agreements.what_is_owed(agreements.read(), rack, "x.yaml", "G1")
    assert [str(fault.found).split()[0] for fault in caught.value.faults] == ["clause", "subject"]


def _declared(*entries: str) -> BadInput:
    text = written().replace("declared:\n", "declared:\n" + "".join(f"  - {{{entry}}}\n" for entry in entries))
    with pytest.raises(BadInput) as caught:
        agreements.what_is_owed(agreements.read(), reader.parse(text).rack, "x.yaml", "G1")
    return caught.value


def test_a_declaration_on_a_subject_of_another_kind_is_refused() -> None:
    """It would be passed over in silence: the switch is a matter of the rack, not of a node."""
    error = _declared('clause: G1.4.20, subject: node-01, value: x, conforms: true, by: "A", on: 2026-10-05')
    assert [str(fault.found) for fault in error.faults] == ["subject 'node-01'"]
    assert "rack" in str(error.faults[0].wanted)


def test_two_declarations_that_contradict_each_other_are_refused() -> None:
    """The first would win, and the other person's no would never be seen."""
    yes = 'clause: G1.1.9, subject: "*", value: x, conforms: true, by: "A", on: 2026-10-05'
    no = 'clause: G1.1.9, subject: node-01, value: y, conforms: false, by: "B", on: 2026-10-05'
    error = _declared(yes, no)
    assert len(error.faults) == 1
    assert "G1.1.9 on node-01" in str(error.faults[0].found)


WEAKER = "overlay: {G1.2.7: {weight: advisory, limits: {media_errors: {value: 2, unit: errors, origin: contract}}}}\n"


def test_a_clause_that_no_longer_keeps_the_gate_shut_is_named(tmp_path: Path) -> None:
    found = read(tmp_path, WEAKER)
    assert ("G1.2.7", "weight", "blocking", "advisory") in [
        (c.clause, c.what, c.before, c.after) for c in found.overlaid
    ]


def test_a_stored_agreement_still_names_what_was_overlaid(tmp_path: Path) -> None:
    """Else a run judged again, or by another version, hides by what it was decided."""
    found = read(tmp_path, WEAKER)
    standard = read(tmp_path).acceptance
    assert agreements.stored(found.canonical(), standard).overlaid == found.overlaid
    assert len(found.overlaid) == 2


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("origin: engineering default", "origin: contract", "media_errors"),
        ('en: "No media errors."', 'en: "Few media errors."', "text"),
        ("subject: disk", "subject: disk\n    where: {role: [array]}", "where"),
        ("subject: disk", "subject: host", "subject"),
        ("media_errors", "errors_of_the_medium", "errors_of_the_medium"),
        ("G1.2.7", "G1.2.8", "clause"),
    ],
)
def test_whatever_differs_between_two_agreements_is_named(tmp_path: Path, old: str, new: str, what: str) -> None:
    before, after = read(tmp_path).acceptance, read(tmp_path, document=DOCUMENT.replace(old, new)).acceptance
    assert what in [change.what for change in agreements.differences(before, after)]
    assert agreements.differences(before, before) == ()


@pytest.mark.parametrize(
    ("clause", "limit", "value", "wanted"),
    [
        ("G2.6.1", "sure", "0.95", "more than 50 and less than 100 percent"),
        ("G2.6.1", "sure", "100", "more than 50 and less than 100 percent"),
        ("G2.6.1", "sure", "90", ""), ("G2.6.1", "sure", "0", ""),
        ("G2.6.1", "rounds", "0", "a whole number, at least 1"), ("G2.6.1", "rounds", "2.5", "a whole number, at least 1"),
        ("G2.6.1", "one_void_in", "0.5", "a whole number, at least 1"), ("G2.6.1", "most_rounds", "12", ""),
        ("G2.1.4", "depth", "0", "a whole number, at least 1"), ("G2.6.1", "requests", "0", ""),
    ],
)  # fmt: skip
def test_numbers_that_nothing_could_be_measured_or_shown_with_are_refused_where_they_are_agreed(
    tmp_path: Path, clause: str, limit: str, value: str, wanted: str
) -> None:
    unit = agreements.read().acceptance.clauses[clause].limits[limit].unit
    overlay = tmp_path / "overlay.yaml"
    overlay.write_text(
        f"overlay: {{{clause}: {{limits: {{{limit}: {{value: {value}, unit: '{unit}', origin: contract}}}}}}}}\n"
    )
    if not wanted:
        assert agreements.read(overlay).acceptance.clauses[clause].limits[limit].value == float(value)
        return
    with pytest.raises(BadInput) as caught:
        agreements.read(overlay)
    assert wanted in str(caught.value)
    assert f"limits.{limit}.value: found {value}" in str(caught.value)
