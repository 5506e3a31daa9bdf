"""The terminal, if there is one."""

import os
import sys

from rich.console import Console


def screen(stderr: bool = False) -> Console:
    """What is printed to; a notebook's cell counts as a file, and so does what FORCE_COLOR alone calls a terminal."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, force_terminal=stream.isatty() and "JPY_PARENT_PID" not in os.environ)
