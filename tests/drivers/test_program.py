"""The program that travels: the one that stands in the repository, on every Python that a load host may have."""

from __future__ import annotations

import ast
import base64
import hashlib
import shutil
import subprocess
import zlib
from dataclasses import replace

import pytest

from checks.serving import launcher, program
from checks.serving.client import COMMAND, Mode, Work, client
from kvgate.drivers.program import CLIENT, LAUNCHER, Program
from tests.drivers.served import DONE, Served, said, usage, whole

PYTHONS = [f"python3.{minor}" for minor in range(8, 15)]


@pytest.mark.parametrize(
    "sent, digest, payload",
    [(CLIENT, program.DIGEST, program.PAYLOAD), (LAUNCHER, launcher.DIGEST, launcher.PAYLOAD)],
)
def test_what_is_sent_is_what_stands_in_the_repository(sent: Program, digest: str, payload: str) -> None:
    """Of the unpacked text: compressors differ from machine to machine, which is why the packed one is kept."""
    unpacked = zlib.decompress(base64.b64decode(payload))
    assert unpacked.decode() == sent.source(), "run `make client`"
    assert hashlib.sha256(unpacked).hexdigest() == digest
    assert sent.packed().split("PAYLOAD")[0] == sent.place.read_text("utf-8").split("PAYLOAD")[0]


_BOTH = {"__future__", "hashlib", "json", "signal", "struct", "sys", "time", "typing"}


@pytest.mark.parametrize(
    "sent, more",
    [
        (CLIENT, {"asyncio", "gc", "urllib"}),
        (LAUNCHER, {"contextlib", "os", "shutil", "subprocess", "tempfile"}),
    ],
)
def test_the_program_is_python_3_8_and_asks_for_nothing_but_the_standard_library(sent: Program, more: set[str]) -> None:
    tree = ast.parse(sent.source(), feature_version=(3, 8))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = {alias.name for node in found if isinstance(node, ast.Import) for alias in node.names}
    modules |= {str(node.module).split(".")[0] for node in found if isinstance(node, ast.ImportFrom)}
    assert modules == _BOTH | more


def test_the_command_is_one_line_of_a_size_that_every_kernel_takes() -> None:
    asked = Work(Mode.MEASURE, ("http://[::1]:8000",), "a model's name", 7, "c8/1", 320, 32768, 128, 32, (100, 900))
    line = client(asked).command()
    assert "\n" not in line
    assert len(line.encode()) < 2**15  # one argument may have 2**17 bytes
    told = subprocess.run(["sh", "-c", f"printf '%s\\0' {line}"], capture_output=True, text=True, check=True).stdout
    assert told.split("\0") == [*COMMAND, asked.options, ""]


def _runs(python: str) -> bool:
    return shutil.which(python) is not None and subprocess.run([python, "-c", ""], check=False).returncode == 0


@pytest.mark.parametrize("python", ["python3", *PYTHONS])
def test_it_runs_on_each_python_that_is_here(python: str) -> None:
    if not _runs(python):
        pytest.skip(f"{python} is not on this machine")
    answer = whole(said("a", "length"), usage(16, 1), DONE)
    with Served(lambda _, __: answer) as server:
        asked = Work(Mode.MEASURE, (server.url,), "tiny", 7, "test", 4, 16, 1, 2, (100, 900))
        asked = replace(asked, first=5.0, limit=20.0)
        line = client(asked).command().replace("python3", python, 1)
        told = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True).stdout
    assert [one.status for one in client(asked).parse(told).requests] == ["completed"] * 4
