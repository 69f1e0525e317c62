"""A run goes by one inventory and one agreement from its first to its last verdict, and says by which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

PLUGIN = ("-p", "kvgate.pytest_plugin")  # known early, wherever pytest takes its root to be


@pytest.fixture
def interrupted(serve: Callable[..., Any]) -> Any:
    """A run that came to UNDECIDED, because one tool was missing."""
    with serve("host-dmidecode-missing") as site:
        first = site.gate(*PLUGIN)
        assert first.returncode == 6, first.stdout + first.stderr
        yield site


def test_a_run_is_not_gone_on_with_by_another_inventory(interrupted: Any) -> None:
    text = interrupted.inventory.read_text("utf-8")
    assert "ctrl_loss: 600" in text
    interrupted.inventory.write_text(text.replace("ctrl_loss: 600", "ctrl_loss: 60"), "utf-8")
    again = interrupted.gate(*PLUGIN, "--only-stale")
    assert again.returncode == 4, again.stdout + again.stderr
    assert "another inventory" in again.stdout + again.stderr


def test_a_run_is_not_gone_on_with_by_a_declaration_that_came_later(interrupted: Any) -> None:
    late = '  - {clause: G1.1.9, subject: "*", value: "2.3.7", conforms: true, by: someone, on: 2026-11-28}\n'
    with interrupted.inventory.open("a", encoding="utf-8") as stream:
        stream.write(late)
    assert interrupted.gate(*PLUGIN, "--only-stale").returncode == 4
