"""Where loads put their files: a folder of their own on a mount that has room for them; made, and removed again."""

from __future__ import annotations

from collections.abc import Callable

from checks.parsers.df import Space
from checks.phrase import Phrase, say
from checks.probe import AnsweredWithError, Level, Probe
from checks.units import show_bytes

#: Folder below a mount that loads make and remove; nothing else is ever removed.
FOLDER = ".kvgate-load"

#: Space that stays free beside the file, as a share of it.
_SPARE = 0.1


def room(path: str, size: int) -> Callable[[tuple[Space, ...]], Phrase | None]:
    """Return what looks at the space of a mount and says why ``size`` bytes do not fit, or None.

    It raises AnsweredWithError for a filesystem that answers with an error: that one is dead.
    """

    def must(found: tuple[Space, ...]) -> Phrase | None:
        here = next((one for one in found if one.target == path), None)
        if here is not None and here.error is not None:
            raise AnsweredWithError(f"df: {path}: {here.error}")
        if here is None or here.available is None:
            return say("the free space of {path} is not known", path=path)
        wanted = int(size * (1 + _SPARE))
        if here.available < wanted:
            free = show_bytes(here.available)
            return say("{path} has {free} free, wanted {wanted}", path=path, free=free, wanted=show_bytes(wanted))
        return None

    return must


def made(folder: str) -> Probe[str]:
    """Make the folder of a load; one that is there already stays as it is."""
    return Probe("load-folder", ("mkdir", "-p", "-m", "700", "--", folder), _nothing, level=Level.LOAD)


def removed(folder: str) -> Probe[str]:
    """Remove the folder of a load. Raises ValueError for any other folder."""
    if not folder.endswith(f"/{FOLDER}"):
        raise ValueError(f"found {folder!r}, wanted a folder named {FOLDER}: nothing else is removed")
    return Probe("load-removed", ("rm", "-rf", "--one-file-system", "--", folder), _nothing, 300.0, level=Level.LOAD)


def _nothing(text: str) -> str:
    return text
