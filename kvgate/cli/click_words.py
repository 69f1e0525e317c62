"""What click itself says, so that it stands in our message catalogue: click asks gettext, and finds it there."""

from __future__ import annotations

from gettext import NullTranslations

from checks.phrase import say

_several = NullTranslations()

WORDS = (
    say("Usage:"), say("Options"), say("Commands"), say("Positional arguments"), say("Show this message and exit."),
    say("Show the version and exit."), say("Error: {message}"), say("Try '{command} {option}' for help."),
    say("Invalid value: {message}"), say("Invalid value for {param_hint}: {message}"), say("Missing argument"),
    say("Missing option"), say("Missing command."), say("No such option {name!r}."), say("No such command {name!r}."),
    say("{value!r} is not a valid {number_type}."), say("{value} is not in the range {range}."), say("file"), say("path"),
    say("directory"), say("{name} {filename!r} does not exist."), say("{name} {filename!r} is a file."),
    say("{name} {filename!r} is a directory."), say("{name} {filename!r} is not readable."), say("default: {default}"),
    say("env var: {var}"), say("Option {name!r} does not take a value."), say("Choose from:\n\t{choices}"), say("required"),
)  # fmt: skip

#: The same, in the two numbers of English.
IN_NUMBERS = (
    _several.ngettext("Did you mean {possibility}?", "(Did you mean one of: {possibilities}?)", 1),
    _several.ngettext("Option {name!r} requires an argument.", "Option {name!r} requires {nargs} arguments.", 1),
    _several.ngettext("Got unexpected extra argument ({args})", "Got unexpected extra arguments ({args})", 1),
    _several.ngettext("{value!r} is not {choice}.", "{value!r} is not one of {choices}.", 1),
)
