"""The type of `--output`: a file whose folder is there, so that long work does not fail at its end."""

import os
from pathlib import Path
from typing import Any

import click


class OutputFile(click.Path):
    """A file that will be written."""

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
