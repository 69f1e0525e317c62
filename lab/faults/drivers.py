"""Faults of load tools that drive a cell in place of kvgate's own client: what each may print, and must not be believed."""

from __future__ import annotations

from lab.faults.model import Fault
from lab.serving.model import Flaw

#: Clauses about the primary shape that compare what cells gave: a load tool asks one endpoint, other shapes are not ordered.
_RATIOS = frozenset({"G3.2.3", "G3.3.1", "G3.4.1", "G3.6.1"})
_ASKED = _RATIOS | {"G3.2.1"}
_PROOF = _RATIOS | {"G3.2.2"}
_MET = frozenset({"G3.2.4"})  # the local arm cannot be held against its baseline
_CROWD = frozenset({"G3.9.1", "G3.9.2"})  # all nodes at once: kvgate's own client asks there
_NOTHING = _ASKED | _MET | {"G3.1.1", "G3.2.2"}  # no round of both arms


def _fault(name: str, text: str, flaw: Flaw, undecided: frozenset[str], driver: str = "vllm-bench") -> Fault:
    return Fault(name, text, "node-01", undecided=undecided, serving=(flaw,), driver=driver)


FAULTS: tuple[Fault, ...] = (
    _fault(
        "tool-counts-failure-as-zero", "the load tool prints a request that failed as one that took 0 s and made 0 tokens",
        Flaw("tool-zero", "array"), _ASKED | _PROOF | _CROWD,
    ),
    _fault(
        "tool-counts-role-as-token", "the load tool asks the chat interface and takes the role for the first token",
        Flaw("tool-role", "array"), _ASKED,
    ),
    _fault(
        "tool-summary-disagrees", "the throughput that the load tool prints is 3 % above what its requests give",
        Flaw("tool-summary", "array"), _ASKED,
    ),
    _fault("tool-result-cut", "the load tool's result file ends in its middle", Flaw("tool-cut", "local"), _NOTHING),
    _fault(
        "tool-version-unknown", "the load host has a version of the load tool that nobody has read results of",
        Flaw("tool-version"), _NOTHING,
    ),
    _fault(
        "tool-too-old", "the load host has a version of the load tool that is older than any whose results were read",
        Flaw("tool-version", text="0.6.1"), _NOTHING,
    ),
    _fault(
        "tool-absent", "the load tool is not installed in the environment that the inventory names",
        Flaw("tool-absent"), _NOTHING,
    ),
    _fault(
        "tool-environment-absent", "the load tool's environment is not on the load host",
        Flaw("tool-folder"), _NOTHING,
    ),
    _fault(
        "tool-version-unreadable", "the load tool's environment tells no version of it",
        Flaw("tool-unreadable"), _NOTHING,
    ),
    _fault(
        "tool-keeps-half-the-concurrency", "the load tool keeps half as many requests under way as it was told",
        Flaw("tool-concurrency", "local"), _ASKED | _MET,
    ),
    _fault(
        "tool-repeats-prompts", "the load tool asks every second prompt twice: its KV lies in HBM by then",
        Flaw("tool-repeats", "array"), _PROOF,
    ),
    _fault(
        "tool-clock-steps", "the load tool times by the wall clock, which is set by 0.2 s while it measures",
        Flaw("clock-steps"), _ASKED | _MET, "aiperf",
    ),
    _fault(
        "tool-request-fails", "one request of the load tool on the array arm is answered with an error",
        Flaw("http-500", "array"), _ASKED | _PROOF | _CROWD, "aiperf",
    ),
    _fault(
        "tool-host-busy", "the load host does other work: nobody knows how late the load tool came to its own tokens",
        Flaw("client-busy"), _ASKED | _MET | _CROWD,
    ),
)  # fmt: skip
