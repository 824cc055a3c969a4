"""Read a command line with several paths as SOURCE: `shardkit convert A B NEW`, `shardkit plan A B`."""

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import click

from shardkit.cli.options.groups import GroupedCommand

ALSO = "also"  # the parameter with the further paths


class SeveralSourcesCommand(GroupedCommand):
    """A command whose SOURCE may be several paths, if all of them exist and are no images."""

    def take_paths(self, ctx: click.Context, extra: tuple[str, ...]) -> tuple[str, ...]:
        """Take further paths of SOURCE from the arguments; the last path is OUTPUT, if the command has one.

        Args:
            ctx: The call, whose parameters are changed.
            extra: The arguments: paths, and with a runner options of Beam.

        Returns:
            The other arguments; all of them if SOURCE cannot be several paths.
        """
        more = tuple(takewhile(lambda arg: not arg.startswith("-"), extra))
        last = ("output",) if "output" in ctx.params else ()
        paths = [ctx.params["source"], *(ctx.params[name] for name in last), *more]
        sources = paths[: len(paths) - len(last)]
        if not more or not _may_be_sources(sources):
            return extra
        ctx.params |= {"source": sources[0], ALSO: tuple(sources[1:]), **dict.fromkeys(last, paths[-1])}
        return extra[len(more) :]


def sources_of(source: str, given: dict[str, Any]) -> str | list[str]:
    """Return SOURCE for the functions of `shardkit`, and remove the further paths from the other parameters."""
    also = given.pop(ALSO, ())
    return [source, *also] if also else source


def _may_be_sources(paths: Sequence[str]) -> bool:
    """Return whether all paths exist and are not all images, whose folder would be the source."""
    from shardkit.sources.given_files import files_refusal
    from shardkit.sources.recognising.several_sources import named_source
    from shardkit.storage import open_folder

    if not all(paths) or files_refusal(paths):
        return False
    return all(open_folder(named_source(path).url).stat("") is not None for path in paths)
