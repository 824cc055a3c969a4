"""How a long command reports: the option ``--log-format``, and the type of `--output`, a file."""

import os
from pathlib import Path
from typing import Any

import click

from shardkit.cli.progress.displays import LOG_FORMATS

log_format_option = click.option(
    "--log-format",
    type=click.Choice(LOG_FORMATS),
    default=LOG_FORMATS[0],
    show_default=True,
    help="Format of messages and progress on standard error; json: one object per line.",
)


class OutputFile(click.Path):
    """A file that will be written; its folder must exist, so that long work does not fail at its end."""

    def __init__(self) -> None:
        """Take paths, but no folders."""
        super().__init__(dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """See ParamType; fails if the file's folder is not there or takes no files."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        folder = path.absolute().parent
        if not folder.is_dir():
            self.fail(f"{path}: there is no folder {folder}; make it first", param, ctx)
        if not os.access(folder, os.W_OK):
            self.fail(f"{path}: the folder {folder} may not be written into", param, ctx)
        return path
