"""The form of every signed statement (in-toto Statement v1): its words, its type, and a reading that takes nothing unknown."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictStr, ValidationError

from checks.phrase import Phrase, say
from kvgate.certificates.envelope import Envelope
from kvgate.errors import Unproven

Model = TypeVar("Model", bound=BaseModel)

STATEMENT = "https://in-toto.io/Statement/v1"


def _of_the_calendar(text: str) -> str:
    datetime.fromisoformat(text)  # month 13 looks like a time, too
    return text


Hex = Annotated[StrictStr, Field(pattern=r"^[0-9a-f]{64}$")]
Time = Annotated[
    StrictStr,
    Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$"),
    AfterValidator(_of_the_calendar),
]
Day = Annotated[StrictStr, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"), AfterValidator(_of_the_calendar)]
Text = Annotated[StrictStr, Field(max_length=4000)]
Word = Annotated[StrictStr, Field(min_length=1, max_length=512)]
Gate = Annotated[StrictStr, Field(pattern=r"^G[1-4]$")]


class Part(BaseModel):
    """A part of a statement: what it does not know, it does not take."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Sha256(Part):
    """A digest as in-toto writes it."""

    sha256: Hex


class Resource(Part):
    """What a statement is about, or stands on: a name and a digest."""

    name: Word
    digest: Sha256


def predicate_of(envelope: Envelope, wanted: str) -> Mapping[str, object]:
    """Return a statement without its two type fields. Raises Unproven when either names another type."""
    found = envelope.statement()
    kind, predicate = found.pop("_type", None), found.pop("predicateType", None)
    if kind != STATEMENT:
        raise Unproven(say("found a document of type {kind:.80}, wanted {what!r}", kind=repr(kind), what=STATEMENT))
    if predicate != wanted:
        raise Unproven(
            say(
                "found predicate type {predicate:.80}, wanted {wanted!r}: this version knows no other",
                predicate=repr(predicate),
                wanted=wanted,
            )
        )
    return found


def typed(envelope: Envelope, wanted: str, model: type[Model], what: Phrase) -> Model:
    """Read a statement's predicate strictly. Raises Unproven: another type, an unknown, absent or mistyped field.

    ``what`` is how such a document is called.
    """
    found = predicate_of(envelope, wanted)
    try:
        return model.model_validate(found.get("predicate"))
    except ValidationError as error:
        raise mistyped(error, what) from None


def mistyped(error: ValidationError, what: Phrase) -> Unproven:
    """Say in our own words the first thing that does not fit the form of a statement, and how many there are."""
    first = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "predicate"
    match first["type"]:
        case "missing":
            told = say("{what} does not say its {place:.120}", what=what, place=place)
        case "extra_forbidden":
            told = say("{what} says {place:.120}, which this version does not know", what=what, place=place)
        case _:
            found = repr(first["input"])
            told = say(
                "{what} says {found:.120} as its {place:.120}: not of that kind", what=what, found=found, place=place
            )
    return Unproven(say("{first} ({count} such)", first=told, count=error.error_count()))
