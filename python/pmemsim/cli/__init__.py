"""The command `pmemsim`."""

from pmemsim.cli.app import main

__all__ = ["main"]
