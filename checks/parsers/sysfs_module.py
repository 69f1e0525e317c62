"""``grep -Hs '' /sys/module/NAME/{initstate,version,taint} .../modules.builtin``: which driver modules run and from which tree.

A module built outside the kernel's tree carries ``O`` in ``taint``. Drivers of the kernel's own tree have no version of theirs
any more: then the file is absent and the kernel's release is the version. What is built in has no ``initstate``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import tree
from checks.probe import UnreadableOutput

COMMAND = "sysfs-module"
_FILE = re.compile(r"/sys/module/(\w{1,64})/(initstate|version|taint)", re.ASCII)
_FILE_OF = re.compile(r"kernel/[\w./+-]+\.ko", re.ASCII)
_BUILTIN = re.compile(r"/lib/modules/[\w.+~-]+/modules\.builtin", re.ASCII)


@dataclass(frozen=True, slots=True)
class Module:
    """One loaded or built-in module; ``foreign`` when it was built outside the kernel's tree."""

    name: str
    version: str | None
    foreign: bool
    live: bool


@dataclass(frozen=True, slots=True)
class DriverModules:
    """The modules asked for that are there, and the kernel's release (``/proc/sys/kernel/osrelease``)."""

    kernel: str
    modules: tuple[Module, ...]


def parse(text: str) -> DriverModules:
    """Read the files, or refuse an unknown path or a half-read module."""
    found = tree(text)
    kernel = found.pop("/proc/sys/kernel/osrelease", None)
    if not kernel or "\n" in kernel:
        raise UnreadableOutput("no line of /proc/sys/kernel/osrelease")
    files: dict[str, dict[str, str]] = {}
    builtin: set[str] = set()
    for path, value in found.items():
        if _BUILTIN.fullmatch(path):
            if odd := [word for word in value.split("\n") if _FILE_OF.fullmatch(word) is None]:
                raise UnreadableOutput(f"found {odd[0][:80]!r}, wanted a module file")
            builtin |= {word.rsplit("/", 1)[-1].removesuffix(".ko").replace("-", "_") for word in value.split("\n")}
        elif (file := _FILE.fullmatch(path)) is not None:
            files.setdefault(file[1], {})[file[2]] = value
        else:
            raise UnreadableOutput(f"found {path[:80]!r}, wanted a file of a module")
    modules = []
    for name, parts in files.items():
        state = parts.get("initstate")
        if state is None and name not in builtin:
            raise UnreadableOutput(f"module {name} has no initstate")
        if state not in {None, "live", "coming", "going"}:
            raise UnreadableOutput(f"module {name} is {str(state)[:20]!r}, wanted live, coming or going")
        modules.append(Module(name, parts.get("version"), "O" in parts.get("taint", ""), state in {None, "live"}))
    modules += [Module(name, None, False, True) for name in sorted(builtin - files.keys()) if name]
    return DriverModules(kernel, tuple(modules))
