"""The command line: one module per command, loaded when it is asked for."""

from ._main import main

__all__ = ["main"]
