"""The sheet says what was signed, in both languages, and never looks more final than the certificate is."""

from __future__ import annotations

import re
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kvgate.certificates import envelope
from kvgate.certificates.examine import Asked, examine
from kvgate.reports.messages import Reader
from kvgate.reports.sheet import sheet as printed
from kvgate.reports.still import picture
from tests.certificates.conftest import Desk
from tests.soak.example import soaks


def sheet(desk: Desk, lang: str = "en", **env: str) -> str:
    shown = desk.kvgate("--lang", lang, "sheet", desk.certificate, **env)
    assert shown.exit_code == 0, shown.output
    return Path(shown.stdout.strip()).read_text("utf-8")


def test_it_says_what_was_signed_in_both_languages(final: Desk) -> None:
    digest = envelope.load(final.certificate).digest
    english, chinese = sheet(final), sheet(final, "zh")
    for page in (english, chinese):
        assert f"sha256:{digest}" in page
        assert final.runs[-1] in page
        assert final.vendor.signer.public.fingerprint in page.replace("&#43;", "+")
        assert "<svg" in page
        assert not re.search(r"(src|href)=", page.replace("http://www.w3.org/2000/svg", ""))
    assert "SIMULATED" in english
    assert "模拟" in chinese
    assert "G1 到货验收证书" in chinese
    assert "Attempts before this one" in english
    assert "DRAFT" not in english


def test_the_warning_stands_as_large_as_the_decision(final: Desk) -> None:
    page = sheet(final)
    sizes = re.findall(r"\.(decision|decision-size) \{ font-size: (\d+)pt", page)
    assert [name for name, _ in sizes] == ["decision", "decision-size"]
    assert int(sizes[1][1]) >= int(sizes[0][1])
    assert '<b class="decision-size">SIMULATED</b>' in page


def test_a_simulated_soak_is_said_to_have_no_real_hours(final: Desk) -> None:
    def soak(statement: dict[str, Any]) -> None:
        statement["predicate"]["gate"] = "G4"
        statement["predicate"]["previous"] = {"gate": "G3", "document": "a" * 64}

    final.forge(soak)
    found = examine(final.certificate.read_bytes(), Asked(datetime.now(UTC), None, draft=True, simulated=True))
    assert found.certificate is not None
    assert '<b class="decision-size">SIMULATED, NO REAL HOURS</b>' in printed(found, "x.json", Reader("en"))
    assert '<b class="decision-size">SIMULATED' not in printed(found, "x.json", Reader("zh"))


def test_a_draft_and_an_unknown_signature_are_called_so(final: Desk) -> None:
    assert "NOT VERIFIED" in sheet(final, KVGATE_TRUST="")
    final.forge(lambda _: None, "vendor")
    assert "DRAFT: not signed by customer. It opens nothing." in sheet(final)
    (final.folder / "allowed_signers").write_text(final.customer.line("customer"))
    assert "REFUSED: signature 1 was made by no key" in sheet(final)


def test_a_stop_shows_what_stopped_it(stopped: Desk) -> None:
    stopped.certify(stopped.runs[0])
    page = sheet(stopped, "zh")
    assert '<div class="decision STOP">STOP</div>' in page
    assert "未通过项" in page
    assert "G1.2.9" in page


def test_nothing_that_was_signed_becomes_part_of_the_page(final: Desk) -> None:
    def change(statement: dict[str, Any]) -> None:
        statement["predicate"]["operator"] = "<script>alert(1)</script>"

    final.forge(change)
    assert "<script>" not in sheet(final)


def test_what_is_no_certificate_is_not_printed(final: Desk) -> None:
    final.certificate.write_text("{}")
    shown = final.kvgate("sheet", final.certificate)
    assert (shown.exit_code, shown.stdout) == (4, "")


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no chromium to print with")
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_it_is_one_sheet_however_much_there_is_to_say(stopped: Desk, lang: str) -> None:
    stopped.certify(stopped.runs[0])

    def fill(statement: dict[str, Any]) -> None:
        found = statement["predicate"]
        first = found["clauses"][0]
        many = [{**first, "subject": f"node-{n:02d}:S7Y0NX0W100002", "outcome": "STOP", "measured": "m " * 300, "required": "r" * 600}
                for n in range(40)]  # fmt: skip
        found["clauses"] += many
        before = {"campaign": found["campaign"], "run": "r" * 30, "outcome": "STOP", "state": "decided", "started": found["started"],
                  "ended": found["finished"], "ticket": "0" * 64, "decision": "1" * 64}  # fmt: skip
        found["attempts"] = [{**before, "run": f"r{n}", "attempt": n} for n in range(1, 30)]
        found["attempt"] = 30
        found["overlaid"] = [
            {"clause": "G1.2.9", "what": "w" * 40, "before": "b" * 80, "after": "a" * 80, "origin": "contract"}
        ] * 20

    stopped.forge(fill, "vendor")
    (stopped.folder / "page.html").write_text(sheet(stopped, lang), "utf-8")
    words = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--print-to-pdf={stopped.folder}/page.pdf"]
    subprocess.run([*words, f"file://{stopped.folder}/page.html"], capture_output=True, check=True, timeout=100)
    pdf = (stopped.folder / "page.pdf").read_bytes()
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == 1


def test_a_soak_is_drawn_on_a_page_of_its_own_and_no_other_evidence_is(final: Desk) -> None:
    words = ("sheet", final.certificate, "--evidence")
    assert final.kvgate(*words, final.folder / "var/evidence").exit_code == 0
    plain = sheet(final)
    assert '<section class="picture">' not in plain  # G1 has no soak
    found = examine(final.certificate.read_bytes(), Asked(datetime.now(UTC), None))
    drawn = printed(found, "G4.json", Reader("en"), picture(soaks(), Reader("en")))
    assert '<section class="picture">' in drawn
    assert "the picture itself was not signed" in drawn
    assert drawn.count("<svg") == plain.count("<svg") + 1
    journal = final.folder / "var/evidence" / final.runs[-1] / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-50])
    refused = final.kvgate(*words, final.folder / "var/evidence")
    assert refused.exit_code == 4
    assert "is not the evidence that was sealed" in refused.stderr
