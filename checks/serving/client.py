"""kvgate's own client as one command line of the load host, and whether it did what it was asked."""

from __future__ import annotations

from dataclasses import dataclass

from checks.parsers import kvgate_client
from checks.parsers.kvgate_client import ClientRun
from checks.probe import Level, Probe, UnreadableOutput
from checks.serving.program import DIGEST, PAYLOAD
from checks.serving.work import Mode, Work, ordinary

__all__ = ["COMMAND", "Mode", "Reading", "Work", "around", "client", "ordinary", "words"]

# Runs the program only if it is the one that the digest names; the digest stands before it, to be read in any command line.
_LOADER = (
    "import base64,hashlib,sys,zlib;"
    "code=zlib.decompress(base64.b64decode(sys.argv[2]));"
    "digest=hashlib.sha256(code).hexdigest();"
    'digest==sys.argv[1] or sys.exit("NAME: the program is "+digest);'
    "del sys.argv[1:3];"
    'exec(compile(code,"NAME","exec"))'
)


def words(name: str, digest: str, payload: str) -> tuple[str, ...]:
    """The words that start a packed program; its options follow as one more. ``name`` is what its errors begin with."""
    return ("python3", "-c", _LOADER.replace("NAME", name), digest, payload)


#: The words that start the client. Whoever imitates a load host may run exactly these.
COMMAND = words("kvgate-client", DIGEST, PAYLOAD)


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
    return Probe(name, (*COMMAND, work.options), Reading(work), limit=work.limit + around(work), level=Level.LOAD)


def around(work: Work) -> float:
    """Seconds for what comes before and after the run: writing the prompts, sending the document home."""
    return 60.0 + work.count * work.tokens_in / 1e6
