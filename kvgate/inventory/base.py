"""The words that an inventory is written in: names, paths, quantities with units read to SI."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictStr, WithJsonSchema

from checks import units

Name = Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")]


def _no_blank_around(text: str) -> str:
    # A blank at an end is never seen and never equal to what a device answers; text of blanks alone says nothing.
    if text != text.strip() or not text.isprintable():
        raise ValueError(f"found {text!r}, wanted text without blanks around it and without control characters")
    return text


def _says_something(text: str) -> str:
    if not text.strip():
        raise ValueError(f"found {text!r}, wanted words")
    return text


Word = Annotated[StrictStr, Field(min_length=1, max_length=512), AfterValidator(_no_blank_around)]
Said = Annotated[StrictStr, Field(min_length=1, max_length=4096), AfterValidator(_says_something)]
Target = Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9_\[:][A-Za-z0-9_.:%\[\]-]{0,254}$")]
User = Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.@\\-]{0,63}$")]
Bdf = Annotated[StrictStr, Field(pattern=r"^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")]
Mac = Annotated[StrictStr, Field(pattern=r"^[0-9a-f]{2}(:[0-9a-f]{2}){5}$")]
Path = Annotated[StrictStr, Field(pattern=r"^/[A-Za-z0-9_./:-]*$")]
HostKey = Annotated[StrictStr, Field(pattern=r"^SHA256:[A-Za-z0-9+/]{43}$")]


def _quantity(parse: Any, example: str) -> Any:
    return Annotated[
        int,
        BeforeValidator(parse),
        WithJsonSchema({"type": "string", "description": f"number and unit, such as {example}"}),
    ]


Bytes = _quantity(units.parse_bytes, "3.84 TB")
Days = _quantity(units.parse_days, "28 d")
BitRate = _quantity(units.parse_rate, "100 Gb/s")
Operations = _quantity(units.parse_operations, "180000 IOPS")
ByteRate = _quantity(units.parse_byte_rate, "6.8 GB/s")
Seconds = Annotated[
    float,
    BeforeValidator(units.parse_seconds),
    WithJsonSchema({"type": "string", "description": "number and unit, such as 15 s"}),
]


class Strict(BaseModel):
    """Frozen; an unknown key, a missing one and another type are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
