"""What looks like a secret in a document that evidence must keep word for word is refused at its place, and is not repeated."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvgate import agreement as agreements
from kvgate.errors import BadInput
from kvgate.inventory import reader
from kvgate.mask import Masker
from tests.evidence.test_mask import HARMLESS, SECRETS
from tests.inventory.test_agreement import DOCUMENT
from tests.inventory.test_reader import written


@pytest.mark.parametrize("text, secret", SECRETS)
def test_a_comment_of_an_inventory_is_refused_for_it(tmp_path: Path, text: str, secret: str) -> None:
    comment = "".join(f"# {line}\n" for line in ["this rack, 机架", *text.splitlines()])
    file = tmp_path / "rack.yaml"
    file.write_text(comment + written(), "utf-8")
    if Masker().mask_text(comment)[1] == 0:  # a key whose lines each begin with another sign is none any more
        assert reader.read(file)
        return
    with pytest.raises(BadInput) as caught:
        reader.read(file)
    assert all(one.where == "text" and 2 <= one.line <= comment.count("\n") for one in caught.value.faults)
    assert "can never be certified" in str(caught.value)
    assert secret not in str(caught.value)


def test_line_and_column_are_those_of_the_secret(tmp_path: Path) -> None:
    file = tmp_path / "rack.yaml"
    file.write_text("# 一\n# ask 李 for the token: abcdef\n" + written(), "utf-8")
    with pytest.raises(BadInput) as caught:
        reader.read(file)
    (fault,) = caught.value.faults
    assert (fault.line, fault.column) == (2, len("# ask 李 for the token: ") + 1)


def test_an_overlay_is_refused_for_it(tmp_path: Path) -> None:
    (tmp_path / "acceptance.yaml").write_text(DOCUMENT, "utf-8")
    (tmp_path / "overlay.yaml").write_text(
        "# password: hunter2\noverlay:\n  G1.2.7: {limits: {media_errors: 2}}\n", "utf-8"
    )
    with pytest.raises(BadInput, match=r"overlay.yaml:1:13: .*what looks like a secret"):
        agreements.read(tmp_path / "overlay.yaml", tmp_path / "acceptance.yaml")


def test_what_a_run_was_begun_with_is_read_all_the_same() -> None:
    assert reader.stored("# password: hunter2\n" + written(), "stored").rack


@pytest.mark.parametrize("text", [*HARMLESS, *(text for text, _ in SECRETS), ""])
def test_places_are_found_exactly_where_masking_changes_something(text: str) -> None:
    places = Masker().places(text)
    assert bool(places) is bool(Masker().mask_text(text)[1])
    assert all(1 <= column <= len(text.splitlines()[line - 1]) + 1 for line, column in places)
