"""Units of numbers in the acceptance document, in the reader's language. Percent is a word: catalogues take ``% o`` for a conversion."""

from __future__ import annotations

from checks.phrase import say

#: Unit as the document writes it -> phrase. Symbols (GB/s, us, C) are the same in every language.
UNITS = {
    "% above the median hour": say("percent above the median hour"),
    "% above what G2 measured": say("percent above what G2 measured"),
    "% higher throughput, where its interval is told for": say(
        "percent higher throughput, where its interval is told for"
    ),
    "% lower TTFT, where its interval is told for": say("percent lower TTFT, where its interval is told for"),
    "% of a core": say("percent of a core"),
    "% of an even share": say("percent of an even share"),
    "% of the G2 baseline": say("percent of the G2 baseline"),
    "% of the expected bytes": say("percent of the expected bytes"),
    "% of the local arm's TTFT p50 in G2": say("percent of the local arm's TTFT p50 in G2"),
    "% of the mean": say("percent of the mean"),
    "% of the prompt tokens": say("percent of the prompt tokens"),
    "% of the shortest run, all at once": say("percent of the shortest run, all at once"),
    "% of the storable tokens": say("percent of the storable tokens"),
    "% of the stored tokens": say("percent of the stored tokens"),
    "%, a made-up drop that must be stopped": say("percent, a made-up drop that must be stopped"),
    "%, a made-up drop that must pass": say("percent, a made-up drop that must pass"),
    "Gb/s a sender": say("Gb/s a sender"),
    "canaries": say("canaries"),
    "decimals, half up": say("decimals, half up"),
    "files": say("files"),
    "files at a time": say("files at a time"),
    "frames": say("frames"),
    "looks": say("looks"),
    "losses a round": say("losses a round"),
    "passes": say("passes"),
    "percentage points": say("percentage points"),
    "probability": say("probability"),
    "requests": say("requests"),
    "requests a round at least": say("requests a round at least"),
    "requests a slot at least": say("requests a slot at least"),
    "resamples": say("resamples"),
    "rounds": say("rounds"),
    "rounds at least": say("rounds at least"),
    "rounds of G3 at least": say("rounds of G3 at least"),
    "share free": say("share free"),
    "share of an equal part": say("share of an equal part"),
    "share of fio's sequential reads": say("share of fio's sequential reads"),
    "share of fio's sequential writes": say("share of fio's sequential writes"),
    "share of one core": say("share of one core"),
    "share of the host memory's rate": say("share of the host memory's rate"),
    "share of the lesser of data sheet and port": say("share of the lesser of data sheet and port"),
    "share of the median hour": say("share of the median hour"),
    "share of the narrowest part": say("share of the narrowest part"),
    "share of the port's rate": say("share of the port's rate"),
    "share of the requests": say("share of the requests"),
    "share of the samples due": say("share of the samples due"),
    "share of the time": say("share of the time"),
    "share of twice the port's rate": say("share of twice the port's rate"),
    "slowest round over fastest": say("slowest round over fastest"),
    "times NFS": say("times NFS"),
    "times the array's memory at least": say("times the array's memory at least"),
    "times the median node": say("times the median node"),
    "tokens": say("tokens"),
    "us at 99.9 %": say("us at 99.9 percent"),
    "% a round, where rounds go one way": say("percent a round, where rounds go one way"),
    "% sure that rounds give less than `drift` more or less": say(
        "percent sure that rounds give less than `drift` more or less"
    ),
    "rounds at most until that is shown": say("rounds at most until that is shown"),
    "% of the load": say("percent of the load"),
    "requests a job": say("requests a job"),
    "jobs": say("jobs"),
    "share of the data sheet": say("share of the data sheet"),
    "share of the data sheet, on the local disk": say("share of the data sheet, on the local disk"),
    "share of the least of data sheet, array by itself and port": say(
        "share of the least of data sheet, array by itself and port"
    ),
    "share of the least of data sheets, array by itself and port, over the fabric": say(
        "share of the least of data sheets, array by itself and port, over the fabric"
    ),
    "whether `block` stands for a chunk of the engine that cannot be told": say(
        "whether `block` stands for a chunk of the engine that cannot be told"
    ),
}
