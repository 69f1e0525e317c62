"""One client process: asks all hosts of a job in one way, and tells what that cost. ``python -m bench.ways WAY JOB``.

Every way imports what it needs first; the clock and the CPU meter start after that.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Literal

from bench.job import Job, Target, Told

Counted = tuple[int, int]  # answers, bytes of standard output
Way = Callable[[Job], Callable[[], Counted]]

_ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER


def kvgate(job: Job, ssh: Literal["builtin", "openssh"] = "builtin") -> Callable[[], Counted]:
    """The transport of this project: one batch a host."""
    from kvgate.inventory.model import Defaults, Host
    from kvgate.transport.base import Answer, Batch, Command
    from kvgate.transport.ssh import SshTransport

    hosts = {
        one.name: Host(role="node", address=one.address, port=one.port, host_key=one.host_key, ssh=ssh)
        for one in job.targets
    }
    defaults = Defaults(user=job.user, identity=job.key)
    config = Path(job.ssh_config) if ssh == "openssh" else Path(os.devnull)  # the key stands in the inventory
    commands = [Command(str(n), line, job.limits[n], reads=True) for n, line in enumerate(job.lines)]

    def count(batch: Batch) -> Counted:
        told = [answer for answer in batch.answers.values() if isinstance(answer, Answer)]
        return len(told), sum(len(answer.stdout) for answer in told)

    def go() -> Counted:
        transport = SshTransport(hosts, defaults, workers=job.workers, config=config)
        counted = _sum(count(batch) for batch in transport.each(dict.fromkeys(hosts, commands)))
        transport.close()
        return counted

    return go


def kvgate_openssh(job: Job) -> Callable[[], Counted]:
    """The same through ``ssh`` processes, as for hosts with ``ssh: openssh``."""
    return kvgate(job, "openssh")


def _ssh(job: Job, one: Target) -> list[str]:
    program = shutil.which("ssh") or "ssh"
    return [program, "-F", job.ssh_config, "-p", str(one.port), f"{job.user}@{one.address}", "sh -s"]


def ssh(job: Job) -> Callable[[], Counted]:
    """Plain ``ssh`` processes that send the same batch; each writes to a file that nobody reads: the floor."""

    def start(one: Target) -> None:
        argv = _ssh(job, one)
        writing = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        files = [
            (os.POSIX_SPAWN_OPEN, 0, job.script, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(_output(job, one)), writing, 0o600),
        ]
        os.posix_spawn(argv[0], argv, os.environ, file_actions=files)

    def go() -> Counted:
        todo, running = iter(job.targets), 0
        for one in todo:
            start(one)
            running += 1
            if running == job.workers:
                os.wait()
                running -= 1
        for _ in range(running):
            os.wait()
        return 0, 0

    return go


def ssh_read(job: Job) -> Callable[[], Counted]:
    """The same ``ssh`` processes in a pool of threads that read their output, as a program that judges it must."""
    import subprocess

    script = Path(job.script).read_bytes()

    def one_host(one: Target) -> Counted:
        done = subprocess.run(_ssh(job, one), input=script, capture_output=True, check=False)
        _output(job, one).write_bytes(done.stdout[-200:])
        return 0, len(done.stdout)

    def go() -> Counted:
        with ThreadPoolExecutor(job.workers) as pool:
            return _sum(pool.map(one_host, job.targets))

    return go


def testinfra_paramiko(job: Job) -> Callable[[], Counted]:
    """pytest-testinfra with its paramiko backend, a thread a host, a command at a time."""
    return _testinfra(job, "paramiko")


def testinfra_ssh(job: Job) -> Callable[[], Counted]:
    """pytest-testinfra with its ssh backend (ControlPersist)."""
    return _testinfra(job, "ssh")


def _testinfra(job: Job, backend: str) -> Callable[[], Counted]:
    import testinfra

    more = {"controlpersist": 60} if backend == "ssh" else {}

    def one_host(one: Target) -> Counted:
        place = f"{backend}://{job.user}@{one.address}:{one.port}"
        host = testinfra.get_host(place, ssh_config=job.ssh_config, ssh_identity_file=job.key, **more)
        results = [host.run(line) for line in job.lines]
        return len(results), sum(len(result.stdout_bytes) for result in results)

    def go() -> Counted:
        with ThreadPoolExecutor(job.workers) as pool:
            return _sum(pool.map(one_host, job.targets))

    return go


def parallel_ssh(job: Job) -> Callable[[], Counted]:
    """parallel-ssh, a run_command for each command."""
    return _parallel_ssh(job, job.lines)


def parallel_ssh_batch(job: Job) -> Callable[[], Counted]:
    """parallel-ssh sending the same batch as one command."""
    return _parallel_ssh(job, (_as_one_command(job),))


def _parallel_ssh(job: Job, lines: tuple[str, ...]) -> Callable[[], Counted]:
    from pssh.clients import ParallelSSHClient
    from pssh.config import HostConfig

    def go() -> Counted:
        places = [HostConfig(port=one.port) for one in job.targets]
        client = ParallelSSHClient(
            [one.address for one in job.targets],
            user=job.user,
            pkey=job.key,
            pool_size=job.workers,
            host_config=places,
            allow_agent=False,
            identity_auth=False,
        )
        counted: list[Counted] = []
        for line in lines:
            outputs = client.run_command(line)
            client.join(outputs)
            for output in outputs:
                counted.append((1, sum(len(text.encode()) + 1 for text in output.stdout)))
                list(output.stderr)
        return _sum(counted)

    return go


def fabric_group(job: Job) -> Callable[[], Counted]:
    """fabric's ThreadingGroup, a run for each command."""
    return _fabric(job, job.lines)


def fabric_group_batch(job: Job) -> Callable[[], Counted]:
    """fabric's ThreadingGroup sending the same batch as one command."""
    return _fabric(job, (_as_one_command(job),))


def _fabric(job: Job, lines: tuple[str, ...]) -> Callable[[], Counted]:
    import fabric

    config = fabric.Config(overrides={"load_ssh_configs": False})
    keys = {"key_filename": job.key, "allow_agent": False, "look_for_keys": False}

    def go() -> Counted:
        connections = [
            fabric.Connection(one.address, user=job.user, port=one.port, config=config, connect_kwargs=keys)
            for one in job.targets
        ]
        group = fabric.ThreadingGroup.from_connections(connections)
        counted: list[Counted] = []
        for line in lines:
            results = group.run(line, hide=True, warn=True, in_stream=False)
            counted += [(1, len(result.stdout.encode())) for result in results.values()]
        group.close()
        return _sum(counted)

    return go


WAYS: dict[str, Way] = {
    "kvgate": kvgate,
    "kvgate-openssh": kvgate_openssh,
    "ssh": ssh,
    "ssh-read": ssh_read,
    "testinfra-paramiko": testinfra_paramiko,
    "testinfra-ssh": testinfra_ssh,
    "parallel-ssh": parallel_ssh,
    "parallel-ssh-batch": parallel_ssh_batch,
    "fabric": fabric_group,
    "fabric-batch": fabric_group_batch,
}


def _sum(counted: Iterator[Counted] | list[Counted]) -> Counted:
    answers, size = 0, 0
    for more, bytes_ in counted:
        answers, size = answers + more, size + bytes_
    return answers, size


def _output(job: Job, one: Target) -> Path:
    return Path(job.folder) / f"{one.name}.out"


def _as_one_command(job: Job) -> str:
    import shlex

    return f"sh -c {shlex.quote(Path(job.script).read_text('utf-8'))}"


def _spent() -> float:
    mine, theirs = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return mine.ru_utime + mine.ru_stime + theirs.ru_utime + theirs.ru_stime


def _peak() -> int:
    """Peak of this program alone: ru_maxrss would begin with what the process was before it became this program."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:", 1)[1].split(maxsplit=1)[0]) * 1024


def _reap() -> None:
    """End what a library left running in the background (ssh masters), so that its CPU is counted too."""
    for task in Path(f"/proc/{os.getpid()}/task").glob("*/children"):
        for pid in task.read_text().split():
            with suppress(OSError):
                os.kill(int(pid), signal.SIGTERM)
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def main() -> None:
    ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1, 0, 0, 0)
    job = Job.read(Path(sys.argv[2]))
    go = WAYS[sys.argv[1]](job)
    imported, cpu, begun = _peak(), _spent(), time.monotonic()
    answers, size = go()
    wall = time.monotonic() - begun
    peak = _peak()
    _reap()
    told = Told(wall, _spent() - cpu, peak, imported, answers, size)
    print(json.dumps(asdict(told)), flush=True)


if __name__ == "__main__":
    main()
