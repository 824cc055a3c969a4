"""The command line: one file per command, thin shells over `shardkit.api`, `verification` and `dataset`.

Options, tables and progress bars belong here; decisions do not. A command's imports are inside it, so `--help` is fast.
Errors of the library become one message and an exit code.
"""

from shardkit.cli.main import main

__all__ = ["main"]
