"""An inventory is read strictly, and every fault is named at once with its place."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvgate.errors import BadInput, Fault
from kvgate.inventory import reader
from kvgate.inventory.model import Rack
from kvgate.inventory.relations import same_thing
from kvgate.inventory.strict_yaml import parse as parse_yaml
from lab.inventory import text as ordered_text
from lab.order import PLATFORMS, rack
from lab.rack import fingerprint, host_key

UUID_NQN = "nqn.2014-08.org.nvmexpress:uuid:abababab-abab-abab-abab-abababababab"


def written(platform: str = "rocm", nodes: int = 2) -> str:
    hosts = [(one, 42200 + n, fingerprint(host_key(one.name))) for n, one in enumerate(rack(nodes, platform))]
    return ordered_text(hosts)


def faults(text: str) -> list[Fault]:
    with pytest.raises(BadInput) as caught:
        reader.parse(text)
    return list(caught.value.faults)


def only(text: str) -> Fault:
    found = faults(text)
    assert len(found) == 1, "\n".join(map(str, found))
    return found[0]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_rack_of_each_platform_is_read(platform: str) -> None:
    found = reader.parse(written(platform)).rack
    assert found.hosts["node-02"].accelerators is not None
    assert found.hosts["node-02"].accelerators.platform == platform
    assert found.hosts["fx100-a"].disks[0].capacity == 3840755982336
    assert found.hosts["fx100-a"].nics[0].speed == 100 * 10**9


def test_all_faults_come_at_once_with_line_and_column() -> None:
    text = (
        written()
        .replace("mtu: 9000, address: 192.168.100.10", "mtu: 9k, adress: 192.168.100.10")
        .replace("role: array", "role: arry")
    )
    found = faults(text)
    assert {fault.where for fault in found} >= {
        "hosts.fx100-a.role",
        "hosts.fx100-a.nics[0].mtu",
        "hosts.fx100-a.nics[0].adress",
    }
    lines = text.splitlines()
    for fault in found:
        assert fault.line > 0
        assert fault.column > 0
        key = fault.where.rsplit(".", 1)[-1].split("[")[0]
        if key in ("role", "mtu", "adress"):
            assert key in lines[fault.line - 1]


def test_an_unquoted_serial_with_a_leading_zero_is_refused_with_the_way_out() -> None:
    fault = only(written().replace('serial: "S7Y0NX0W100001"', "serial: 0555567"))
    assert "0555567" in str(fault.found)
    assert 'put it in quotes: "0555567"' in str(fault.wanted)


def test_the_same_serial_in_quotes_is_accepted() -> None:
    found = reader.parse(written().replace('serial: "S7Y0NX0W100001"', 'serial: "0555567"'))
    assert found.rack.hosts["fx100-a"].disks[0].serial == "0555567"


def test_a_mac_of_digits_only_stays_text() -> None:
    text = written().replace('mac: "b8:3f:d2:10:00:0a"', "mac: 52:54:05:00:23:48")
    assert reader.parse(text).rack.hosts["fx100-a"].nics[0].mac == "52:54:05:00:23:48"


def test_yaml_1_1_truth_words_are_text_here() -> None:
    assert parse_yaml("a: no\nb: 12:30\nc: 0o17\nd: true\n", "x").data == {
        "a": "no",
        "b": "12:30",
        "c": "0o17",
        "d": True,
    }


def test_a_number_that_is_meant_as_number_needs_no_quotes() -> None:
    assert reader.parse(written()).rack.hosts["node-01"].nvmeof[0].port == 4420


@pytest.mark.parametrize(
    ("old", "new", "found", "wanted"),
    [
        ("capacity: 15.36 TB", "capacity: 15.36", "15.36", "a number and a unit"),
        ("speed: 100 Gb/s", "speed: 100 GB/s", "GB/s", "bits a second"),
        ("speed: 100 Gb/s", "speed: <speed>", "placeholder", "the real value"),
        ("become: sudo", "become: su", "'su'", "'none', 'sudo'"),
        ("ecn: true", "ecn: yes", "'yes'", "true or false"),
        ("numa: 0", 'numa: "0"', "'0'", "a whole number"),
        ("members: 4", "members: 3", "3 members, but 4 disks", "the same number"),
        ("address: 192.168.100.10\n", "address: 192.168.100.99\n", "no port of this rack carries", "storage port"),
    ],
)
def test_each_kind_of_fault_says_what_was_found_and_wanted(old: str, new: str, found: str, wanted: str) -> None:
    text = written(nodes=1)
    assert old in text
    said = faults(text.replace(old, new, 1))
    assert any(found in str(fault.found) and wanted in str(fault.wanted) for fault in said), "\n".join(map(str, said))


def test_a_duplicate_key_names_the_first_line_too() -> None:
    fault = faults(written() + "rack: other\n")[-1]
    assert "a second time (first on line" in str(fault.found)


def test_serial_address_and_host_key_used_twice_are_found() -> None:
    text = written().replace("S7Y0NX0W100002", "S7Y0NX0W100001")
    assert any("serial 'S7Y0NX0W100001' a second time" in str(fault.found) for fault in faults(text))
    text = written().replace("port: 42201", "port: 42200")
    assert any("address" in str(fault.found) for fault in faults(text))


def test_serials_that_differ_only_in_case_are_one_serial_and_it_is_told_once() -> None:
    fault = only(written().replace("S7Y0NX0W100002", "s7y0nx0w100001"))
    assert fault.where.endswith(".serial")
    assert "'s7y0nx0w100001' a second time (on line" in str(fault.found)
    assert "as 'S7Y0NX0W100001'; letters of either case are the same)" in str(fault.found)
    assert only(written().replace("S7Y0NX0W100002", "S7Y0NX0W100001")).where.endswith(".serial")


@pytest.mark.parametrize(
    ("what", "one", "other", "same"),
    [
        ("serial", "S7Y0A", "s7y0a", True), ("serial", "S7Y0A", "S7Y0B", False),
        ("mac", "b8:3f:d2:10:00:0a", "B8:3F:D2:10:00:0A", True), ("name", "eth0", "ETH0", False),
        ("nqn", UUID_NQN, UUID_NQN.replace("abababab", "ABABABAB"), True),
        ("nqn", "nqn.2024-01.com.example:vol", "nqn.2024-01.com.example:VOL", False), ("path", "/mnt/a", "/mnt/A", False),
    ],
)  # fmt: skip
def test_case_counts_only_where_the_name_is_compared_byte_by_byte(what: str, one: str, other: str, same: bool) -> None:
    assert (same_thing(what, one) == same_thing(what, other)) is same


@pytest.mark.parametrize(
    ("name", "other", "found"),
    [
        (UUID_NQN, "ABABABAB-abab", True),
        ("nqn.2024-03.example.kvarray:abababab-abab", "ABABABAB-abab", False),
    ],
)
def test_the_uuid_of_a_connection_is_one_in_letters_of_either_case(name: str, other: str, found: bool) -> None:
    text = written(nodes=1).replace("nqn.2024-03.example.kvarray:fx100-a", name)
    entry = text[text.index("      - nqn:") : text.index("    mounts:\n", text.index("      - nqn:"))]
    twice = text.replace(entry, entry + entry.replace("abababab-abab", other, 1), 1)
    assert twice.count("      - nqn:") == 2
    told = []
    try:
        reader.parse(twice)
    except BadInput as error:
        told = [str(fault.found) for fault in error.faults]
    assert any(other in one and "a second time" in one for one in told) is found, told


def test_a_fault_in_a_profile_is_placed_in_the_profile() -> None:
    text = written().replace("keep_alive: 5", "keep_alive: five")
    places = {(fault.line, fault.where.split(".")[-1]) for fault in faults(text)}
    line = next(number for number, content in enumerate(text.splitlines(), 1) if "keep_alive" in content)
    assert places == {(line, "keep_alive")}


def test_a_fault_in_a_profile_is_told_once_with_the_hosts_that_have_it() -> None:
    fault = only(written(nodes=5).replace("keep_alive: 5", "keep_alive: five"))
    hosts = ", ".join(f"hosts.node-0{number}.nvmeof[0].keep_alive" for number in (1, 2, 3))
    assert fault.where == f"{hosts}, ... (5)"


def test_a_placeholder_in_a_profile_is_one_fault_and_not_a_wrong_value_too() -> None:
    fault = only(written().replace("platform: rocm", 'platform: "<which>"'))
    assert "placeholder" in str(fault.found)


def test_an_unknown_profile_lists_the_known_ones() -> None:
    said = faults(written().replace("profile: rocm-node", "profile: rocm-nod"))
    assert any("rocm-node" in str(fault.wanted) for fault in said)


@pytest.mark.parametrize(
    "text", ["", "\t", "- 1\n", "a: [1,\n", "a: &x [*x]\n", "\x00", "rack: a\n  hosts: b\n", "? [a]\n: b\n", "{}"]
)
def test_no_text_is_answered_with_anything_but_faults(text: str) -> None:
    assert faults(text)


@pytest.mark.parametrize(
    ("text", "found", "wanted"),
    [
        ("rack: x\na: [1,\n", "the [ of line 2 is still open", "closing ]"),
        ("a: {b: 1\n", "the { of line 1 is still open", "closing }"),
        ("a: ['x]', {b: 1}, # [\n  2\nb: 3\n", "cannot stand within the [ of line 1", "closing ]"),
        ("a:\n\tb: 1\n", "a tab", "spaces"),
        ("a: 'x\nb: 1\n", "within the quote of line 1", "closing quote"),
        ("a: 1\nb\nc: 2\n", "a line without a colon (line 2)", "`key: value`"),
        ("a: b: c\n", "a colon where no key can be", "in quotes"),
        ("a:\n  b: 1\n c: 2\n", "not indented as", "of the block of line 1"),
        ("a: @x\n", "begins with a sign of YAML", "in quotes"),
        ("a: *x\n", "cannot be read as YAML 1.2: found undefined alias", "YAML 1.2"),
    ],
)
def test_broken_yaml_is_told_in_words_of_our_own(text: str, found: str, wanted: str) -> None:
    (fault,) = faults(text)
    assert fault.where == "syntax"
    assert fault.line
    assert found in str(fault.found)
    assert wanted in str(fault.wanted)
    assert "<stream end>" not in str(fault)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_a_damaged_inventory_is_read_or_refused_never_anything_else(data: st.DataObject) -> None:
    text = written(nodes=1)
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 40))
    damaged = text[:start] + data.draw(st.text(max_size=8)) + text[start + length :]
    with suppress(BadInput):
        assert reader.parse(damaged).rack.hosts


def test_a_binary_or_missing_file_is_one_clear_fault(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(b"rack: \xff\n")
    for name, word in (("x.yaml", "UTF-8"), ("absent.yaml", "kvgate inventory draft HOST... -o")):
        with pytest.raises(BadInput) as caught:
            reader.read(tmp_path / name)
        assert word in str(caught.value)


def test_the_fingerprint_changes_with_hardware_and_not_with_layout() -> None:
    before = reader.parse(written())
    assert reader.parse("# a comment\n" + written()).fingerprint == before.fingerprint
    assert reader.parse(written().replace("S7Y0NX0W100002", "S7Y0NX0W100009")).fingerprint != before.fingerprint


def test_the_exported_schema_accepts_the_inventory_and_refuses_an_unknown_key() -> None:
    schema = Rack.model_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    data = json.loads(json.dumps(parse_yaml(written(), "x").data))
    for host in data["hosts"].values():
        host.update({k: v for k, v in data["profiles"].get(host.get("profile"), {}).items() if k not in host})
    jsonschema.validate(data, schema)
    data["hosts"]["fx100-a"]["colour"] = "red"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, schema)
