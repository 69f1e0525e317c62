"""How values stand in a journal line: short ones as JSON, long texts and bytes as a reference to a blob."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from checks.phrase import Phrase, say
from checks.verdict import Verdict
from kvgate.codec import phrase_to_json, verdict_to_json
from kvgate.errors import Damaged
from kvgate.evidence.blobs import Blobs, digest_of

_MARK = "$blob"
_LONG = 1000  # characters; a longer text, or one of several lines, becomes a blob


def reference(data: bytes, *, text: bool = False) -> dict[str, object]:
    """Return what stands in the line instead of the bytes."""
    found: dict[str, object] = {_MARK: digest_of(data), "size": len(data)}
    return {**found, "text": True} if text else found


def pack(value: object, contents: list[bytes]) -> object:
    """Turn a value into JSON; bytes that must become blobs are added to ``contents``. Raises TypeError for other types."""
    if isinstance(value, Phrase):
        return phrase_to_json(value)
    if isinstance(value, Verdict):
        return verdict_to_json(value)
    if isinstance(value, bytes):
        contents.append(value)
        return reference(value)
    if isinstance(value, str) and (len(value) > _LONG or "\n" in value):
        data = value.encode("utf-8", "surrogatepass")
        contents.append(data)
        return reference(data, text=True)
    if isinstance(value, Mapping):
        if _MARK in value:
            raise ValueError(f"{_MARK} belongs to the store itself")
        return {str(name): pack(inner, contents) for name, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        items = sorted(value) if isinstance(value, (set, frozenset)) else value
        return [pack(inner, contents) for inner in items]
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    raise TypeError(f"found {type(value).__name__}, which no journal line can hold")


def unpack(value: object, blobs: Blobs) -> object:
    """Inverse of :func:`pack`; phrases and verdicts come back as their JSON. Raises Damaged for a blob that changed."""
    if isinstance(value, Mapping):
        if _MARK in value:
            data = blobs.read(*parts(value))
            return data.decode("utf-8", "surrogatepass") if value.get("text") is True else data
        return {name: unpack(inner, blobs) for name, inner in value.items()}
    if isinstance(value, list):
        return [unpack(inner, blobs) for inner in value]
    return value


def parts(value: object) -> tuple[str, int]:
    """Digest and size of one reference. Raises Damaged for anything else."""
    if isinstance(value, Mapping):
        digest, size = value.get(_MARK), value.get("size")
        if isinstance(digest, str) and isinstance(size, int) and not isinstance(size, bool) and size >= 0:
            return digest, size
    raise Damaged(say("found {value:.80}, wanted the reference of a blob", value=repr(value)))


def references(value: object) -> Iterator[tuple[str, int]]:
    """Every blob that a record names, nested ones too. Raises Damaged for a reference that is none."""
    if isinstance(value, Mapping):
        if _MARK in value:
            yield parts(value)
        else:
            for inner in value.values():
                yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)
