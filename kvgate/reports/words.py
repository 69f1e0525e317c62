"""Words of the acceptance document and of the ledger in the reader's language: kinds, weights, origins, units, states."""

from __future__ import annotations

from checks.phrase import say

#: English word -> phrase. A word that is not here (a symbol, a unit of one campaign) is shown as it is written.
WORDS = {
    phrase.template: phrase
    for phrase in (
        say("ledger"), say("evidence"), say("certificates"),
        say("rack"), say("host"), say("disk"), say("nic"), say("raid"), say("mount"), say("connection"),
        say("accelerators"), say("arm"), say("concurrency"), say("shape"),
        say("blocking"), say("advisory"), say("measured"), say("declared"),
        say("passive"), say("load"), say("destructive"),
        say("contract"), say("report"), say("vendor sheet"), say("standard"), say("engineering default"),
        say("high"), say("medium"), say("low"), say("info"),
        say("started"), say("decided"), say("interrupted"), say("refused"), say("under way"), say("killed"), say("failed"),
        say("unfinished"), say("running"), say("ended"), say("vanished"), say("absent"), say("unknown"),
        say("errors"), say("log lines"), say("share of the size ordered"), say("shutdowns"), say("x capacity"),
        say("dB above low alarm"), say("entries"), say("events"), say("packets"), say("times the port speed"),
    )
}  # fmt: skip
