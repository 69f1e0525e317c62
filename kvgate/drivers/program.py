"""The client's two files as one program, and how it travels: compressed, in one word of a command line, with its digest."""

from __future__ import annotations

import base64
import hashlib
import textwrap
import zlib
from pathlib import Path

_HERE = Path(__file__).parent
_FUTURE = "from __future__ import annotations\n"
#: Where the packed program is kept, so that every machine sends the same bytes whatever its compressor makes.
PLACE = _HERE.parents[1] / "checks" / "serving" / "program.py"


def source() -> str:
    """Join both halves: the second without the lines that only a module of its own needs."""
    first, second = ((_HERE / name).read_text("utf-8") for name in ("stream.py", "client.py"))
    lines = [line for line in second.splitlines(keepends=True) if not line.startswith("from kvgate.")]
    return first + "\n\n" + "".join(lines).replace(_FUTURE, "")


def packed() -> str:
    """Text of the module that holds the program."""
    program = source().encode()
    payload = base64.b64encode(zlib.compress(program, 9)).decode()
    rows = "\n".join(f'    "{row}"' for row in textwrap.wrap(payload, 110))
    return (
        '"""The client as it is sent to a load host: kvgate/drivers/stream.py and client.py, packed by `make client`."""\n\n'
        f'#: SHA-256 of the unpacked program.\nDIGEST = "{hashlib.sha256(program).hexdigest()}"\n\n'
        f"#: The program, zlib and base64.\nPAYLOAD = (\n{rows}\n)\n"
    )


if __name__ == "__main__":
    PLACE.write_text(packed(), "utf-8")
