"""The ``kvgate`` command and ``python -m kvgate``: loads the command line, and bears Ctrl-C while it does."""

from __future__ import annotations

import sys


def run() -> None:
    """Run the command line; it ends the process with its own status."""
    try:
        from kvgate.cli import main

        main(prog_name="kvgate")
    except KeyboardInterrupt:
        sys.stderr.write("kvgate: interrupted\n")  # before any language could be known
        sys.exit(2)


if __name__ == "__main__":
    run()
