"""Part of a gate, chosen with what pytest offers: clause ids for ``-k``, and why something owed was left out."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from checks.phrase import Phrase, say
from kvgate.errors import NotAllowed

if TYPE_CHECKING:
    import pytest

#: A clause or a section in a ``-k`` expression: G1.2.9, G1.2
_ID = re.compile(r"(?<![\w.\[/-])G[1-4](?:\.\d+){1,2}(?![\w\]/-]|\.\w)", re.IGNORECASE)


def keywords(clause: str) -> set[str]:
    """What a test of that clause can be chosen by: the clause and its section, in brackets (see :func:`exact`)."""
    return {f"[{clause}]", f"[{clause.rpartition('.')[0]}]"}


def exact(expression: str, clauses: Collection[str]) -> str:
    """Put every clause id of a ``-k`` expression into brackets, as :func:`keywords` has it.

    ``-k`` looks for a text anywhere within a name, so G1.2.1 would choose G1.2.10 too. Raises NotAllowed for an id that no
    clause has.
    """
    known = {name.lower() for clause in clauses for name in keywords(clause)}

    def bracket(found: re.Match[str]) -> str:
        name = f"[{found.group().upper()}]"
        if name.lower() not in known:
            raise NotAllowed(
                say(
                    "found -k {text}, wanted a clause or section of the acceptance document: kvgate explain lists them",
                    text=found.group(),
                )
            )
        return name

    return _ID.sub(bracket, expression)


def deselected(item: pytest.Item) -> Phrase:
    """By which option a collected test was left out."""
    option = item.config.option
    prefixes = tuple(option.deselect or ())
    if prefixes and item.nodeid.startswith(prefixes):
        return say("not asked: left out by --deselect; run the gate without it")
    if option.keyword:
        return say(
            "not asked: left out by -k {expression}; run the gate without it",
            expression=option.keyword.replace("[", "").replace("]", ""),
        )
    return say("not asked: left out by an option or plugin of pytest; run the gate without it")


def never_collected(config: pytest.Config) -> Phrase:
    """Why a test that the gate has was not even collected."""
    if config.args_source is config.ArgsSource.ARGS:
        return say(
            "not asked: only a part of the gate was named on the command line; run the whole gate: pytest -m GATE"
        )
    return say("not asked: pytest did not collect it (--ignore, --lf or a plugin); run the gate without that")
