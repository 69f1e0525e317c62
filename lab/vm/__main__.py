"""``python -m lab.vm up|down|ssh|fault|mend|faults``: the virtual rack of this checkout."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from lab.vm.faults import FAULTS
from lab.vm.rack import NoRack, Rack


def main(words: list[str]) -> int:
    """Do what the first word says; the exit status says whether it was done."""
    parser = argparse.ArgumentParser(prog="python -m lab.vm", description="The virtual rack: two machines under QEMU.")
    parts = parser.add_subparsers(dest="verb", required=True)
    parts.add_parser("up", help="start it (the image must be there: make rack)")
    parts.add_parser("down", help="end it and remove all it left, except for the image")
    shell = parts.add_parser("ssh", help="run a shell script on a machine as root: ssh node 'nvme list'")
    shell.add_argument("machine", choices=("array", "node"))
    shell.add_argument("script")
    for verb, what in (("fault", "break the rack in one way"), ("mend", "the way back from a fault")):
        parts.add_parser(verb, help=what).add_argument("name", choices=sorted(FAULTS))
    parts.add_parser("faults", help="list the ways to break it")
    chosen = parser.parse_args(words)
    rack = Rack.of(Path(__file__).parents[2])
    try:
        if chosen.verb == "up":
            rack.up(_say, int(os.environ.get("RACK_PROCESSORS", "2")))
            _say(f"now: pytest -m G1 --inventory inventories/{rack.inventory.name}")
        elif chosen.verb == "down":
            rack.down()
        elif chosen.verb == "faults":
            sys.stdout.write("".join(f"{fault.name:20} {fault.text}\n" for fault in FAULTS.values()))
        elif chosen.verb in ("fault", "mend"):
            fault = FAULTS[chosen.name]
            (fault.make if chosen.verb == "fault" else fault.mend)(rack)
        else:
            done = rack.machine(chosen.machine).ssh(chosen.script)
            sys.stdout.write(done.stdout)
            sys.stderr.write(done.stderr)
            return done.returncode
    except NoRack as error:
        sys.stderr.write(f"rack: {error}\n")
        return 1
    except subprocess.TimeoutExpired as error:
        sys.stderr.write(
            f"rack: {chosen.machine if chosen.verb == 'ssh' else 'a machine'} did not end within {error.timeout:.0f} s\n"
        )
        return 1
    except FileNotFoundError as error:
        sys.stderr.write(f"rack: {error.filename} is not installed: make rack installs it\n")
        return 1
    except subprocess.CalledProcessError as error:
        sys.stderr.write(f"rack: {' '.join(map(str, error.cmd))} ended with {error.returncode}\n")
        return 1
    return 0


def _say(line: str) -> None:
    sys.stderr.write(f"rack: {line}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
