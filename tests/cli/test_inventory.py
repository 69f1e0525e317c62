"""``kvgate inventory check`` and ``schema``: every fault at once with its place, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from kvgate.inventory import strict_yaml
from tests.cli.conftest import ROOT, Kvgate

SHIPPED = sorted((ROOT / "inventories").glob("*.yaml"))


@pytest.mark.parametrize("file", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_inventory_is_good_and_fits_the_schema(kvgate: Kvgate, file: Path) -> None:
    good = kvgate("inventory", "check", file)
    assert good.exit_code == 0, good.stderr
    assert "verdicts owed by G1" in good.stdout
    told = json.loads(kvgate("inventory", "check", file, "--json").stdout)
    assert told["faults"] == []
    assert told["owed"]["G1"] > 100
    schema = json.loads(kvgate("inventory", "schema").stdout)
    data = json.loads(json.dumps(strict_yaml.read(file).data))
    jsonschema.validate(data, schema)


def test_all_faults_are_named_with_line_and_column(kvgate: Kvgate, tmp_path: Path) -> None:
    text = (ROOT / "inventories" / "demo.yaml").read_text()
    bad = tmp_path / "bad.yaml"
    bad.write_text(
        text.replace("campaign: demo", "campaign: <name>")
        .replace("chunk: 512 KiB}]", "chunk: 512}]")
        .replace("rack: e", "rak: e")
    )
    refused = kvgate("inventory", "check", bad)
    assert (refused.exit_code, refused.stdout) == (4, "")
    faults = json.loads(kvgate("inventory", "check", bad, "--json").stdout)["faults"]
    assert len(faults) >= 4
    for fault in faults:
        assert f"{fault['file']}:{fault['line']}:{fault['column']}" in refused.stderr or fault["line"] == 0
    assert {"campaign", "rak", "rack"} <= {fault["where"] for fault in faults}


def test_a_draft_that_nobody_decided_is_refused_by_a_gate_s_own_reader(kvgate: Kvgate, tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text('rack: "<name of this rack>"\n')
    assert "the placeholder '<name of this rack>'" in kvgate("inventory", "check", file).stderr


@pytest.mark.parametrize("as_json", [False, True])
def test_what_is_no_inventory_is_one_clear_line(kvgate: Kvgate, tmp_path: Path, as_json: bool) -> None:
    cases = {
        "binary": b"\x00\xff\x80",
        "empty": b"",
        "tabs": b"\t- : :\n\t{",
        "list": b"- 1\n",
        "latin": "rack: \xfc\n".encode("latin-1"),
    }
    for name, raw in cases.items():
        (tmp_path / name).write_bytes(raw)
    for name in (*cases, "missing", "."):
        refused = kvgate("inventory", "check", tmp_path / name, *(["--json"] if as_json else []))
        assert refused.exit_code == 4, name
        if as_json:
            assert json.loads(refused.stdout)["faults"], name
        else:
            assert len(refused.stderr.splitlines()) == 2, refused.stderr


def test_a_missing_overlay_is_a_fault_of_the_inventory(kvgate: Kvgate, tmp_path: Path) -> None:
    file = tmp_path / "rack.yaml"
    file.write_text("acceptance: nowhere.yaml\n" + (ROOT / "inventories" / "demo.yaml").read_text())
    refused = kvgate("inventory", "check", file)
    assert refused.exit_code == 4
    assert "nowhere.yaml" in refused.stderr
