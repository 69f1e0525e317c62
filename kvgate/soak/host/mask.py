"""What is secret. In the worker's file this module is kvgate/mask.py itself, so that both mask the same."""

from kvgate.mask import Masker

__all__ = ["Masker"]
