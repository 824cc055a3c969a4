"""Read a command line with several paths as SOURCE: `shardkit convert A B NEW`, `shardkit plan A B`.

All are datasets, or all are TFRecord files or folders of them.
"""

from itertools import takewhile
from typing import Any

import click

from shardkit.cli.options.groups import GroupedCommand

ALSO = "also"  # the parameter with the further paths


class SeveralDatasetsCommand(GroupedCommand):
    """A command whose SOURCE may be several paths, if all of them are datasets or all are TFRecords."""

    def take_paths(self, ctx: click.Context, extra: tuple[str, ...]) -> tuple[str, ...]:
        """Take further paths of SOURCE from the arguments; the last path is OUTPUT, if the command has one.

        Args:
            ctx: The call, whose parameters are changed.
            extra: The arguments: paths, and with a runner options of Beam.

        Returns:
            The other arguments; all of them if SOURCE cannot be several such paths.
        """
        more = tuple(takewhile(lambda arg: not arg.startswith("-"), extra))
        last = ("output",) if "output" in ctx.params else ()
        paths = [ctx.params["source"], *(ctx.params[name] for name in last), *more]
        sources = paths[: len(paths) - len(last)]
        if not more or not (all(map(_is_dataset, sources)) or all(map(_is_tfrecords, sources))):
            return extra
        ctx.params |= {"source": sources[0], ALSO: tuple(sources[1:]), **dict.fromkeys(last, paths[-1])}
        return extra[len(more) :]


def sources_of(source: str, given: dict[str, Any]) -> str | list[str]:
    """Return SOURCE for the functions of `shardkit`, and remove the further paths from the other parameters."""
    also = given.pop(ALSO, ())
    return [source, *also] if also else source


def _is_dataset(path: str) -> bool:
    from shardkit.dataset.manifest import find_dataset

    return bool(path) and find_dataset(path) is not None


def _is_tfrecords(path: str) -> bool:
    from shardkit.sources.packed.tfrecord.files import is_tfrecords

    return bool(path) and is_tfrecords(path)
