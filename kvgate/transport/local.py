"""The same batch on this machine: for tests, measurements and `kvgate doctor`; no network, no host key."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence

from checks.phrase import say
from kvgate.errors import Unreachable
from kvgate.transport import exchange, process
from kvgate.transport.base import Batch, Command
from kvgate.transport.link import Bounds, Deadlines, Outcome


class LocalLink:
    """A shell of this machine in place of a connection."""

    host_key = ""

    def execute(
        self, command: str, stdin: bytes, bounds: Bounds, finished: Callable[[bytearray], bool] | None = None
    ) -> Outcome:
        """Run ``command`` under this machine's shell. Raises Unreachable when there is none."""
        try:
            return process.execute(["/bin/sh", "-c", command], stdin, bounds, finished, dict(os.environ))
        except OSError as error:
            raise Unreachable(say("this machine starts no /bin/sh: {error}", error=str(error))) from error


class LocalTransport:
    """Asks this machine, whatever the hosts are called."""

    def __init__(self, *, become: bool = False, deadlines: Deadlines | None = None) -> None:
        self._become = become
        self._deadlines = deadlines or Deadlines()

    def each(self, commands: Mapping[str, Sequence[Command]]) -> Iterator[Batch]:
        """Run each host's commands here, one host after another."""
        for host, wanted in commands.items():
            yield exchange.shell(LocalLink(), host, wanted, become=self._become, deadlines=self._deadlines)

    def run(
        self, commands: Mapping[str, Sequence[Command]], progress: Callable[[Batch], None] | None = None
    ) -> dict[str, Batch]:
        """Run each host's commands here, one host after another."""
        batches = {}
        for batch in self.each(commands):
            batches[batch.host] = batch
            if progress is not None:
                progress(batch)
        return batches

    def close(self) -> None:
        """Nothing is held open."""
