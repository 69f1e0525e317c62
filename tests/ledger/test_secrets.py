"""A ledger's password stands nowhere but in the connection: not in words, not in commands, not in units."""

from __future__ import annotations

import pytest
from sqlalchemy import make_url

from kvgate.ledger.engine import bare, secret, shown

PLAIN = "postgresql+psycopg://ops@db.example:5433/kvgate?sslmode=require"


@pytest.mark.parametrize(
    "url, words",
    [
        ("postgresql://ops:s3cret@db/kvgate", "postgresql://ops:***@db/kvgate"),
        ("postgresql://ops:@db/kvgate", "postgresql://ops:***@db/kvgate"),
        ("postgresql://db/kvgate?user=ops&password=s3cret", "postgresql://db/kvgate?user=ops"),
        ("postgresql://db/kvgate?password=s3cret&password=s3cret2", "postgresql://db/kvgate"),
        ("postgresql://ops@db/kvgate?sslpassword=s3cret&sslmode=require", "postgresql://ops@db/kvgate?sslmode=require"),
        ("postgresql://ops:s3cret@db/kvgate?password=s3cret&sslpassword=s3cret", "postgresql://ops:***@db/kvgate"),
        ("postgresql://ops:p%40ss%2Fs3cret@db/kvgate", "postgresql://ops:***@db/kvgate"),
    ],
)
def test_a_url_with_a_password_is_known_and_shown_without(url: str, words: str) -> None:
    parsed = make_url(url)
    assert secret(parsed)
    assert shown(parsed) == words
    assert not secret(bare(parsed))
    assert "s3cret" not in bare(parsed).render_as_string(hide_password=False)
    assert parsed == make_url(url)


@pytest.mark.parametrize("url", [PLAIN, "sqlite:///var/kvgate.db", "postgresql:///kvgate?service=kvgate"])
def test_a_url_without_a_password_is_shown_as_it_is(url: str) -> None:
    parsed = make_url(url)
    assert not secret(parsed)
    assert shown(parsed) == bare(parsed).render_as_string() == url
    assert bare(parsed) == parsed
