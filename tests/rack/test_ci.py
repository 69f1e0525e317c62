"""The step of CI that runs the virtual rack: it says why it does not, and fails for nothing but what the rack says wrongly."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

STEP = Path(__file__).parents[2] / ".ci" / "rack.sh"
#: Programs as the step finds them on a machine that can run it; `timeout` leaves its limit out and says what `make` came to.
ABLE = {
    "uname": "echo x86_64", "id": "echo 0", "apt-get": ":", "df": "printf 'h\\n/ 1 1 9000000 1 /\\n'",
    "awk": "exec /usr/bin/awk \"$@\"", "timeout": 'shift 2; exec "$@"', "make": 'echo "made $*"',
}  # fmt: skip


def step(folder: Path, **programs: str) -> tuple[int, list[str]]:
    """Run the step among these programs only; an empty one is not there."""
    tools = folder / "bin"
    tools.mkdir()
    for name in ("sh", "dirname", "date", "cat", "mkdir"):
        (tools / name).symlink_to(str(shutil.which(name)))
    for name, text in {**ABLE, **programs}.items():
        if text:
            (tools / name).write_text(f"#!/bin/sh\n{text}\n")
            (tools / name).chmod(0o755)
    place = folder / "checkout" / ".ci"
    place.mkdir(parents=True)
    shutil.copy(STEP, place)
    done = subprocess.run(
        [str(shutil.which("sh")), str(place / "rack.sh")], env={"PATH": str(tools)}, capture_output=True, text=True, check=False
    )  # fmt: skip
    return done.returncode, done.stdout.splitlines()


PACKAGES = (
    "qemu and what lab/vm/packages.txt lists could not be installed within five minutes (status 1; 124 is the time)"
)
FEW = 'case $* in */proc/meminfo) echo 100;; *) exec /usr/bin/awk "$@";; esac'
ENOUGH = 'case $* in */proc/meminfo) echo 9000;; *) exec /usr/bin/awk "$@";; esac'


@pytest.mark.parametrize(
    ("programs", "why"),
    [
        ({"uname": "echo aarch64"}, "found a machine of aarch64, wanted x86_64"),
        ({"id": "echo 1000", "sudo": "exit 1"}, "neither root nor sudo without a password, which the image is built with"),
        ({"apt-get": ""}, "no apt-get, by which qemu and the image are had"),
        ({"df": "printf 'h\\n/ 1 1 9000 1 /\\n'"}, "found 8 MB of disk free, wanted 4000"),
        ({"awk": FEW}, "found 100 MB of memory free, wanted 5000"),
        ({"make": "[ $1 != setup-rack ]"}, PACKAGES),
        ({"make": "[ $1 != build/rack/kernel ]"}, "the image could not be built within eight minutes (status 1; 124 is the time)"),
        ({"make": "[ $1 != rack ]"}, "the machines did not start within seven minutes (status 1; 124 is the time)"),
        ({"make": "[ $1 != test-rack-short ] || exit 124"}, "the short form did not end within 20 minutes"),
    ],
)  # fmt: skip
def test_a_machine_that_cannot_skips_with_the_reason(tmp_path: Path, programs: dict[str, str], why: str) -> None:
    status, said = step(tmp_path, **{"awk": ENOUGH, **programs})
    assert status == 0
    assert f"rack: skipped: {why}" in said


@pytest.mark.parametrize("status", [0, 1, 2])
def test_what_the_rack_says_is_what_the_step_says(tmp_path: Path, status: int) -> None:
    (tmp_path / "checkout" / "var" / "test-rack").mkdir(parents=True)
    (tmp_path / "checkout" / "var" / "test-rack" / "report.md").write_text("the page\n")
    ended, said = step(tmp_path, awk=ENOUGH, make=f'echo "made $1"; [ $1 != test-rack-short ] || exit {status}')
    assert ended == status
    assert said[-2:] == ["the page", "made rack-down"]
