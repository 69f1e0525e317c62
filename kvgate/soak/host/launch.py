"""Starting the worker so that it outlives whoever started it, and telling afterwards what became of it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from .journal import canonical, digest, segments, write_into
from .times import boot_id, living, now, started

#: Beside the soaks of a host: a line for each that ever began there, whoever began it.
BEGUN = "begun.jsonl"

_STARTS = 45.0  # seconds that a worker has to say that it is there: a host under load lends Python no more
_STOPS = 75.0  # seconds that it has to end: its loads get TERM first
_QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}


def small(path: Path) -> dict[str, Any]:
    """A small file as an object; empty where there is none or it makes no sense."""
    try:
        found = json.loads(path.read_text("ascii"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def status(folder: Path) -> dict[str, Any]:
    """What became of the worker.

    ``running``; ``ended`` as its exit.json says; ``vanished``: it began, lives no more and left no word (``rebooted`` says
    that the host did); ``absent``: it never began; ``damaged``: its plan cannot be read, and nothing of it lives. ``damaged`` names
    the files that cannot be read: names are those of the folders then, and a worker is looked for among the processes.
    ``unread``: bytes of the journal that nobody acknowledged; ``full``: less is free than the plan wants to stay free, so that the
    journal gets no room.
    """
    state, done, plan = small(folder / "state.json"), small(folder / "exit.json"), small(folder / "plan.json")
    boot, at, there = boot_id(), now(), segments(folder) if folder.is_dir() else []
    damaged = []
    if not all(plan.get(key) for key in ("soak", "host", "scale", "seconds", "bounds")):
        damaged, plan = ["plan.json"], {"soak": folder.parent.name, "host": folder.name}
    if not all(state.get(key) for key in ("boot", "pid", "start")):
        if (folder / "state.json").exists():
            damaged.append("state.json")
        state = _found(folder, boot) if there or damaged else {}
    safe = small(folder / "acknowledged.json").get("segment", 0)
    found: dict[str, Any] = {
        "folder": str(folder), "soak": plan.get("soak", ""), "host": plan.get("host", ""), "scale": plan.get("scale", 0),
        "seconds": plan.get("seconds", 0), "boot": boot, "utc": at.utc, "mono": round(at.mono, 6),
        "origin": small(folder / "origin.json"), "started": state, "exit": done, "rebooted": False,
        "segments": [[number, path.stat().st_size] for number, path in there], "rack": plan.get("rack", ""),
        "campaign": plan.get("campaign", ""), "unread": sum(path.stat().st_size for number, path in there if number > safe),
        "free": _free(folder), "full": False, "damaged": damaged,
    }  # fmt: skip
    if "bounds" in plan and found["free"] is not None:
        found["full"] = found["free"] < int(plan["bounds"]["free_bytes"])
    if done and (state or there or damaged):
        found["state"] = "ended"
    elif state and state["boot"] == boot and living(int(state["pid"]), str(state["start"])):
        found["state"] = "running"
    elif "plan.json" in damaged and folder.is_dir():
        found["state"] = "damaged"
    elif not state and not there:
        found["state"] = "absent"
    else:
        found["state"], found["rebooted"] = "vanished", bool(state) and state["boot"] != boot
    return found


def _found(folder: Path, boot: str) -> dict[str, Any]:
    """The worker of a folder as the processes of this host tell it, where its own word cannot be read; empty where none lives."""
    wanted = os.fsencode(str(folder / "worker.pyz"))
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            begun = started(pid)
            if begun is not None and wanted in words and b"run" in words:
                told = dict(one.partition(b"=")[::2] for one in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))
                own = {"unit": told.get(b"KVGATE_SOAK_UNIT", b"process"), "invocation": told.get(b"INVOCATION_ID", b"")}
                return {"pid": pid, "start": begun, "boot": boot, **{key: os.fsdecode(one) for key, one in own.items()}}
    return {}


def _free(folder: Path) -> int | None:
    try:
        told = os.statvfs(str(folder))
    except OSError:
        return None
    return told.f_bavail * told.f_frsize


def start(folder: Path) -> dict[str, Any]:
    """Start the worker, or attach to the one that runs; one that vanished is resumed. ``did`` says which it was.

    ``refused``: ``other`` runs on this host, and two would load each other; of two that are started at once one is.
    """
    base = folder.parent.parent
    lock = os.open(str(base), os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = status(folder)
        if before["state"] in ("running", "ended"):
            return {**before, "did": "attached"}
        if before["state"] == "damaged":
            return {**before, "did": "refused", "other": ""}
        for one in sorted(base.glob("*/%s/worker.pyz" % folder.name)):
            if one.parent != folder and status(one.parent)["state"] == "running":
                return {**before, "did": "refused", "other": one.parent.parent.name}
        return _started(folder, before)
    finally:
        os.close(lock)


def _started(folder: Path, before: dict[str, Any]) -> dict[str, Any]:
    end_marked(mark_of(before))  # what a killed worker left running
    plan = small(folder / "plan.json")
    if before["state"] == "absent":
        try:
            _remember(folder, plan)
        except OSError as error:  # a start that nobody could find afterwards is none
            return {**before, "did": "failed", "tried": ["%s: %s" % (BEGUN, error)], "log": ""}
    tried: list[str] = []
    for way in (_system, _user, _process):
        trouble = way(folder, plan)
        if trouble is None:
            break
        tried.append(trouble)
    until = time.monotonic() + _STARTS
    while time.monotonic() < until:
        found = status(folder)
        if found["state"] in ("running", "ended") and found["started"] != before["started"]:
            return {**found, "did": "resumed" if before["state"] == "vanished" else "started", "tried": tried}
        time.sleep(0.05)
    log = folder / "worker.log"
    said = log.read_text("utf-8", "backslashreplace")[-2000:] if log.exists() else ""
    return {**status(folder), "did": "failed", "tried": tried, "log": said}


def _remember(folder: Path, plan: dict[str, Any]) -> None:
    """Write down beside all soaks that this one begins, before it does: that stays when its folder is removed."""
    told = {key: plan.get(key, "") for key in ("soak", "host", "rack", "campaign")}
    with (folder.parent.parent / BEGUN).open("ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":  # what a crash left of a line is a line of its own, and none that can be read
                file.write(b"\n")
        file.write(canonical({**told, "utc": now().utc}).encode("ascii") + b"\n")
        file.flush()
        os.fsync(file.fileno())
    base = os.open(str(folder.parent.parent), os.O_RDONLY)
    try:
        os.fsync(base)
    finally:
        os.close(base)


def unit_of(plan: dict[str, Any]) -> str:
    """Name of the transient unit."""
    return f"kvgate-{plan['soak']}-{plan['host']}.service"


def mark_of(plan: dict[str, Any]) -> str:
    """What every load of this soak on this host carries in its environment."""
    return f"kvgate:{plan['soak']}:{plan['host']}"


def properties(plan: dict[str, Any]) -> list[str]:
    """Bounds of the unit: time, memory, files; what it started ends with it; killed or failed, it begins again and resumes."""
    limit = int(float(plan["seconds"]) / float(plan["scale"])) + 3600
    told = [
        f"RuntimeMaxSec={limit}", f"MemoryMax={plan['bounds']['memory_bytes']}", "LimitNOFILE=65536", "OOMPolicy=continue",
        "KillMode=control-group", "TimeoutStopSec=90", "Restart=on-failure", "RestartSec=5", "StandardOutput=null",
    ]  # fmt: skip
    return [f"--property={one}" for one in told]


def command(folder: Path, plan: dict[str, Any], *, user: bool) -> list[str]:
    """The systemd-run line. A unit that ended is collected, failed or not: what became of it stands in exit.json."""
    kind = ["--user"] if user else []
    mark = "KVGATE_SOAK_UNIT=user" if user else "KVGATE_SOAK_UNIT=system"
    log = f"--property=StandardError=append:{folder / 'worker.log'}"
    name = [
        f"--unit={unit_of(plan)}",
        "--collect",
        "--no-block",
        f"--setenv={mark}",
        f"--working-directory={folder}",
    ]
    return ["systemd-run", *kind, *name, *properties(plan), log, "--", *_argv(folder)]


def _argv(folder: Path) -> list[str]:
    return [sys.executable, str(folder / "worker.pyz"), "run", str(folder)]


def _managed(*more: str) -> bool:
    if shutil.which("systemd-run") is None or shutil.which("systemctl") is None:
        return False
    done = subprocess.run(["systemctl", *more, "is-system-running"], timeout=10, check=False, **_QUIET)  # type: ignore[call-overload]
    return done.stdout.decode().strip() in ("running", "degraded", "starting", "maintenance", "initializing")


def _system(folder: Path, plan: dict[str, Any]) -> str | None:
    if os.geteuid() != 0:
        return "system unit: not root"
    if not _managed():
        return "system unit: no systemd is running"
    return _begin(command(folder, plan, user=False), "system unit", plan)


def _user(folder: Path, plan: dict[str, Any]) -> str | None:
    if os.geteuid() == 0 or not _managed("--user"):
        return "user unit: no systemd of this user is running"
    name = os.environ.get("USER") or str(os.getuid())
    lingers = os.path.exists(f"/var/lib/systemd/linger/{name}") or _ask(["loginctl", "enable-linger", name], "") is None
    if not lingers:
        return "user unit: it would end with the login, and lingering is not permitted (loginctl enable-linger)"
    return _begin(command(folder, plan, user=True), "user unit", plan, "--user")


def _begin(argv: list[str], what: str, plan: dict[str, Any], *more: str) -> str | None:
    """Begin the unit. One of that name that is there already is this worker, begun by somebody else a moment ago."""
    trouble = _ask(argv, what)
    if trouble is None:
        return None
    return None if _ask(["systemctl", *more, "is-active", "--quiet", unit_of(plan)], what) is None else trouble


def _ask(argv: list[str], what: str) -> str | None:
    try:
        done = subprocess.run(argv, timeout=30, check=False, **_QUIET)  # type: ignore[call-overload]
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{what}: {error}"
    return None if done.returncode == 0 else f"{what}: {done.stdout.decode('utf-8', 'backslashreplace').strip()[:500]}"


def _process(folder: Path, plan: dict[str, Any]) -> str | None:
    with (folder / "worker.log").open("ab") as log:
        subprocess.Popen(
            _argv(folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
            cwd="/",
        )
    return None


def stop(folder: Path) -> dict[str, Any]:
    """End the worker and whatever it started; what it wrote stays. Returns when it has ended.

    One that vanished gets its exit.json from here: it is over, and nothing resumes it any more.
    """
    found = status(folder)
    if found["state"] == "running":
        pid, begun = int(found["started"]["pid"]), str(found["started"]["start"])
        kind = found["started"]["unit"]
        asked = kind != "process" and _ask(
            ["systemctl", *(["--user"] if kind == "user" else []), "stop", unit_of(found)], "stop"
        )
        if asked is not None and living(pid, begun):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGTERM)
        until = time.monotonic() + _STOPS
        while living(pid, begun) and time.monotonic() < until:
            time.sleep(0.05)
        if living(pid, begun):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
    left = end_marked(mark_of(found))
    if status(folder)["state"] in ("vanished", "damaged"):
        at = now()
        word = {"utc": at.utc, "mono": round(at.mono, 6), "boot": boot_id(), "status": 1, "why": "vanished"}
        write_into(folder / "exit.json", folder / "exit.reserve", canonical({**word, **_reached(folder)}))
    return {**status(folder), "did": "stopped", "left": left}


def remove(folder: Path, number: int, size: int) -> dict[str, Any]:
    """Remove the folder of a soak that does not run, if its last segment is still the one that was collected. ``did`` says."""
    told = status(folder)
    if told["state"] == "running" or told["segments"][-1:] != [[number, size]][: len(told["segments"])]:
        return {**told, "did": "kept"}
    shutil.rmtree(str(folder))
    return {**told, "did": "removed"}


def _reached(folder: Path) -> dict[str, Any]:
    """Number and digest of the last whole line of the journal; nothing where it has none."""
    for _, path in reversed(segments(folder)):
        raw = path.read_bytes()
        whole = raw[: raw.rfind(b"\n") + 1].splitlines(True)
        if whole:
            return {"seq": json.loads(whole[-1])["seq"], "head": digest(whole[-1])}
    return {}


def end_marked(name: str) -> int:
    """Kill every process that carries the mark; how many still live."""
    mark = f"KVGATE_LOAD={name}".encode()
    for _ in range(20):
        pids = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _marked(pid, mark)]
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if not pids:
            return 0
        time.sleep(0.1)
    return len(pids)


def _marked(pid: int, mark: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            if mark not in file.read().split(b"\0"):
                return False
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False
