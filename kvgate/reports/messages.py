"""The reader's language: message catalogues (gettext) for everything a person reads. English is the source text."""

from __future__ import annotations

import gettext
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from checks.phrase import Phrase, say
from kvgate.errors import NotAllowed
from kvgate.reports.units import UNITS
from kvgate.reports.words import WORDS

if TYPE_CHECKING:  # a help text needs no acceptance document
    from checks.acceptance import Text

LANGUAGES = ("en", "zh")
_LOCALE = Path(__file__).parent / "locale"
_CATALOGUE = {"en": "en", "zh": "zh_CN"}


def language(wanted: str | None = None, environment: Mapping[str, str] = os.environ) -> str:
    """``--lang``, else KVGATE_LANG, else the locale: ``en`` or ``zh``."""
    for value in (wanted, *(environment.get(name) for name in ("KVGATE_LANG", "LC_ALL", "LC_MESSAGES", "LANG"))):
        if value:
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"


def refuse_unknown(environment: Mapping[str, str] = os.environ) -> None:
    """Raise NotAllowed for a KVGATE_LANG that is no language of kvgate's: somebody asked for it, and would be answered in another."""
    value = environment.get("KVGATE_LANG", "")
    if value and not value.lower().startswith(LANGUAGES):
        raise NotAllowed(
            say("found KVGATE_LANG={value}, wanted one of {known}", value=value, known=", ".join(LANGUAGES))
        )


def speak(lang: str) -> None:
    """Let libraries that ask gettext themselves (click) find our catalogue in that language."""
    gettext.bindtextdomain("kvgate", str(_LOCALE))
    gettext.textdomain("kvgate")
    os.environ["LANGUAGE"] = _CATALOGUE[lang]


@cache
def _catalogue(lang: str) -> gettext.NullTranslations:
    return gettext.translation("kvgate", _LOCALE, [_CATALOGUE[lang]], fallback=True)


class Reader:
    """Translates for one language. Call it with a literal English text and its values."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self._gettext = _catalogue(lang).gettext
        self._ngettext = _catalogue(lang).ngettext

    def __call__(self, template: str, /, **values: str | int | float | bool | Phrase) -> str:
        """Translate a literal template and fill it."""
        return Phrase(template, tuple(values.items())).render(self._gettext)

    def ngettext(self, one: str, many: str, count: int, /, **values: str | int | float | bool | Phrase) -> str:
        """Translate a literal template in the number that ``count`` asks for; ``{count}`` stands for it."""
        pairs = (("count", count), *values.items())
        return Phrase(one if count == 1 else many, pairs).render(lambda _: self._ngettext(one, many, count))

    def phrase(self, phrase: Phrase | None) -> str:
        """Translate a phrase that a verdict carries."""
        return "" if phrase is None else phrase.render(self._gettext)

    def word(self, word: str) -> str:
        """Translate a word of the acceptance document or the ledger; one that no list has stays as it is."""
        known = WORDS.get(word) or UNITS.get(word)
        return self.phrase(known) if known is not None else word

    def text(self, text: Text) -> str:
        """Return the sentence of the acceptance document in this language."""
        return text.zh if self.lang == "zh" else text.en
