"""A PostgreSQL server of our own for one test session: fresh data, unprivileged user, loopback only, gone afterwards."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

USER = "nobody"


def binaries() -> Path:
    """Folder of initdb and postgres; the newest Debian version, else what the PATH has."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    where = found[-1] if found else Path(shutil.which("initdb") or "")
    if not where.name:
        raise RuntimeError("PostgreSQL is not installed; tests/apt-packages.txt names the package")
    return where.parent


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _as_user() -> dict[str, object]:
    """Arguments of subprocess that drop root: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    entry = pwd.getpwnam(USER)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


@contextmanager
def server() -> Iterator[str]:
    """Run a server and give the URL of it without a database name."""
    memory = Path("/dev/shm")
    place = memory if os.access(memory, os.W_OK) else Path("/tmp")
    home = Path(tempfile.mkdtemp(prefix="kvgate-pg-", dir=place))
    drop = _as_user()
    if drop:
        os.chown(home, int(str(drop["user"])), int(str(drop["group"])))
    home.chmod(0o700)
    data, port = home / "data", _free_port()
    base = {"cwd": "/", "env": {"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": str(home)}, **drop}
    made = [
        str(binaries() / "initdb"),
        "-D",
        str(data),
        "-U",
        "kvgate",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--no-sync",
        "--locale=C",
    ]
    subprocess.run(made, check=True, capture_output=True, **base)
    control = [str(binaries() / "pg_ctl"), "-D", str(data), "-l", str(home / "log"), "-w"]
    options = f"-c listen_addresses=127.0.0.1 -p {port} -k {home} -c fsync=off -c max_connections=40"
    try:
        subprocess.run([*control, "-o", options, "start"], check=True, stdout=subprocess.DEVNULL, **base)
        yield f"postgresql://kvgate@127.0.0.1:{port}"
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], check=False, capture_output=True, **base)
        shutil.rmtree(home, ignore_errors=True)
