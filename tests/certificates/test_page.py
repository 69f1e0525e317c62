"""runbooks/certificates.md names every field of a certificate and every check of verify."""

from __future__ import annotations

import re

from kvgate.certificates.decision import GateDecision
from kvgate.reports.certificates import TITLES
from tests.certificates.conftest import ROOT

PAGE = (ROOT / "runbooks" / "certificates.md").read_text("utf-8")


def _firsts(title: str) -> set[str]:
    """Words in code of the first column of the table in a section."""
    section = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    return {word for row in rows for word in re.findall(r"`(\w+)`", row)}


def test_every_field_is_explained() -> None:
    assert _firsts("What is in it") == {"subject", *GateDecision.model_fields}


def test_every_check_is_explained() -> None:
    assert _firsts("What verify checks") == set(TITLES)
