"""What kvgate's own client is asked to do on the load host, as one command line, and whether it did just that."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum

from checks.parsers import kvgate_client
from checks.parsers.kvgate_client import ClientRun
from checks.probe import Level, Probe, UnreadableOutput
from checks.serving.program import DIGEST, PAYLOAD

# Runs the program only if it is the one that the digest names; the digest stands before it, to be read in any command line.
_LOADER = (
    "import base64,hashlib,sys,zlib;"
    "code=zlib.decompress(base64.b64decode(sys.argv[2]));"
    "digest=hashlib.sha256(code).hexdigest();"
    'digest==sys.argv[1] or sys.exit("kvgate client: the program is "+digest);'
    "del sys.argv[1:3];"
    'exec(compile(code,"kvgate-client","exec"))'
)

#: The words that start the client; its options follow as one more. Whoever imitates a load host may run exactly these.
COMMAND = ("python3", "-c", _LOADER, DIGEST, PAYLOAD)


class Mode(StrEnum):
    """What a run is for. Canaries keep the text of their answers."""

    POPULATE = "populate"
    WARM = "warm"
    MEASURE = "measure"
    CANARIES = "canaries"


@dataclass(frozen=True, slots=True)
class Work:
    """One run of the client. Prompts are made of ``seed`` and ``prompt_set``: the same two are the same prompts, anywhere.

    ``count`` prompts of exactly ``tokens_in`` token ids from ``ids`` [low, high); every answer has ``tokens_out`` tokens.
    Request i goes to endpoint (i + ``shift``) modulo their number: another shift asks another instance for the same prompt.
    Seconds: ``connect`` for a connection, ``first`` for the first token, ``stall`` for the next one, ``limit`` for the run.
    """

    mode: Mode
    endpoints: tuple[str, ...]
    model: str
    seed: int
    prompt_set: str
    count: int
    tokens_in: int
    tokens_out: int
    concurrency: int
    ids: tuple[int, int]
    shift: int = 0
    connect: float = 10.0
    first: float = 1800.0
    stall: float = 300.0
    limit: float = 7200.0

    @property
    def options(self) -> str:
        """The client's options as JSON."""
        table = {
            "mode": self.mode.value, "endpoints": list(self.endpoints), "model": self.model, "seed": self.seed,
            "set": self.prompt_set, "count": self.count, "tokens": self.tokens_in, "ids": list(self.ids), "out": self.tokens_out,
            "concurrency": self.concurrency, "shift": self.shift, "connect": self.connect, "first": self.first,
            "stall": self.stall, "limit": self.limit,
        }  # fmt: skip
        return json.dumps(table, separators=(",", ":"), sort_keys=True)


def ordinary(vocabulary: int) -> tuple[int, int]:
    """Token ids [low, high) that are words in any vocabulary of this size: special ids and bytes stand at either end.

    Raises ValueError for a vocabulary of fewer than 1024 ids, which has no such middle.
    """
    if vocabulary < 1024:
        raise ValueError(f"a vocabulary of {vocabulary} ids, wanted at least 1024")
    return vocabulary // 8, vocabulary * 3 // 4


@dataclass(frozen=True, slots=True)
class Reading:
    """Reads the document of one run and refuses that of another."""

    work: Work

    def __call__(self, text: str) -> ClientRun:
        """Read it. Raises UnreadableOutput."""
        found, work = kvgate_client.parse(text), self.work
        told = (
            found.mode, found.endpoints, found.model, found.seed, found.prompt_set, found.count, found.tokens, found.ids,
            found.out, found.concurrency, found.shift,
        )  # fmt: skip
        asked = (
            work.mode.value, work.endpoints, work.model, work.seed, work.prompt_set, work.count, work.tokens_in, work.ids,
            work.tokens_out, work.concurrency, work.shift,
        )  # fmt: skip
        if told != asked:
            raise UnreadableOutput(f"the document of another run: {told}, wanted {asked}")
        return found


def client(work: Work) -> Probe[ClientRun]:
    """Run the client on the load host. Its own limit comes first, so that even a run cut short gives its document."""
    name = f"kvgate-client-{work.mode.value}"
    return Probe(name, (*COMMAND, work.options), Reading(work), limit=work.limit + 60.0, level=Level.LOAD)
