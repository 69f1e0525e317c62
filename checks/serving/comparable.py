"""Two arms may differ in nothing but where the KV cache lies: what was read back from both is compared, setting by setting.

Settings are what is in force (effective arguments, environment, versions, digests, kernel), never what was asked for. A
difference that nobody declared makes the pair invalid: the clause is UNDECIDED and shows both sides.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from checks.phrase import Phrase, joined, say
from checks.verdict import Verdict

#: Stands for an arm's own store path and device in its settings, so that only other differences show.
STORE = "{store}"

#: What must have been read back before two arms can be called alike; the group before the dot is the inventory's word.
REQUIRED = (
    "engine.version", "engine.arguments", "store.version", "store.backend", "store.configuration", "model.name",
    "model.digest", "kv.dtype", "kv.chunk", "kv.hash_seed", "host.kernel", "host.driver", "accelerator.runtime",
)  # fmt: skip

#: Differences that a remark names, and characters of a value in it.
_SHOWN, _LONG = 8, 120


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm as it ran. ``store_path`` and ``store_device`` are the two things that may differ.

    ``settings`` None: the setting could not be read back. ``restarted``: the engine was restarted between populating and
    measuring. ``engine``, ``store`` and ``backend`` are the inventory's words: vllm, lmcache, fs.
    """

    name: str
    store_path: str
    store_device: str
    engine: str
    store: str
    backend: str
    restarted: bool
    settings: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Difference:
    """One setting that is not the same, or was not told, on both sides."""

    setting: str
    local: str | None
    array: str | None


def differences(local: Arm, array: Arm, declared: Collection[str] = ()) -> tuple[Difference, ...]:
    """Return every setting that differs or is missing, but those ``declared``; each arm's own store path stands for itself."""
    mine, theirs = _own(local), _own(array)
    names = sorted({*mine, *theirs, *REQUIRED} - set(declared))
    return tuple(
        Difference(name, mine.get(name), theirs.get(name))
        for name in names
        if mine.get(name) is None or mine.get(name) != theirs.get(name)
    )


def side_by_side(local: Arm, array: Arm) -> tuple[Difference, ...]:
    """Every setting of both arms, equal ones too, as they are compared."""
    mine, theirs = _own(local), _own(array)
    return tuple(Difference(name, mine.get(name), theirs.get(name)) for name in sorted({*mine, *theirs, *REQUIRED}))


def _own(arm: Arm) -> dict[str, str | None]:
    words = {word.rstrip("/") for word in (arm.store_path, arm.store_device) if word.rstrip("/")}
    found: dict[str, str | None] = {}
    for name, value in arm.settings.items():
        text = value
        for word in sorted(words, key=len, reverse=True):
            text = None if text is None else _replaced(text, word)
        found[name] = text
    return found


def _replaced(text: str, word: str) -> str:
    """``word`` as a whole path, not the beginning of another: /mnt/a in /mnt/a/kv, not in /mnt/ab."""
    parts = text.split(word)
    joined_text = parts[0]
    for part in parts[1:]:
        follows = part[:1]
        whole = not (follows.isalnum() or follows in ("-", "_", "."))
        joined_text += (STORE if whole else word) + part
    return joined_text


def backends_fit(local: Arm, array: Arm) -> tuple[Phrase, ...]:
    """Reasons why these two backends cannot be compared by a restart-cold experiment at all."""
    found = []
    if (local.engine, local.store, local.backend) != (array.engine, array.store, array.backend):
        found.append(
            say(
                "{local} on the local arm, {array} on the array arm: both arms must use the same engine, store and backend",
                local=f"{local.engine}/{local.store}/{local.backend}",
                array=f"{array.engine}/{array.store}/{array.backend}",
            )
        )
    for arm in (local, array):
        if arm.store == "lmcache" and arm.backend == "local_disk" and arm.restarted:
            found.append(
                say(
                    "LMCache local_disk forgets its index: after the restart the {arm} arm computes anew; use fs:// on both",
                    arm=arm.name,
                )
            )
    if local.restarted != array.restarted:
        found.append(say("only one arm was restarted between populating and measuring"))
    if local.store_path.rstrip("/") == array.store_path.rstrip("/"):
        found.append(say("both arms keep their files under {path}", path=local.store_path))
    if local.store_device == array.store_device:
        found.append(say("both arms keep their files on {device}", device=local.store_device))
    return tuple(found)


def comparable(local: Arm, array: Arm, declared: Collection[str] = ()) -> Verdict:
    """The arms differ in nothing but the store's place; else UNDECIDED with both sides of every difference."""
    required = say("both arms alike but for where the KV cache lies")
    reasons = list(backends_fit(local, array))
    found = differences(local, array, declared)
    for one in found[:_SHOWN]:
        mine, theirs = beside(one)
        reasons.append(say("{setting}: local {local}, array {array}", setting=one.setting, local=mine, array=theirs))
    if len(found) > _SHOWN:
        reasons.append(say("and {count} more settings", count=len(found) - _SHOWN))
    if reasons:
        return Verdict.undecided(joined(reasons), required)
    count = len(set(local.settings) - set(declared))
    return Verdict.of(True, say("{count} settings read back are the same on both arms", count=count), required)


def beside(one: Difference) -> tuple[Phrase | str, Phrase | str]:
    """Both sides as people read them; of long ones what lies around the first place where they differ."""
    mine, theirs = one.local, one.array
    start = 0
    if mine is not None and theirs is not None and max(len(mine), len(theirs)) > _LONG:
        unlike = (place for place, both in enumerate(zip(mine, theirs, strict=False)) if both[0] != both[1])
        same = next(unlike, min(len(mine), len(theirs)))
        start = max(0, mine.rfind(" ", 0, max(0, same - _LONG // 4)) + 1)
    return _told(mine, start), _told(theirs, start)


def _told(value: str | None, start: int) -> Phrase | str:
    if value is None:
        return say("not told")
    text = f"...{value[start:]}" if start else value
    return text if len(text) <= _LONG else f"{text[: _LONG - 3]}..."
