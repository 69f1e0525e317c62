"""The keys in runbooks/json.md are the keys that come out: none undocumented, none documented that never comes."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from kvgate.cli import main
from kvgate.inventory import reader
from kvgate.soak.store import Store
from tests.cli.conftest import ROOT, Kvgate, Stored, started
from tests.soak.rack import inventory

PAGE = (ROOT / "runbooks" / "json.md").read_text("utf-8")
Key = tuple[str, ...]


def documented() -> dict[str, set[Key]]:
    """Command -> documented keys, each as its steps."""
    found: dict[str, set[Key]] = {}
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        title, _, rest = section.partition("\n")
        keys = re.findall(r"^\| `([^`]+)` \|", rest, re.MULTILINE)
        assert len(keys) == len(set(keys)), title
        found[title.removeprefix("kvgate ").removesuffix(" --json")] = {tuple(key.split(".")) for key in keys}
    return found


def keys(value: Any, before: Key = ()) -> Iterator[tuple[Key, bool]]:
    """Every key with its steps, and whether it is an empty list or object."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from keys(inner, (*before, name))
        if not value:
            yield before, True
    elif isinstance(value, list):
        here = (*before[:-1], f"{before[-1]}[]") if before else ("[]",)
        for inner in value:
            yield from keys(inner, here)
        if not value:
            yield here, True
    else:
        yield before, False


def matches(pattern: Key, key: Key) -> bool:
    return len(pattern) == len(key) and all(
        wanted == step or (wanted.strip("[]") == "*" and wanted.endswith("[]") == step.endswith("[]"))
        for wanted, step in zip(pattern, key, strict=True)
    )


Ask = Callable[..., list[Any]]


@pytest.fixture
def ask(kvgate: Kvgate, stored: Stored, serve: Callable[..., Any], tmp_path: Path) -> Ask:
    """``ask("runs")``: outputs of that command that together show its keys."""

    def told(*words: str | Path) -> Any:
        return json.loads(kvgate(*words, "--json").stdout)

    def verified() -> Any:
        key, cert, trust = tmp_path / "vendor", tmp_path / "certificate.json", tmp_path / "allowed_signers"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "Li Wei", "-f", key], check=True)
        trust.write_text(f"vendor {key.with_suffix('.pub').read_text()}")
        words = (
            "--key",
            key,
            "--party",
            "vendor",
            "--trust",
            trust,
            "-o",
            cert,
            *stored.words,
            "--evidence",
            stored.var / "evidence",
        )
        assert kvgate("certify", stored.run, *words).exit_code == 0
        return told("verify", cert, "--trust", trust)

    def soaked(verb: str) -> Any:
        file = tmp_path / "rack.yaml"
        file.write_text(
            inventory(tmp_path / "hosts", ports=(1, 1))
        )  # where nobody answers: every key is there all the same
        words = ["soak", verb, "--soaks", tmp_path / "soaks", "--json"]
        if verb == "schedule":
            key = tmp_path / "timer"
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
            at = ("--at", "2099-01-01 10:00", "--units", tmp_path / "units", "--key", key, "--party", "vendor")
            kvgate(*words, "--inventory", file, "--allow-load", *at)
            return json.loads(kvgate(*words).stdout)
        about = {"fingerprint": reader.read(file).fingerprint, "begun": "2026-11-29", "plans": {}, "scale": 1}
        Store.create(tmp_path / "soaks", "soak-t", about)
        if (
            verb == "start"
        ):  # where a host does not answer nothing is begun: what the verb would print is that of the others
            verb = "status"
            words[1] = verb
        return json.loads(kvgate(*words, "--inventory", file).stdout)

    def outputs(command: str) -> list[Any]:
        if command == "runs":
            return [told("runs", *stored.words)]
        if command == "status":
            return [told("status", *stored.words)]
        if command == "show":
            shown = told("show", stored.run, *stored.words)
            name = next(row["evidence"][0] for row in shown["verdicts"] if row["outcome"] == "STOP")
            return [shown, told("show", stored.run, name, *stored.words)]
        if command == "judge":
            words = (stored.run, *stored.words, "--evidence", stored.var / "evidence", "--json")
            return [json.loads(started("judge", *words).stdout)]
        if command == "audit":
            where = tmp_path / "elsewhere"  # with no evidence below it: something is found
            return [told("audit", *stored.words, "--evidence", where, "--certificates", where)]
        if command == "verify":
            return [verified()]
        if command == "figures":
            samples = ROOT / "tests/parsers/vllm-bench-serve"
            return [told("figures", "vllm-bench", samples / "0.32--completions-detailed.txt")]
        if command.startswith("ledger "):
            exported = told("ledger", "export", tmp_path / "ledger", *stored.words)
            words = ("--ledger", f"sqlite:///{tmp_path}/there.db")
            return [exported if "export" in command else told("ledger", "import", tmp_path / "ledger", *words)]
        if command == "inventory check":
            (tmp_path / "overlay.yaml").write_text(
                "overlay: {G1.2.9: {limits: {media_errors: {value: 1, unit: errors, origin: contract}}}}\n"
            )
            good = tmp_path / "good.yaml"
            good.write_text("acceptance: overlay.yaml\n" + (ROOT / "inventories" / "demo.yaml").read_text("utf-8"))
            (tmp_path / "bad.yaml").write_text("rack: <x>\n")
            return [told("inventory", "check", good), told("inventory", "check", tmp_path / "bad.yaml")]
        if command.startswith("soak "):
            return [soaked(command.split()[1])]
        if command in ("inventory draft", "doctor"):
            with serve() as rack:
                if command == "doctor":
                    return [told("doctor", "--inventory", rack.inventory)]
                return [
                    told(
                        "inventory", "draft", *rack.words(), "--identity", rack.identity, "-o", tmp_path / "draft.yaml"
                    )
                ]
        return [told(*command.split())]

    return outputs


@pytest.mark.parametrize("command", documented())
def test_exactly_the_documented_keys_come_out(ask: Ask, command: str) -> None:
    page = documented()[command]
    seen = {key for output in ask(command) for key in keys(output)}
    for key, empty in seen:
        prefixes = {pattern[: len(key)] for pattern in page} if empty else page
        assert any(matches(pattern, key) for pattern in prefixes), f"{'.'.join(key)} is not documented"
    for pattern in page:
        shown = any(matches(pattern, key) for key, _ in seen)
        hidden = any(empty and matches(pattern[: len(key)], key) for key, empty in seen)
        assert shown or hidden, f"{'.'.join(pattern)} never comes"


def test_every_command_with_json_is_documented() -> None:
    found: list[str] = []

    def walk(group: click.Group, before: str) -> None:
        for name in group.list_commands(click.Context(group)):
            command = group.get_command(click.Context(group), name)
            if isinstance(command, click.Group):
                walk(command, f"{before}{name} ")
            elif command is not None and any("--json" in one.opts for one in command.params):
                found.append(f"{before}{name}")

    walk(main, "")
    assert {" ".join(word for word in title.split() if not word.startswith("-")) for title in documented()} == set(
        found
    )
