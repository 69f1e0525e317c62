"""``python -m kvgate``."""

from kvgate.cli import main

main(prog_name="kvgate")
