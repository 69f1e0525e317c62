"""Faults of the serving baselines of G2: KV from the wrong tier, loads that are none, rounds that shake; one arm by itself."""

from __future__ import annotations

from lab.faults.model import Fault, served
from lab.serving.model import Flaw

_LOCAL = frozenset({"G2.6.1", "G2.6.3"})  # without a baseline nobody can say how precise a comparison will be
_ANEW = frozenset({"G2.6.2"})


FAULTS: tuple[Fault, ...] = (
    # ---- numbers that look good and are none
    served(
        "baseline-page-cache-answers", "dropping the page cache drops nothing: the local baseline is that of DRAM",
        Flaw("page-cache"), undecided=_LOCAL,
    ),
    served(
        "baseline-reset-does-not-reset", "what lay in HBM before the restart still answers when the local arm is measured",
        Flaw("hbm-survives", "local"), undecided=_LOCAL,
    ),
    served(
        "baseline-half-recomputed", "every second prompt of the local arm is computed anew: a baseline that is easy to beat",
        Flaw("half-recomputed", "local"), undecided=_LOCAL,
    ),
    served(
        "baseline-index-lost", "the local arm's store forgets its files when the engine restarts",
        Flaw("index-lost", "local"), undecided=_LOCAL,
    ),
    served(
        "baseline-writes-nothing", "writes of the local arm's store fail and nothing says so",
        Flaw("writes-nothing", "local"), undecided=_LOCAL,
    ),
    served(
        "baseline-recompute-restores", "the arm that computes anew finds every second prompt in a prefix cache",
        Flaw("half-cached", "recompute"), undecided=_ANEW,
    ),
    served(
        "baseline-request-dropped", "one stream of the local arm ends before its answer does",
        Flaw("stream-dropped", "local"), undecided=_LOCAL,
    ),
    served(
        "baseline-answer-empty", "one request of the arm that computes anew is answered with nothing",
        Flaw("empty-answer", "recompute"), undecided=_ANEW,
    ),
    served(
        "baseline-client-busy", "the load host is so busy that the client comes 0.4 s late",
        Flaw("client-busy"), undecided=_LOCAL | _ANEW,
    ),
    served(
        "baseline-other-load", "somebody else reads 1 GB/s from the local disk while its arm is measured",
        Flaw("other-load", "local", 1e9), undecided=_LOCAL,
    ),
    served(
        "baseline-other-version", "the local arm runs another version of the engine than was ordered",
        Flaw("other-version", "local"), undecided=_LOCAL,
    ),
    served(
        "baseline-layers-unlike", "the served model's layers are not alike: its KV chunks have no one size",
        Flaw("sliding-window"), undecided=_LOCAL | {"G2.1.4", "G2.1.5", "G2.1.6"},
    ),
    # ---- rounds that do not repeat
    served(
        "baseline-drifts", "the local arm grows slower from round to round by 7 %",
        Flaw("drift", "local", 0.07), stops=frozenset({"G2.6.3"}), undecided=frozenset({"G2.6.1"}),
    ),
    served(
        "baseline-recompute-drifts", "the arm that computes anew grows slower from round to round by 7 %",
        Flaw("drift", "recompute", 0.07), undecided=_ANEW,
    ),
    served(
        "baseline-slows", "the local arm grows slower by 3 % from round to round: within every limit on how much rounds may vary",
        Flaw("drift", "local", 0.03), stops=frozenset({"G2.6.3"}), undecided=frozenset({"G2.6.1"}),
    ),
    served(
        "baseline-recompute-slows", "the arm that computes anew grows slower by 2 % from round to round",
        Flaw("drift", "recompute", 0.02), undecided=_ANEW,
    ),
    served(
        "baseline-shakes", "the local arm's rounds differ by 4 %: a drift would hide in that, and a comparison would not be precise enough",
        Flaw("restless", "local", 0.04), stops=frozenset({"G2.6.3"}), undecided=frozenset({"G2.6.1"}),
    ),
    served(
        "baseline-link-bounces", "the port's link goes down in each window of the local arm",
        Flaw("link-bounces", "local"), undecided=_LOCAL,
    ),
    # ---- nothing to measure on
    served(
        "baseline-engine-does-not-start", "the engine of the arm that computes anew fails at its start",
        Flaw("does-not-start", "recompute"), undecided=_ANEW,
    ),
    served(
        "baseline-engine-will-not-stop", "the local arm's engine stays when it is told to stop, and holds the accelerators",
        Flaw("will-not-stop", "local"), undecided=_LOCAL | _ANEW,
    ),
    served(
        "baseline-disk-nearly-full", "the local disk has 100 GB free: the KV of no concurrency fits",
        Flaw("disk-nearly-full", "local"), undecided=_LOCAL,
    ),
)  # fmt: skip
