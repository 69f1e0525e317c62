"""Sizes, rates and times are read with their units; a number alone, or bits for bytes, is refused."""

from __future__ import annotations

import pytest

from checks import units


@pytest.mark.parametrize(
    ("text", "size"),
    [("3.84 TB", 3_840_000_000_000), ("512 KiB", 524288), ("512KiB", 524288), ("1 B", 1), ("15.36 TB", 15_360_000_000_000),
     ("1 kB", 1000), ("1.5 GiB", 1610612736), (" 64 GB ", 64_000_000_000), ("0 B", 0)],
)  # fmt: skip
def test_sizes(text: str, size: int) -> None:
    assert units.parse_bytes(text) == size


@pytest.mark.parametrize(
    "text",
    [
        "",
        "3.84",
        "TB",
        "3,84 TB",
        "-1 GB",
        "1 Tb",
        "1 Gb",
        "1 GB/s",
        "0.5 B",
        "1e3 GB",
        "1 XB",
        "nan GB",
        "1 GB GB",
        "\u0661 GB",
    ],
)
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(units.UnitError, match="found"):
        units.parse_bytes(text)


@pytest.mark.parametrize("value", [None, 3.84, 7, b"1 GB", True])
def test_a_size_is_text(value: object) -> None:
    with pytest.raises(units.UnitError):
        units.parse_bytes(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "rate"), [("100 Gb/s", 10**11), ("2.5 Gb/s", 2_500_000_000), ("100 Mb/s", 10**8), ("1 kb/s", 1000)]
)
def test_rates_are_bits(text: str, rate: int) -> None:
    assert units.parse_rate(text) == rate


@pytest.mark.parametrize(
    "text", ["", "100", "100 GB/s", "100 Gb", "100 Gbps", "100 gb", "-1 Gb/s", "100 MB/s", "100 GiB/s"]
)
def test_what_is_no_rate(text: str) -> None:
    with pytest.raises(units.UnitError, match="found"):
        units.parse_rate(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("15 s", 15.0), ("30 ms", 0.03), ("250 us", 0.00025), ("250 µs", 0.00025), ("2 min", 120.0), ("72 h", 259200.0)],
)
def test_times(text: str, seconds: float) -> None:
    assert units.parse_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "15", "s", "15 d", "-1 s", "15 S/s", "1:00 h"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(units.UnitError, match="found"):
        units.parse_seconds(text)


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (3_840_755_982_336, "3.841 TB"), (15_362_481_455_104, "15.36 TB")],
)
def test_sizes_are_shown_in_decimal_prefixes(size: int, text: str) -> None:
    assert units.show_bytes(size) == text


@pytest.mark.parametrize(
    ("bits", "text"),
    [(0, "0 b/s"), (10**11, "100 Gb/s"), (98_020_000_000, "98.02 Gb/s"), (2.5e9, "2.5 Gb/s"), (999, "999 b/s")],
)
def test_rates_are_shown_with_four_digits(bits: float, text: str) -> None:
    assert units.show_rate(bits) == text


@pytest.mark.parametrize("size", [0, 1, 999, 1000, 1_000_000, 3_840_000_000_000])
def test_what_is_shown_is_read_back(size: int) -> None:
    assert units.parse_bytes(units.show_bytes(size)) == size
