"""What is installed from a wheel is whole: it works from an empty folder, without the checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("gates", "checks", "kvgate", "lab", "runbooks")
#: Read by people in the checkout only.
ASIDE = ("runbooks/decisions/", "runbooks/images/", "runbooks/example-")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build it from a copy: setuptools leaves its own folders where it builds."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    skip = shutil.ignore_patterns("__pycache__")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, source / name, ignore=skip)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    built = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", folder, source],
        capture_output=True, text=True, env={**os.environ, "PIP_NO_INDEX": "1"}, timeout=200,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel and the packages of this one; it cannot see the checkout."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, with_pip=False, symlinks=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    (packages / "lock.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")) + "\n")
    subprocess.run(
        [folder / "bin/python", "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel],
        check=True, capture_output=True, timeout=200,
    )  # fmt: skip
    return folder / "bin"


def test_every_file_that_is_no_program_is_in_the_wheel(wheel: Path) -> None:
    wanted = {
        str(path.relative_to(ROOT))
        for name in PACKAGES
        for path in (ROOT / name).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    there = set(zipfile.ZipFile(wheel).namelist())
    assert not {name for name in wanted - there if not name.startswith(ASIDE)}


def test_the_installed_program_works_from_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("KVGATE", "PYTHON", "PYTEST"))}
    env |= {"HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}

    def run(*words: str, status: int = 0) -> str:
        done = subprocess.run(
            [installed / words[0], *words[1:]], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=200
        )
        assert done.returncode == status, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout

    assert str(installed.parent) in run("python", "-c", "import kvgate; print(kvgate.__file__)")
    run("kvgate", "demo", "G1")
    (newest,) = json.loads(run("kvgate", "runs", "--json"))
    assert newest["outcome"] == "PASS"
    assert "G1.2.9" in run("kvgate", "explain", "G1.2.9")
    assert "Mend" in run("kvgate", "runbook", "G1.2.9")
    assert "TTFT" in run("kvgate", "reference")
    assert "G1" in run("kvgate", "status")
    assert "介质" in run("kvgate", "--lang", "zh", "explain", "G1.2.9")
    run("kvgate", "report", newest["run"], "--html", "report.html")
    assert "</html>" in (tmp_path / "report.html").read_text("utf-8")
    (inventory,) = tmp_path.glob("var/demo/*.yaml")
    assert "nvme" in run("python", "-m", "pytest", "-m", "G1", "--inventory", str(inventory), "--plan")
    assert "nvme" in run("python", "-m", "pytest", "-m", "G2", "--inventory", str(inventory), "--plan")
    run("kvgate", "judge", newest["run"])
