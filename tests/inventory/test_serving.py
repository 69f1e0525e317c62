"""Arms that could not be compared are refused before a host is contacted; shapes, arms and concurrencies are subjects."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks.acceptance import Subject
from kvgate.errors import BadInput, Fault
from kvgate.inventory import reader
from kvgate.inventory.coverage import gaps
from kvgate.inventory.subjects import baseline_hosts, things
from lab.inventory import text as written
from lab.rack import build, fingerprint, host_key

EXAMPLES = sorted((Path(__file__).parents[2] / "inventories").glob("example-*.yaml"))
TEXT = next(path for path in EXAMPLES if "mi308x" in path.name).read_text("utf-8")

HOST = "  load_host: node-01\n"
LOCAL = "role: local\n          host: node-01\n          mount: "
ARRAY = "role: array\n          host: node-01\n          mount: "
DISK, VOLUME = (f"/mnt/{name}\n          store: /mnt/{name}" for name in ("nvme0", "fx100"))
ANEW = (
    '{role: recompute, host: node-01, instances: [{endpoint: "http://127.0.0.1:8000", metrics: ["http://127.0.0.1:8000/metrics"], '
    "control: {unit: anew.service}}]}"
)


def changed(old: str, new: str, count: int = 1) -> list[Fault]:
    assert old in TEXT
    with pytest.raises(BadInput) as caught:
        reader.parse(TEXT.replace(old, new, count))
    return list(caught.value.faults)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_says_how_models_are_served(path: Path) -> None:
    rack = reader.parse(path.read_text("utf-8")).rack
    found = {kind: [thing.id for thing in things(rack) if thing.kind is kind] for kind in Subject}
    assert found[Subject.SHAPE] == ["tp8"]
    assert found[Subject.ARM] == [
        "tp8/local",
        "tp8/fx100",
        "tp8/recompute",
        *(f"tp8/fx100-0{node}" for node in range(2, 9)),
    ]
    assert found[Subject.CONCURRENCY] == ["tp8/c8", "tp8/c16", "tp8/c32"]


def test_an_arm_knows_its_host_and_role() -> None:
    arm = next(thing for thing in things(reader.parse(TEXT).rack) if thing.id == "tp8/fx100")
    assert (arm.host, arm.role, dict(arm.traits)["arm"], arm.machine is not None) == ("node-01", "array", "array", True)


@pytest.mark.parametrize(
    "old, new, found",
    [
        ("primary: tp8", "primary: tp16", "tp16"),
        ("load_host: node-01", "load_host: node-99", "node-99"),
        ("store: {kind: lmcache-fs", "store: {kind: lmcache-local-disk", "finds none of its files"),
        ("store: {kind: lmcache-fs", "store: {kind: mooncake", "nothing could be proven"),
        ("store: {kind: lmcache-fs", "store: {kind: sglang-hicache", "sglang-hicache with engine vllm"),
        ("engine: {kind: vllm", "engine: {kind: sglang", "lmcache-fs with engine sglang"),
        ("evict: restart", "evict: api", "an instance without cache"),
        ("prompt_tokens: 32768", "prompt_tokens: 128", "less than a chunk"),
        ("concurrencies: [8, 16, 32]", "concurrencies: [8, 8]", "[8, 8]"),
        (HOST, HOST + "  driver: {tool: vllm-bench, folder: /opt/bench}\n", "vllm-bench without version"),
        (HOST, HOST + "  driver: {tool: vllm-bench, version: 0.20.1}\n", "vllm-bench without folder"),
        (HOST, HOST + "  driver: {tool: aiperf, version: 0.13.0, folder: /opt/bench}\n", "aiperf without tokenizer"),
        (HOST, HOST + "  driver: {tool: sglang-bench, version: 0.5.23, folder: /o, tokenizer: /t}\n", "for the engine vllm"),
        (HOST, HOST + "  driver: {tool: guidellm, version: 0.8.1, folder: /opt/bench}\n", "guidellm"),
        (HOST, HOST + "  driver: {tool: own, version: '1'}\n", "version for kvgate's own client"),
        ("          role: local", "          role: nfs", "0 arms of role local"),
        ("mount: /mnt/nvme0", "mount: /mnt/other", "/mnt/nvme0/kv"),
        ("store: /mnt/nvme0/kv", "store: /mnt/nvme0", "/mnt/nvme0"),
        ("store: /mnt/nvme0/kv", "store: /mnt/nvme0/../etc", "/mnt/nvme0/../etc"),
        ("store: /mnt/nvme0/kv", "store: /var/lib/kv", "/var/lib/kv"),
        ("store: /mnt/nvme0/kv", "store: /mnt/nvme0/.", "/mnt/nvme0/."),
        ("store: /mnt/nvme0/kv", "store: /mnt/nvme0//", "/mnt/nvme0//"),
        ("store: /mnt/nvme0/kv", "store: /mnt/nvme0/./kv", "/mnt/nvme0/./kv"),
        (LOCAL + DISK, LOCAL + VOLUME, "not lie on the node's own disk"),
        (ARRAY + VOLUME, ARRAY + DISK, "not lie on the array"),
        (LOCAL, LOCAL.replace("node-01", "node-02"), "node-02, and the arm of role array on node-01"),
        ("role: recompute\n          host: node-01", "role: recompute\n          host: node-02", "node-02, and the arm of role array"),
        ("load_host: node-01", "load_host: node-02", "http://127.0.0.1:8000 of node-01, asked from node-02"),
        ("{unit: vllm-local.service}", "{unit: vllm-fx100.service}", "vllm-fx100.service, the engine of local too"),
        ("{unit: vllm-recompute.service}", "{unit: vllm-local.service}", "vllm-local.service, the engine of local too"),
        ("path: /models/Qwen", "path: /mnt/nvme0/kv/Qwen", "/mnt/nvme0/kv, which holds /mnt/nvme0/kv/Qwen"),
        ("        recompute:\n", f"        anew: {ANEW}\n        recompute:\n", "2 arms of role recompute"),
        ("tensor_parallel: 8", "tensor_parallel: 16", "but node-01 has 8"),
        ("{unit: vllm-local.service}", "{unit: vllm-local.service, container: vllm}", "2 ways to start and stop"),
        ("{unit: vllm-local.service}", "{start: [run.sh]}", "one of start and stop"),
        ("{unit: vllm-local.service}", "{runtime: podman}", "0 ways to start and stop"),
        ("          role: recompute", "          role: recompute\n          store: /mnt/nvme0/kv2", "with a mount or a store"),
    ],
)  # fmt: skip
def test_what_could_measure_nothing_or_something_else_is_refused(old: str, new: str, found: str) -> None:
    assert any(found in str(fault.found) for fault in changed(old, new)), changed(old, new)


def test_a_reader_is_another_node_that_mounts_the_array() -> None:
    rack = reader.parse(TEXT).rack
    shape = next(thing for thing in things(rack) if thing.kind is Subject.SHAPE)
    assert dict(shape.traits)["readers"] == "yes"
    assert baseline_hosts(rack) == frozenset({"node-01"}), "what G2 measures does not grow by the nodes that only read"
    place = "{role: reader, host: node-02, mount: /mnt/fx100, store: /mnt/fx100/node-02/kv"
    same = changed(place, place.replace("host: node-02", "host: node-01"))
    assert any("node-01, the node of fx100 too" in str(fault.found) for fault in same)
    disk = changed(place, "{role: reader, host: node-02, mount: /mnt/nvme0, store: /mnt/nvme0/kv")
    assert any("does not lie on the array" in str(fault.found) for fault in disk)


def test_nodes_that_take_no_part_in_reading_at_once_are_named() -> None:
    rows = TEXT.splitlines(keepends=True)
    found = gaps(reader.parse("".join(row for row in rows if "role: reader, host: node-05" not in row)).rack)
    assert [str(gap.what) for gap in found] == [
        "the array while all nodes read it: no arm of role 'reader' for node-05"
    ]
    alone = reader.parse("".join(row for row in rows if "role: reader" not in row)).rack
    shape = next(thing for thing in things(alone) if thing.kind is Subject.SHAPE)
    assert dict(shape.traits)["readers"] == "no"


def test_two_arms_never_share_a_store() -> None:
    faults = changed(
        "mount: /mnt/fx100\n          store: /mnt/fx100/node-01/kv", "mount: /mnt/nvme0\n          store: /mnt/nvme0/kv"
    )
    assert any("the store of local too" in str(fault.found) for fault in faults)


def test_a_command_is_words_and_an_endpoint_is_plain_http() -> None:
    assert changed('endpoint: "http://127.0.0.1:8000"', 'endpoint: "ftp://127.0.0.1"')
    assert changed("{unit: vllm-local.service}", "{start: rm -rf /, stop: [x]}")


def test_a_rack_without_serving_is_good_and_says_what_it_leaves_out() -> None:
    text = TEXT[: TEXT.index("# How the model is served")]
    rest = TEXT[TEXT.index("seed: 20261129") :]
    rack = reader.parse(text + rest[rest.index("\n\n") if "\n\n" in rest else len(rest) :]).rack
    assert rack.serving is None
    assert not [thing for thing in things(rack) if thing.kind in (Subject.ARM, Subject.SHAPE, Subject.CONCURRENCY)]


def test_memory_that_no_interface_empties_is_evicted_by_a_restart() -> None:
    with pytest.raises(BadInput) as caught:
        reader.parse(TEXT.replace("kind: lmcache-fs", "kind: vllm-fs").replace("evict: restart", "evict: api"))
    assert any("no interface of vllm-fs" in str(fault.found) for fault in caught.value.faults)


def test_a_store_of_another_engine_is_taken_with_that_engine() -> None:
    assert reader.parse(TEXT.replace("kind: lmcache-fs", "kind: vllm-fs")).rack.serving is not None
    whole = TEXT.replace("kind: lmcache-fs", "kind: sglang-hicache").replace(
        "engine: {kind: vllm", "engine: {kind: sglang"
    )
    assert reader.parse(whole.replace("evict: restart", "evict: api")).rack.serving is not None


def test_a_load_tool_may_drive_where_each_arm_has_one_instance() -> None:
    ordered = "  driver: {tool: vllm-bench, version: 0.20.1, folder: /opt/bench}\n"
    rack = reader.parse(TEXT.replace(HOST, HOST + ordered)).rack
    assert rack.serving is not None
    assert (rack.serving.driver.tool, rack.serving.driver.version) == ("vllm-bench", "0.20.1")
    hosts = [(host.ordered, 42200 + place, fingerprint(host_key(host.name))) for place, host in enumerate(build())]
    two = written(hosts, concurrencies=(8,))
    with pytest.raises(BadInput) as caught:
        reader.parse(two.replace(HOST, HOST + ordered, 1))
    assert [str(fault.found) for fault in caught.value.faults] == ["vllm-bench, and 2 instances in shape tp4x2"]
    assert reader.parse(written(hosts, concurrencies=(8,), driver="vllm-bench")).rack.serving is not None
