"""Whoever follows the README meets each step before the one that needs it."""

from __future__ import annotations

import re
from pathlib import Path

TEXT = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
STEPS = TEXT.split("## On your own rack")[1].split("\n\n")[1].splitlines()


def first(words: str) -> int:
    return next(place for place, step in enumerate(STEPS) if words in step)


def test_steps_stand_in_the_order_in_which_they_work() -> None:
    """No environment, no kvgate; no key, no inventory that is taken; no signed and certified G1, no G2."""
    wanted = [
        "make setup", "ssh-keygen -t ed25519 -f ", "kvgate inventory draft", "kvgate inventory check", "kvgate doctor", "--plan",
        "pytest -m G1 --inventory inventories/rack-a.yaml --key", "kvgate certify RUN", "pytest -m G2",
    ]  # fmt: skip
    assert [first(words) for words in wanted] == sorted(first(words) for words in wanted)


def test_every_gate_that_starts_only_signed_is_started_signed_and_with_a_key_that_was_made() -> None:
    gates = [step for step in TEXT.splitlines() if re.search(r"pytest -m G[234] --inventory", step)]
    assert len(gates) >= 2
    assert [step for step in gates if "--key" not in step or "--party" not in step] == []
    made = re.findall(r"ssh-keygen -t ed25519 -f (\S+)", TEXT)
    used = {key for step in STEPS for key in re.findall(r"--key (~\S+)", step)}
    assert used
    assert used <= set(made)
