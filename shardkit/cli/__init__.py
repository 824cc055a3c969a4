"""The command line: one file a command, loaded when it is called; errors become one sentence and an exit code."""

from shardkit.cli.main import main

__all__ = ["main"]
