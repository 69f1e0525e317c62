"""Hosts as named on the command line."""

from __future__ import annotations

import pytest

from kvgate.draft.first_contact import Wanted, hosts
from kvgate.errors import NotAllowed


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        ("fx100-a", Wanted("fx100-a", None, "fx100-a")),
        ("array:fx100-a", Wanted("fx100-a", "array", "fx100-a")),
        ("node:10.0.0.1", Wanted("10.0.0.1", "node", "10.0.0.1")),
        ("10.0.0.1:2222", Wanted("10.0.0.1-2222", None, "10.0.0.1", 2222)),
        ("ops@n1:22", Wanted("n1-22", None, "n1", 22, "ops")),
        ("node:n1=root@10.0.0.1:2222", Wanted("n1", "node", "10.0.0.1", 2222, "root")),
        ("n1=[2001:db8::1]:22", Wanted("n1", None, "2001:db8::1", 22)),
        ("2001:db8::1", Wanted("2001-db8--1", None, "2001:db8::1")),
    ],
)
def test_a_word_names_role_name_user_address_and_port(word: str, wanted: Wanted) -> None:
    assert hosts([word]) == (wanted,)


def test_the_port_for_all_yields_to_a_host_s_own() -> None:
    assert [one.port for one in hosts(["a", "b:22"], 2222)] == [2222, 22]


@pytest.mark.parametrize(
    "words", [[""], ["array:"], ["a="], ["=a"], ["a b"], ["-x"], ["n/1=a"], ["a", "a"], ["x=a", "x=b"], ["x=a", "y=a"]]
)
def test_what_reads_otherwise_is_refused(words: list[str]) -> None:
    with pytest.raises(NotAllowed):
        hosts(words)
