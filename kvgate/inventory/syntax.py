"""What a YAML parser complains of, in words that a person can act on: what stands there, and what was wanted instead."""

from __future__ import annotations

from ruamel.yaml.error import MarkedYAMLError, StringMark

from checks.phrase import Phrase, say

_CLOSING = {"[": "]", "{": "}"}


def complaint(error: MarkedYAMLError, text: str) -> tuple[int, int, Phrase, Phrase]:
    """Line and column from 1 (0, 0 where unknown), what was found and what was wanted."""
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark is not None else (0, 0)
    found, wanted = _words(error, text, mark)
    return line, column, found, wanted


def _words(error: MarkedYAMLError, text: str, mark: StringMark | None) -> tuple[Phrase, Phrase]:
    problem, context = str(error.problem or ""), str(error.context or "")
    begun = error.context_mark.line + 1 if error.context_mark is not None else 0
    if "quoted scalar" in context and begun:
        return say("the end of the text within the quote of line {line}", line=begun), say("the closing quote")
    if "flow" in context and (opened := _open(text, mark)) is not None:
        sign, line = opened
        if "<stream end>" in problem:
            found = say("the end of the file, and the {sign} of line {line} is still open", sign=sign, line=line)
        else:
            found = say("what cannot stand within the {sign} of line {line}", sign=sign, line=line)
        return found, say("a comma or the closing {sign}", sign=_CLOSING[sign])
    if "'\\t'" in problem:
        return say("a tab"), say("spaces: YAML is indented by spaces alone")
    if "could not find expected ':'" in problem:
        return say("a line without a colon (line {line})", line=begun), say("a key, a colon and a space: `key: value`")
    if "mapping values are not allowed" in problem:
        return (
            say("a colon where no key can be"),
            say("one `key: value` a line, indented as its neighbours; a text that holds a colon in quotes"),
        )
    if "<block end>" in problem:
        return (
            say("a line that is not indented as those that it belongs to"),
            say("the indentation of the block of line {line}", line=begun),
        )
    if "cannot start any token" in problem:
        return say("a text that begins with a sign of YAML"), say("the text in quotes")
    why = " ".join((problem or context or "no reason given").split())
    return say("what cannot be read as YAML 1.2: {why}", why=why), say("YAML 1.2")


def _open(text: str, mark: StringMark | None) -> tuple[str, int] | None:
    """Innermost bracket that is open at a place, and its line; quotes and comments are passed over."""
    held: list[tuple[str, int]] = []
    line, quote, before = 1, "", "\n"
    for sign in text[: mark.index if mark is not None else len(text)]:
        if sign == "\n":
            line += 1
        if quote == "#":
            quote = "" if sign == "\n" else quote
        elif quote:
            quote = "" if sign == quote else quote
        elif (sign in "'\"" and before in " \n[{,:") or (sign == "#" and before in " \n"):
            quote = sign
        elif sign in _CLOSING and (held or before in " \n"):
            held.append((sign, line))
        elif held and sign == _CLOSING[held[-1][0]]:
            held.pop()
        before = sign
    return held[-1] if held else None
