"""What an audit can find, each kind by a name that stays: programs and the threat-model page refer to it."""

from __future__ import annotations

from dataclasses import dataclass

from checks.phrase import say

#: Kind -> what it means.
KINDS = {
    "row": say("a row of the ledger is not what was written"),
    "run-missing": say("a run, or one of its attempts, was deleted"),
    "attempt-uncounted": say("a certificate leaves out an earlier attempt on its rack"),
    "stop-passed-over": say("a run began although a STOP had ended the campaign of its rack, and nobody reopened it"),
    "unjudged": say("a run ended early, and what it had seen was not all judged"),
    "soak-missing": say("a record of a soak that was started, stopped or removed was deleted or changed"),
    "out-of-order": say("a gate began although no PASS of the gate before it counted then"),
    "decision-missing": say("an entry of the decision log was deleted"),
    "chain": say("the decision log was reordered, or an entry does not follow the one before it"),
    "anchor": say("the log was cut at its end or written anew: a head that left this machine is not in it"),
    "limit": say("the agreement is not the one that a run was judged by"),
    "inventory": say("the inventory is not the one that a run went by"),
    "clock": say("a clock went backwards"),
    "evidence-missing": say("the evidence of a run is not there"),
    "evidence-line": say("a journal line was changed, removed, moved or added"),
    "evidence-blob": say("raw output was changed, swapped or removed"),
    "verdicts": say("ledger and evidence hold different verdicts"),
    "certificate": say(
        "a certificate is malformed, contradicts itself or the ledger, or is not signed by those who must"
    ),
    "certificate-rack": say("a certificate is about another rack"),
    "certificate-resigned": say("an old certificate was signed anew"),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not what was written: its kind, what it is about (a run, a decision, a file), and the sentence."""

    kind: str
    where: str
    text: str

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"found kind {self.kind!r}, wanted one of {', '.join(KINDS)}")
