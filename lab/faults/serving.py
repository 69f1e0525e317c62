"""Faults of serving: arms that are not alike, engines in trouble, KV from the wrong tier, loads that are none, numbers too good."""

from __future__ import annotations

from lab.faults.model import Fault, served
from lab.machine import Edit
from lab.serving.model import Flaw

#: Clauses that compare what cells gave: none of them decides when a cell is invalid.
_RATIOS = frozenset({"G3.2.3", "G3.3.1", "G3.3.2", "G3.4.1", "G3.4.2", "G3.6.1"})
_PROOF = _RATIOS | {"G3.2.2"}
_LOAD = _PROOF | {"G3.2.1"}  # a request that was not answered moved nothing either
_ASKED = _RATIOS | {"G3.2.1"}
_MET = frozenset({"G3.2.4"})  # the local arm cannot be held against its baseline, or does not meet it
_CROWD = frozenset({"G3.9.1", "G3.9.2"})  # all nodes at once
_OTHERS = _CROWD | {"G3.8.1"}
_ALL = _PROOF | _OTHERS | _MET | {"G3.1.1", "G3.2.1", "G3.5.1"}  # nothing was measured on the arm
_LOCAL = _ALL - _OTHERS


FAULTS: tuple[Fault, ...] = (
    # ---- the arms are not alike
    served(
        "arms-batch-differently", "the array arm's engine was started with twice the batched tokens",
        Flaw("other-arguments", "array"), undecided=_CROWD | {"G3.1.1"},
    ),
    served(
        "arms-hash-seed-differs", "PYTHONHASHSEED is 42 on one arm and 0 on the other",
        Flaw("hash-seed-differs", "array"), undecided=_CROWD | {"G3.1.1"},
    ),
    served(
        "arms-hot-cache-on", "LMCache keeps a cache in DRAM on the local arm only",
        Flaw("hot-cache-on", "local"), undecided=frozenset({"G3.1.1"}),
    ),
    served(
        "arms-model-differs", "the arms serve model folders of the same name with other files",
        Flaw("other-model-files", "array"), undecided=_CROWD | {"G3.1.1"},
    ),
    served(
        "arm-driver-untold", "the accelerator driver's version cannot be read on either arm",
        Flaw("driver-untold"), undecided=_CROWD | {"G3.1.1"},
    ),
    served(
        "arms-engine-version-differs", "the array arm runs another version of the engine than was ordered",
        Flaw("other-version", "array"), undecided=_PROOF | _CROWD | {"G3.1.1"},
    ),
    served(
        "arms-store-commit-differs", "the local arm runs another build of LMCache",
        Flaw("other-commit", "local"), undecided=_PROOF | {"G3.1.1"} | _MET,
    ),
    served(
        "arms-chunk-differs", "the array arm's store cuts KV into chunks of 512 tokens instead of 256",
        Flaw("other-chunk", "array"), undecided=_PROOF | _CROWD | {"G3.1.1"},
    ),
    # ---- the array is not good enough, or too good
    served(
        "array-arm-slow", "requests on the array arm take a tenth longer than they should",
        Flaw("slow", "array", 0.10), stops=frozenset({"G3.3.1", "G3.3.2", "G3.4.1", "G3.4.2"}),
    ),
    served(
        "array-first-token-late", "the first token on the array arm comes a tenth later; everything else is as fast",
        Flaw("late-first-token", "array", 0.10), stops=frozenset({"G3.3.1", "G3.3.2"}),
    ),
    served(
        "local-arm-weak", "the local arm is a fifth slower than its disk allows: the array's gain is larger than any reference",
        Flaw("slow", "local", 0.2), undecided=frozenset({"G3.4.1", "G3.4.2"}) | _MET,
    ),
    served(
        "array-worse-than-recompute", "reading from the array takes longer than computing anew",
        Flaw("slow", "array", 12.0), stops=frozenset({"G3.3.1", "G3.4.1", "G3.4.2", "G3.6.1"} | _CROWD),
        undecided=frozenset({"G3.3.2"}),  # so slow that its interval is too wide as well
    ),
    # ---- the node is not the one that G2 measured, or faster than its own devices
    served(
        "node-slower-than-in-g2", "everything on the node takes 15 % longer than when G2 measured it: both arms alike",
        Flaw("slow", "", 0.15), undecided=_MET,
    ),
    served(
        "node-faster-than-in-g2", "everything on the node is 15 % faster than when G2 measured it: both arms alike",
        Flaw("slow", "", -0.13), undecided=_MET,
    ),
    served(
        "faster-than-its-disk", "the local arm reads faster than G2 measured on its disk; its counters agree with one another",
        Flaw("slow", "", -0.91), stops=_CROWD, undecided=_PROOF | _MET,
    ),
    served(
        "recompute-arm-restores", "the arm that computes anew finds every second prompt in a prefix cache",
        Flaw("half-cached", "recompute"), undecided=frozenset({"G3.6.1"}),
    ),
    # ---- KV comes from the wrong tier, or from nowhere
    served(
        "reset-does-not-reset", "what lay in HBM before the restart still answers after it",
        Flaw("hbm-survives"), undecided=_PROOF | _CROWD | {"G3.5.1"} | _MET,
    ),
    served(
        "page-cache-answers", "dropping the page cache drops nothing: restored KV comes from DRAM",
        Flaw("page-cache"), undecided=_PROOF | _OTHERS | _MET,
    ),
    served(
        "local-arm-recomputes-half", "every second prompt on the local arm is computed anew: a weak baseline",
        Flaw("half-recomputed", "local"), undecided=_PROOF | {"G3.5.1"} | _MET,
    ),
    served(
        "store-dram-tier", "a quarter of the array arm's hits come from the store's cache in DRAM",
        Flaw("dram", "array"), undecided=_PROOF | _OTHERS,
    ),
    served(
        "hash-seed-random", "keys differ after every restart: nothing that was stored is found on the local arm",
        Flaw("hash-seed", "local"), undecided=_PROOF | {"G3.5.1"} | _MET,
    ),
    served(
        "index-lost", "the array arm's store forgets its files when the engine restarts",
        Flaw("index-lost", "array"), undecided=_PROOF | _CROWD | {"G3.5.1"},
    ),
    served(
        "wrong-device", "the array arm's store lies on the local disk after all",
        Flaw("wrong-device", "array"), undecided=_PROOF | _OTHERS,
    ),
    served(
        "port-counts-nothing", "the RDMA port counts no bytes while the array is read",
        Flaw("port-quiet"), undecided=_PROOF | _CROWD,
    ),
    served(
        "reads-too-much", "the array's device reads a third more than the hits come to",
        Flaw("reads-more", "array", 0.33), undecided=_PROOF | _OTHERS,
    ),
    served(
        "other-load-on-array", "somebody else reads 1 GB/s from the array while it is measured",
        Flaw("other-load", "array", 1e9), undecided=_PROOF | _OTHERS,
    ),
    served(
        "store-writes-nothing", "writes of the local arm's store fail and nothing says so",
        Flaw("writes-nothing", "local"), undecided=_LOCAL,
    ),
    served(
        "store-full", "the local disk is full after 40 prompts: the others are dropped silently",
        Flaw("disk-full", "local", 40), undecided=_PROOF | _MET,
    ),
    served(
        "failed-loads", "two loads of the array arm fail in each window and are computed anew",
        Flaw("failed-loads", "array"), undecided=_PROOF | _CROWD,
    ),
    served(
        "preemptions", "the engine of the local arm preempts requests",
        Flaw("preempted", "local"), undecided=_PROOF | _MET,
    ),
    served(
        "worker-silent", "one worker of the array arm does not answer for its metrics",
        Flaw("worker-silent", "array"), undecided=_PROOF | _OTHERS,
    ),
    served(
        "worker-missed", "one worker of the local arm hits half of what the others hit",
        Flaw("worker-missed", "local"), undecided=_PROOF | _MET,
    ),
    served(
        "engine-restarts-itself", "the engine of the array arm is started anew in the middle of each window",
        Flaw("engine-restarts", "array"), undecided=_PROOF | _OTHERS,
    ),
    # ---- the load is none
    served(
        "empty-answer", "one request on the array arm is answered with nothing",
        Flaw("empty-answer", "array"), undecided=_LOAD | _OTHERS,
    ),
    served(
        "stream-dropped", "one stream of the local arm ends before its answer does",
        Flaw("stream-dropped", "local"), undecided=_LOAD | _MET,
    ),
    served(
        "http-500", "the array arm's engine answers one request with HTTP 500 in its third window",
        Flaw("http-500", "array", rounds=(3,)), undecided=_LOAD,
    ),
    served(
        "engine-dies", "the local arm's engine dies in the middle of its second window",
        Flaw("engine-dies", "local", rounds=(2,)), undecided=_LOAD | _MET,
    ),
    served(
        "tokenizer-differs", "the array arm's engine counts one token more in every prompt",
        Flaw("tokenizer", "array"), undecided=_ASKED | _CROWD,
    ),
    served(
        "client-busy", "the load host is so busy that the client comes 0.4 s late",
        Flaw("client-busy"), undecided=_ASKED | _CROWD | _MET,
    ),
    served(
        "arms-asked-differently", "the load host makes other prompts for one arm than for the other",
        Flaw("other-prompts"), undecided=_LOAD | {"G3.1.1", "G3.5.1"} | _MET,
    ),
    served(
        "populate-refused", "the array arm refuses a request while its store is filled: HTTP 429",
        Flaw("populate-fails", "array"), undecided=_ALL - {"G3.5.1"},
    ),
    # ---- rounds do not repeat
    served(
        "serving-drifts", "both arms grow slower from round to round by 2 %",
        Flaw("drift", "", 0.02), undecided=_RATIOS,
    ),
    served(
        "array-arm-restless", "the array arm's rounds differ by a tenth",
        Flaw("restless", "array", 0.10), undecided=_RATIOS,
    ),
    served(
        "link-bounces", "the port's link goes down in each of the array arm's windows",
        Flaw("link-bounces", "array"), undecided=_ALL - {"G3.5.1"},
    ),
    served(
        "node-reboots", "the node is rebooted within each window of the local arm",
        Flaw("reboots", "local"), undecided=_LOCAL - {"G3.5.1"},
    ),
    Fault(
        "disk-hot-while-serving", "the local disk says that it is too hot at every look around a measured window",
        "node-01", undecided=_LOCAL - {"G3.5.1"},
        edits=(Edit(ask="nvme smart-log .*", replace=(('"critical_warning":0', '"critical_warning":2'),)),),
    ),
    Fault(
        "accelerators-slowed-while-serving", "heat slows one accelerator down at every look around a measured window",
        "node-01", platform="nvidia", undecided=_LOCAL - {"G3.5.1"} | _CROWD,
        edits=(
            Edit(
                ask="nvidia-smi -q -x",
                replace=(
                    (
                        "<clocks_event_reason_hw_thermal_slowdown>Not Active<",
                        "<clocks_event_reason_hw_thermal_slowdown>Active<",
                    ),
                ),
            ),
        ),
    ),
    # ---- the place is not what it should be
    served(
        "engine-does-not-start", "the array arm's engine fails at its start: memory of a device is taken",
        Flaw("does-not-start", "array"), undecided=_ALL,
    ),
    served(
        "engine-will-not-stop", "the local arm's engine stays when it is told to stop",
        Flaw("will-not-stop", "local"), undecided=_ALL,
    ),
    served(
        "engine-serves-another-model", "the array arm's endpoint never names the ordered model",
        Flaw("other-model", "array"), undecided=_ALL,
    ),
    served(
        "store-not-writable", "the serving user may not write in the local arm's store",
        Flaw("not-writable", "local"), undecided=_LOCAL,
    ),
    served(
        "store-cannot-be-emptied", "the filesystem below the array arm's store is read-only",
        Flaw("cannot-empty", "array"), undecided=_ALL,
    ),
    served(
        "store-never-drains", "files of the array arm's store still change long after populating",
        Flaw("never-drains", "array"), undecided=_ALL - {"G3.5.1"},
    ),
    served(
        "disk-nearly-full", "the local disk has 100 GB free: the KV of no concurrency fits",
        Flaw("disk-nearly-full", "local"), undecided=_LOCAL - {"G3.5.1"},
    ),
    served(
        "page-cache-not-dropped", "dropping the page cache is refused",
        Flaw("drop-refused"), undecided=_ALL,
    ),
    served(
        "model-with-windows", "the model's layers are not alike: its KV has no one size a token",
        Flaw("sliding-window"), undecided=_ALL,
    ),
    # ---- restored answers are not the same
    served(
        "kv-corrupt", "KV restored from the array gives gibberish",
        Flaw("corrupt", "array"), stops=frozenset({"G3.5.1"}),
    ),
    served(
        "kv-of-others", "every eighth restored answer is that of another request",
        Flaw("others-kv", "array"), stops=frozenset({"G3.5.1"}),
    ),
    served(
        "kv-changes-answers", "a third of the answers differ once their KV was restored",
        Flaw("drifts-from-computed", "array"), stops=frozenset({"G3.5.1"}),
    ),
    Fault(
        "mount-lost-before-cell", "the array's volume is no longer mounted when its arm begins",
        "node-01", undecided=_ALL, edits=(Edit(ask="findmnt .*", replace=(('"/mnt/fx100"', '"/mnt/elsewhere"'),)),),
    ),
    # ---- all nodes read the array at once
    Fault(
        "fan-in-node-starved", "while all nodes read the array, the second one waits three times as long for its KV",
        "node-02", stops=_CROWD, serving=(Flaw("starved", "array", 2.0),),
    ),
    Fault(
        "fan-in-collapses", "while all nodes read the array, every one of them waits longer than for its own disk",
        "nodes", stops=frozenset({"G3.9.2"}), serving=(Flaw("starved", "array", 0.6),),
    ),
    Fault(
        "fan-in-node-reads-memory", "the second node restores from its page cache: the array is read by the first alone",
        "node-02", undecided=_CROWD, serving=(Flaw("page-cache"),),
    ),
    Fault(
        "fan-in-not-at-once", "the second node's clock is ten minutes ahead: nobody can tell that the nodes read at once",
        "node-02", undecided=_CROWD, serving=(Flaw("clock-off", "array", 600.0),),
    ),
    Fault(
        "fan-in-node-does-not-serve", "the second node's engine does not start",
        "node-02", undecided=_CROWD, serving=(Flaw("does-not-start", "array"),),
    ),
    # ---- engines are containers
    Fault(
        "container-image-differs", "the array arm's container was made from another image of the same name",
        "node-01", undecided=_CROWD | {"G3.1.1"}, serving=(Flaw("other-image", "array"),), containers=True,
    ),
    Fault(
        "container-missing", "the array arm's container is not there",
        "node-01", undecided=_ALL, serving=(Flaw("no-container", "array"),), containers=True,
    ),
    Fault(
        "container-runtime-down", "the containers' daemon does not run: nobody can tell which engines are up",
        "node-01", undecided=_ALL, serving=(
            Flaw(
                "runtime-untold",
                text="Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
            ),
        ), containers=True,
    ),
    Fault(
        "container-runtime-denied", "whoever asks the containers' daemon is refused: nobody can tell which engines are up",
        "node-01", undecided=_ALL, serving=(
            Flaw("runtime-untold", text="permission denied while trying to connect to the Docker daemon socket"),
        ), containers=True,
    ),
    # ---- SGLang with HiCache
    Fault(
        "sglang-storage-untold", "SGLang's array arm counts nothing of its storage",
        "node-01", undecided=_PROOF | _CROWD, serving=(Flaw("storage-untold", "array"),), engine="sglang",
    ),
    Fault(
        "sglang-sources-untold", "SGLang's local arm counts cached tokens only as a total: from where is not told",
        "node-01", undecided=_PROOF | _MET | {"G3.5.1"}, serving=(Flaw("sources-untold", "local"),), engine="sglang",
    ),
    Fault(
        "sglang-prefetch-unfulfilled", "SGLang's array arm finds pages in its storage and does not get them in time",
        "node-01", undecided=_PROOF | _CROWD, serving=(Flaw("failed-loads", "array"),), engine="sglang",
    ),
    Fault(
        "sglang-page-size-differs", "SGLang's array arm keeps pages of 128 tokens instead of 64",
        "node-01", undecided=_PROOF | _CROWD | {"G3.1.1"}, serving=(Flaw("other-chunk", "array"),), engine="sglang",
    ),
    Fault(
        "sglang-array-arm-slow", "requests on SGLang's array arm take a tenth longer than they should",
        "node-01", stops=frozenset({"G3.3.1", "G3.3.2", "G3.4.1", "G3.4.2"}), serving=(Flaw("slow", "array", 0.10),),
        engine="sglang",
    ),
)  # fmt: skip
