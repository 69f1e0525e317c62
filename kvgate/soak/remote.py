"""What is said to a host: the worker's verbs as command lines, quoted by construction, and what it answers."""

from __future__ import annotations

import base64
import shlex
import zlib
from dataclasses import dataclass
from typing import Any

from checks.phrase import say
from kvgate.codec import digest, parse_object
from kvgate.errors import CannotTell, CommandFailed, LinkLost, TimedOut, ToolMissing, Unreadable
from kvgate.soak.package import worker
from kvgate.transport.base import Answer, Command

#: Most bytes of a journal that one answer brings.
PIECE = 4 * 2**20
#: A line longer than a piece comes whole; an answer is compressed.
_LONGEST = 64 * 2**20

#: Exit status of ``read`` for a segment that the host does not have any more.
GONE = 44
#: Exit status of a verb where the host has no worker of that soak.
NOTHING = 45

_PYTHON = 'for p in python3 /usr/libexec/platform-python python; do command -v "$p" >/dev/null 2>&1 && exec "$p" "$@"; done; exit 127'
_UNPACK = (
    "import base64,hashlib,os,sys,zlib\n"
    "for name,want,data in zip(sys.argv[2::3],sys.argv[3::3],sys.argv[4::3]):\n"
    " raw=zlib.decompress(base64.b64decode(data))\n"
    ' hashlib.sha256(raw).hexdigest()==want or sys.exit("the bytes that arrived are others than those that were sent")\n'
    " os.makedirs(sys.argv[1],0o700,exist_ok=True)\n"
    " place=os.path.join(sys.argv[1],name)\n"
    " if os.path.exists(place):\n"
    '  open(place,"rb").read()==raw or sys.exit("another "+name+" stands in "+sys.argv[1])\n'
    "  continue\n"
    ' file=open(place+".part","wb")\n'
    " file.write(raw);file.flush();os.fsync(file.fileno());file.close()\n"
    ' os.rename(place+".part",place)\n'
)


class NothingThere(CannotTell):
    """The host has nothing of a soak: it never came there, or its folder was removed."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where soaks are on a host: the folder above them. ``{home}`` stands for what the host itself knows."""

    base: str | None = None

    def line(self, at: str, *words: str, laid_out: bool = False) -> str:
        """A shell line that runs python with words; ``$folder`` in them is the folder ``at`` (soak and host, or "") on the host.

        ``laid_out``: ends with NOTHING where no worker stands there.
        """
        if self.base is not None:
            where = f"base={shlex.quote(self.base)}"
        else:
            home = '"${XDG_STATE_HOME:-$HOME/.local/state}/kvgate-soak"'
            where = f'if [ "$(id -u)" = 0 ]; then base=/var/lib/kvgate-soak; else base={home}; fi'
        folder = f"$base/{at}" if at else "$base"
        quoted = " ".join(
            f'"{folder}{word[7:]}"' if word.startswith("$folder") else shlex.quote(word) for word in words
        )
        guard = f'[ -e "{folder}/worker.pyz" ] || exit {NOTHING}; ' if laid_out else ""
        return f"{where}; {guard}set -- {quoted}; {_PYTHON}"


def install(place: Place, at: str, plan: str) -> Command:
    """Lay out worker and plan, each only if what arrives has its digest; what is there already must be the same."""
    words = []
    for name, raw in (("worker.pyz", worker()), ("plan.json", plan.encode("ascii"))):
        words += [name, digest(raw), base64.b64encode(zlib.compress(raw, 9)).decode()]
    program = _UNPACK.replace("\n", "\\n").replace("'", "\\'")
    return Command("install", place.line(at, "-c", f"exec('{program}')", "$folder", *words), limit=30.0)


def verb(place: Place, at: str, name: str, *words: str, limit: float = 30.0) -> Command:
    """Let the worker's file do something in its folder."""
    return Command(name, place.line(at, "$folder/worker.pyz", name, "$folder", *words, laid_out=True), limit=limit)


_LIST = (
    "import glob,json,os,subprocess,sys\n"
    "base=sys.argv[1]\n"
    'found=sorted(glob.glob(os.path.join(base,"*","*","worker.pyz")))\n'
    'told={"soaks":[]}\n'
    "if found:\n"
    ' done=subprocess.run([sys.executable,found[-1],"list",base],stdout=subprocess.PIPE)\n'
    " done.returncode and sys.exit(done.returncode)\n"
    " told=json.loads(done.stdout.decode())\n"
    'told["begun"]=[]\n'
    "try:\n"
    ' lines=open(os.path.join(base,"begun.jsonl"),errors="replace").readlines()\n'
    "except OSError:\n"
    " lines=[]\n"
    "for line in lines:\n"
    " try:\n"
    "  one=json.loads(line)\n"
    '  told["begun"].append({key:str(one[key]) for key in ("soak","utc","rack","campaign")})\n'
    " except (ValueError,LookupError,TypeError,RecursionError):\n"  # a line that is none is passed over
    "  pass\n"
    "print(json.dumps(told))\n"
)


def listing(place: Place) -> Command:
    """Every soak that the host knows, by whichever worker stands in the first folder, and those that ever began there (``begun``)."""
    program = _LIST.replace("\n", "\\n").replace("'", "\\'")
    return Command("list", place.line("", "-c", f"exec('{program}')", "$folder"), limit=30.0)


def plan(place: Place, at: str) -> Command:
    """Print the plan that was laid out, whichever worker stands beside it."""
    script = "import sys;sys.stdout.write(open(sys.argv[1]).read())"
    return Command("plan", place.line(at, "-c", script, "$folder/plan.json"), limit=30.0)


def piece(place: Place, at: str, segment: int, offset: int) -> Command:
    """Ask for whole lines from an offset of a segment on, those of the segments after it too."""
    words = ("$folder/worker.pyz", "read", "$folder", str(segment), str(offset), str(PIECE))
    return Command("read", place.line(at, *words), limit=60.0, cap=_LONGEST)


def told(host: str, answer: Answer | CannotTell) -> dict[str, Any]:
    """The object that a verb answers with. Raises CannotTell."""
    answer = _good(host, answer)
    try:
        return parse_object(answer.stdout.decode("utf-8", "backslashreplace"))
    except ValueError as error:
        raise Unreadable(
            say("{host}: what the worker answered makes no sense: {why}", host=host, why=str(error))
        ) from error


def text(host: str, answer: Answer | CannotTell) -> str:
    """What a host printed, as it was. Raises CannotTell."""
    return _good(host, answer).stdout.decode("utf-8", "backslashreplace")


def installed(host: str, answer: Answer | CannotTell) -> None:
    """Whether worker and plan are there as they were sent. Raises CannotTell."""
    _good(host, answer)


def pieces(host: str, answer: Answer | CannotTell) -> tuple[list[tuple[int, bytes]], bool] | None:
    """(Segment, whole lines) that came, and whether there is more; None where the host has that segment no more. Raises CannotTell."""
    if isinstance(answer, Answer) and answer.status == GONE:
        return None
    answer = _good(host, answer)
    found: list[tuple[int, bytes]] = []
    try:
        head, _, rest = zlib.decompress(answer.stdout).partition(b"\n")
        while rest:
            line, _, rest = rest.partition(b"\n")
            number, length = map(int, line.split())
            if len(rest) < length:
                raise ValueError(f"{len(rest)} bytes of {length}")
            found.append((number, rest[:length]))
            rest = rest[length:]
        return found, head == b"more 1"
    except (zlib.error, ValueError) as error:
        raise LinkLost(
            say("{host}: a piece of the journal arrived damaged: {why}", host=host, why=str(error))
        ) from error


def _good(host: str, answer: Answer | CannotTell) -> Answer:
    if isinstance(answer, CannotTell):
        raise answer
    said = answer.stderr.decode("utf-8", "backslashreplace").strip()[-500:]
    if answer.status == 127:
        raise ToolMissing(say("{host}: no Python is there: the worker needs 3.8 or newer", host=host))
    if answer.status == NOTHING:
        raise NothingThere(
            say("{host}: has nothing of this soak: it never came there, or its folder was removed", host=host)
        )
    if answer.status == 124:
        raise TimedOut(say("{host}: the worker did not answer within its limit", host=host))
    if answer.status != 0:
        raise CommandFailed(
            say("{host}: the worker refused (status {status}): {said}", host=host, status=answer.status, said=said)
        )
    return answer
