#!/usr/bin/env python3
"""A container runtime for tests: it answers what kvgate asks of docker, podman and nerdctl, in the words of whichever it is called as.

States, images and process ids lie in files named after the container in KVGATE_STATE. KVGATE_RUNTIME says what is wrong with it:
``down`` (no daemon) or ``denied`` (nobody may ask).
"""

import os
import sys
from pathlib import Path

NAME = Path(sys.argv[0]).name
STATE = Path(os.environ["KVGATE_STATE"])
WRONG = {
    (
        "docker",
        "down",
    ): "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
    ("docker", "denied"): (
        "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: Get "
        '"http://%2Fvar%2Frun%2Fdocker.sock/v1.46/containers/{}/json": dial unix /var/run/docker.sock: connect: permission denied'
    ),
    ("nerdctl", "down"): (
        'time="2026-11-30T03:00:00Z" level=fatal msg="cannot access containerd socket \\"/run/containerd/containerd.sock\\": no such '
        'file or directory"'
    ),
    (
        "podman",
        "denied",
    ): "Error: creating runtime static files directory: mkdir /var/lib/containers/storage: permission denied",
}
MISSING = {
    "docker": "Error response from daemon: No such container: {}",
    "podman": 'Error: no such container "{}"',
    "nerdctl": 'time="2026-11-30T03:00:00Z" level=fatal msg="1 errors: [no such container: {}]"',
}


def fail(text: str, name: str) -> int:
    """Refuse, as these runtimes do: docker prints an empty line on its standard output first."""
    if NAME == "docker":
        sys.stdout.write("\n")
    sys.stderr.write(text.format(name) + "\n")
    return 1 if NAME == "docker" else 125


def told(name: str, form: str) -> str:
    """Fill a Go template with what is known of a container."""
    known = {"{{.State.Status}}": "", "{{.State.Pid}}": ".pid", "{{.Image}}": ".image"}
    file = STATE / (name + known[form])
    return file.read_text("utf-8").strip() if file.exists() else "0"


def main(words: list[str]) -> int:
    """Answer one command."""
    name = words[-1]
    if (wrong := WRONG.get((NAME, os.environ.get("KVGATE_RUNTIME", "")))) is not None:
        return fail(wrong, name)
    state = STATE / name
    if not state.exists():
        return fail(MISSING[NAME], name)
    if words[:3] == ["container", "inspect", "-f"]:
        sys.stdout.write(told(name, words[3]) + "\n")
    elif words[:1] == ["start"]:
        state.write_text("running\n", "utf-8")
        sys.stdout.write(name + "\n")
    elif words[:2] == ["stop", "-t"]:
        if told(name, "{{.State.Status}}") != "stuck":
            state.write_text("exited\n", "utf-8")
        sys.stdout.write(name + "\n")
    elif words[:1] == ["logs"]:
        sys.stderr.write("INFO: Application startup complete.\n")
    else:
        raise SystemExit(f"{NAME}: {words}: nobody asks this")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
