"""Programs for load hosts, each of several files as one, and how they travel: compressed, in a word of a command line."""

from __future__ import annotations

import base64
import hashlib
import textwrap
import zlib
from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).parent
_FUTURE = "from __future__ import annotations\n"
_PACKED = _HERE.parents[1] / "checks" / "serving"


@dataclass(frozen=True)
class Program:
    """One program: its files in order, and where it is kept packed, so that every machine sends the same bytes."""

    what: str
    parts: tuple[str, ...]
    place: Path

    def source(self) -> str:
        """Join the files: later ones without the lines that only a module of its own needs."""
        texts: list[str] = []
        for name in self.parts:
            lines = (_HERE / name).read_text("utf-8").splitlines(keepends=True)
            text = "".join(line for line in lines if not line.startswith("from kvgate."))
            texts.append(text if not texts else text.replace(_FUTURE, ""))
        return "\n\n".join(texts)

    def packed(self) -> str:
        """Text of the module that holds the program."""
        program = self.source().encode()
        payload = base64.b64encode(zlib.compress(program, 9)).decode()
        rows = "\n".join(f'    "{row}"' for row in textwrap.wrap(payload, 110))
        return (
            f'"""{self.what} as it is sent to a load host: {" and ".join(self.parts)} of kvgate/drivers, packed by `make client`."""\n\n'
            f'#: SHA-256 of the unpacked program.\nDIGEST = "{hashlib.sha256(program).hexdigest()}"\n\n'
            f"#: The program, zlib and base64.\nPAYLOAD = (\n{rows}\n)\n"
        )


CLIENT = Program("The client", ("prompts.py", "stream.py", "client.py"), _PACKED / "program.py")
LAUNCHER = Program("The launcher of tools", ("prompts.py", "launch.py"), _PACKED / "launcher.py")
PROGRAMS = (CLIENT, LAUNCHER)

if __name__ == "__main__":
    for one in PROGRAMS:
        one.place.write_text(one.packed(), "utf-8")
