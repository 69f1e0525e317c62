"""The command line in the reader's language: help of commands and options, click's own words, wide characters."""

from __future__ import annotations

import copy
import difflib
import os
from collections.abc import Iterable, Sequence

import click
from rich.cells import cell_len

from checks.phrase import Phrase, plain, say
from kvgate.reports.messages import LANGUAGES, Reader, language, speak
from kvgate.reports.wrapping import broken

_SHORT = 2  # letters that stand in too many names to say which is meant


def read(text: str) -> str:
    """Mark a literal text for the message catalogue and return it; :func:`translated` says it in the reader's language."""
    return text


def near(word: str, known: Iterable[str]) -> Phrase:
    """``; near it: ...`` for a word that was probably meant to be one of those known; else nothing."""
    names = list(known)
    holding = [name for name in names if len(word) > _SHORT and word in name]
    found = (holding or difflib.get_close_matches(word, names, n=5, cutoff=0.6))[:5]
    return say("; near it: {words}", words=", ".join(found)) if found else plain("")


class Formatter(click.HelpFormatter):
    """Help in columns of cells: a Chinese character takes two, and a line may end between any two of them."""

    def write_text(self, text: str) -> None:
        """Write paragraphs, each broken to the width."""
        indent = " " * self.current_indent
        for number, paragraph in enumerate(text.split("\n\n")):
            self.write("\n" if number else "")
            for line in broken(" ".join(paragraph.split()), max(self.width - len(indent), 11)):
                self.write(f"{indent}{line}\n")

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write a name and what it says a row, the texts below one another."""
        rows = list(rows)
        first = min(max((cell_len(name) for name, _ in rows), default=0), col_max) + col_spacing
        for name, text in rows:
            self.write(f"{' ' * self.current_indent}{name}")
            room = max(self.width - first - self.current_indent, 10)
            lines = broken(text, room) if text else []
            below = " " * (first + self.current_indent)
            if lines and cell_len(name) <= first - col_spacing:
                self.write(" " * (first - cell_len(name)) + lines.pop(0))
            self.write("\n")
            for line in lines:
                self.write(f"{below}{line}\n")


class Context(click.Context):
    """A context whose help is written in cells."""

    formatter_class = Formatter


def _told(ctx: click.Context, parameter: click.Parameter, value: str | None) -> None:
    del ctx, parameter
    if value:
        os.environ["KVGATE_LANG"] = value
        speak(value)


def language_option() -> click.Option:
    """``--lang``, which every command takes."""
    text = read("language of what people read (default: KVGATE_LANG, else the locale)")
    return click.Option(
        ["--lang"], type=click.Choice(LANGUAGES), help=text, expose_value=False, is_eager=True, callback=_told
    )


def listen(words: Sequence[str]) -> None:
    """Take the language from the command line before anything is said, wherever ``--lang`` stands in it."""
    wanted: str | None = None
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if word == "--":
            break
        name, equals, value = word.partition("=")
        if name == "--lang" and (found := value if equals else following) in LANGUAGES:
            wanted = found
    if wanted:
        os.environ["KVGATE_LANG"] = wanted
    speak(wanted or language())


def translated(command: click.Command, say_: Reader) -> click.Command:
    """Return a copy of a command whose help and options are in the reader's language, with ``--lang``."""
    found = copy.copy(command)
    found.context_class = Context
    found.help = say_(command.help) if command.help else command.help
    found.params = [_parameter(one, say_) for one in [*command.params, language_option()]]
    if isinstance(found, click.Group):
        found.commands = {name: translated(one, say_) for name, one in found.commands.items()}
    return found


def _parameter(parameter: click.Parameter, say_: Reader) -> click.Parameter:
    found = copy.copy(parameter)
    if isinstance(found, click.Option) and found.help:
        found.help = say_(found.help)
        if isinstance(found.show_default, str):
            found.show_default = say_(found.show_default)
    return found
