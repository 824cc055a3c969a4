"""Run the command line: one file per command, thin shells over the packages below.

`convert` and `plan` call `shardkit.api`; `verify` calls `verification`; `info` calls `dataset` and `statistics`;
`preview`, `show` and `extract` call `examples`; `report`, `bench` and `doctor` call the packages of their names.
`options` has the options that commands share, `printing` what they print, `progress` what they show while they run,
`terminal` where it goes. Decisions do not belong here. Imports are inside the commands, so `--help` is fast. Errors of
the library become one message and an exit code.
"""

from shardkit.cli.main import main

__all__ = ["main"]
