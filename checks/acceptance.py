"""The clauses as typed values: what was agreed, the numbers it decides on, and where each number came from."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr, model_validator

from checks.probe import Level

LimitValue = StrictBool | StrictInt | StrictFloat | StrictStr | tuple[StrictInt | StrictFloat | StrictStr, ...]

_CLAUSE = re.compile(r"G[1-4]\.\d{1,2}\.\d{1,2}", re.ASCII)


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Subject(StrEnum):
    """The kinds of things a clause can be about; each owed verdict names one of the inventory."""

    RACK = "rack"
    HOST = "host"
    DISK = "disk"
    NIC = "nic"
    RAID = "raid"
    MOUNT = "mount"
    CONNECTION = "connection"
    ACCELERATORS = "accelerators"
    SHAPE = "shape"
    ARM = "arm"
    CONCURRENCY = "concurrency"


class Origin(StrEnum):
    """Who a number comes from."""

    CONTRACT = "contract"
    REPORT = "report"
    VENDOR_SHEET = "vendor sheet"
    STANDARD = "standard"
    DEFAULT = "engineering default"


class Text(_Strict):
    """One sentence in both languages."""

    en: Annotated[str, Field(min_length=1)]
    zh: Annotated[str, Field(min_length=1)]


class Limit(_Strict):
    """One number (or word) that decides, with its unit ("" for a count or a word) and its origin."""

    value: LimitValue
    unit: str
    origin: Annotated[Origin, Field(strict=False)]
    source: str = ""


class Clause(_Strict):
    """One sentence of the acceptance document and the numbers it decides on."""

    check: Annotated[str, Field(pattern=r"^[a-z0-9_]+(\.[a-z0-9_]+)+$")]
    subject: Annotated[Subject, Field(strict=False)]
    where: Mapping[str, tuple[str, ...]] = {}
    level: Annotated[Level, Field(strict=False)] = Level.PASSIVE
    weight: Literal["blocking", "advisory"]
    answer: Literal["measured", "declared"] = "measured"
    text: Text
    remedy: Text
    limits: Mapping[str, Limit] = {}

    @property
    def blocking(self) -> bool:
        """Whether a STOP or UNDECIDED of this clause keeps the gate shut."""
        return self.weight == "blocking"

    def applies(self, traits: Mapping[str, str]) -> bool:
        """Whether a subject with these traits is meant. Raises KeyError for a trait its kind does not have."""
        return all(traits[trait] in wanted for trait, wanted in self.where.items())


class Acceptance(_Strict):
    """All clauses of all gates, keyed by clause id."""

    acceptance: Literal[1]
    clauses: Mapping[str, Clause]

    @model_validator(mode="after")
    def _ids(self) -> Acceptance:
        wrong = sorted(clause for clause in self.clauses if _CLAUSE.fullmatch(clause) is None)
        if wrong:
            raise ValueError(f"found clause ids {wrong}, wanted G<gate>.<section>.<number>")
        checks: dict[tuple[str, str], str] = {}
        for clause_id, clause in self.clauses.items():
            key = (clause_id.split(".")[0], clause.check)
            if key in checks:
                raise ValueError(f"{clause_id} and {checks[key]} carry the same check {clause.check!r}")
            checks[key] = clause_id
        return self

    def gate(self, gate: str) -> dict[str, Clause]:
        """Return the clauses of one gate in document order."""
        return {name: clause for name, clause in self.clauses.items() if name.split(".")[0] == gate}

    def find(self, name: str) -> str:
        """Clause id for a clause id or a check name. Raises KeyError when neither is known."""
        if name in self.clauses:
            return name
        found = [clause_id for clause_id, clause in self.clauses.items() if clause.check == name]
        if len(found) != 1:
            raise KeyError(name)
        return found[0]

    def digest(self) -> str:
        """SHA-256 of the effective clauses, independent of layout and comments of the file."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()
