"""The step of CI that runs the virtual rack: it says why it does not, and fails for nothing but what the rack says wrongly."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

STEP = Path(__file__).parents[2] / ".ci" / "rack.sh"
#: Programs as the step finds them on a machine that can run it; `timeout` leaves its limit out and says what `make` came to.
ABLE = {
    "date": "echo 1000", "uname": "echo x86_64", "id": "echo 0", "apt-get": ":", "df": "printf 'h\\n/ 1 1 9000000 1 /\\n'",
    "awk": "exec /usr/bin/awk \"$@\"", "timeout": 'shift 2; exec "$@"', "make": 'echo "made $*"',
}  # fmt: skip


def step(folder: Path, *words: str, **programs: str) -> tuple[int, list[str]]:
    """Run the step among these programs only; an empty one is not there."""
    return run(folder, [str(shutil.which("sh")), str(checkout(folder, **programs) / ".ci" / "rack.sh"), *words])


def checkout(folder: Path, **programs: str) -> Path:
    """A checkout with the steps of CI, and beside it programs that stand for those of the machine."""
    tools = folder / "bin"
    tools.mkdir()
    for name in ("sh", "bash", "dirname", "cat", "mkdir"):
        (tools / name).symlink_to(str(shutil.which(name)))
    for name, text in {**ABLE, **programs}.items():
        if text:
            (tools / name).write_text(f"#!/bin/sh\n{text}\n")
            (tools / name).chmod(0o755)
    shutil.copytree(STEP.parent, folder / "checkout" / ".ci")
    return folder / "checkout"


def run(folder: Path, words: list[str]) -> tuple[int, list[str]]:
    """Run it there; its status and its lines."""
    path = {"PATH": str(folder / "bin")}
    done = subprocess.run(words, env=path, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


PACKAGES = "qemu and what lab/vm/packages.txt lists could not be installed in time (status 1; 124 is the time)"
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
        ({"make": "[ $1 != build/rack/kernel ]"}, "the image could not be built in time (status 1; 124 is the time)"),
        ({"make": "[ $1 != rack ]"}, "the machines did not start in time (status 1; 124 is the time)"),
        ({"make": "[ $1 != test-rack-short ] || exit 124"}, "the short form did not end in time"),
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


@pytest.mark.parametrize(("first", "second", "ended"), [(1, 0, 0), (1, 2, 2), (1, 124, 1), (1, 137, 1), (124, 0, 0)])
def test_what_failed_is_looked_at_once_more_and_fails_twice_or_not(
    tmp_path: Path, first: int, second: int, ended: int
) -> None:
    (tmp_path / "checkout" / "var" / "test-rack").mkdir(parents=True)
    (tmp_path / "checkout" / "var" / "test-rack" / "report.md").write_text("the page\n")
    make = f'echo "made $*"; [ "$*" != test-rack-short ] || exit {first}; [ "$*" != "test-rack-short RESUME=1" ] || exit {second}'
    status, said = step(tmp_path, awk=ENOUGH, make=make)
    assert status == ended
    assert ("made test-rack-short RESUME=1" in said) is (first == 1)
    assert said[-1] == "made rack-down"


#: `timeout` as the step calls it, which says the limit it was given.
LIMITED = 'echo "limit $2"; shift 2; exec "$@"'


def limits(said: list[str]) -> list[int]:
    return [int(line.split()[1]) for line in said if line.startswith("limit ")]


def test_all_limits_together_leave_ci_its_time(tmp_path: Path) -> None:
    _, said = step(tmp_path, awk=ENOUGH, timeout=LIMITED)
    assert len(limits(said)) == 4
    assert sum(limits(said)) <= 40 * 60


def test_no_step_is_given_more_than_is_left_of_it(tmp_path: Path) -> None:
    _, said = step(tmp_path, "1960", awk=ENOUGH, timeout=LIMITED)  # it is 1000
    assert limits(said) == [300, 480, 420, 900], "a minute is kept for the end of the machines"


@pytest.mark.parametrize(("over", "left"), [("1899", 899), ("900", -100)])
def test_with_little_time_left_it_is_not_begun(tmp_path: Path, over: str, left: int) -> None:
    status, said = step(tmp_path, over, awk=ENOUGH)
    assert (status, said) == (0, [f"rack: skipped: found {left} s of CI's time left, wanted 900"])


@pytest.mark.parametrize(("make", "status", "said"), [
    ('echo "made $*"', 3, ["made test", "rack until 5680"]),
    ("exit 2", 2, []),
])  # fmt: skip
def test_ci_tells_what_the_tests_found_before_the_rack_begins(
    tmp_path: Path, make: str, status: int, said: list[str]
) -> None:
    place = checkout(tmp_path, make=make) / ".ci"
    (place / "rack.sh").write_text('echo "rack until $1"; exit 3\n')
    assert run(tmp_path, [str(shutil.which("bash")), str(place / "run")]) == (status, said)
