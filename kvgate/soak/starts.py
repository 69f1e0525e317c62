"""What is written down of soaks before hosts hear of it: who starts, stops or removes one leaves a record that counts as an attempt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

from checks.soak.attempts import Starts

#: What happens to a soak. ``begun``: every host was seen to run it; ``judge``: a run of G4 took its journals.
Event = Literal["start", "begun", "stop", "remove", "judge"]


class Book(Protocol):
    """Where that is written: the campaign's ledger (kvgate.certificates.soak_book)."""

    def head(self) -> str:
        """Names the newest record; what is decided by all that was known then is written ``after`` it."""
        ...

    def starts(self) -> Starts:
        """All soaks of the rack and its campaign, oldest first."""
        ...

    def write(
        self, event: Event, soak: str, plans: Mapping[str, str], *, after: str | None = None, run: str = ""
    ) -> None:
        """Write one down; ``plans`` are digests by host. Raises NotAllowed where something was written since ``after``, Unwritable."""
        ...
