"""Find the options of a conversion in a call about a dataset, and refuse them where they have no effect."""

from collections.abc import Collection, Iterator

import click

from shardkit.errors import CallError


def refuse_conversion_options(ctx: click.Context, dataset: str, own: Collection[str], subject: str) -> None:
    """Refuse options that were given and that a dataset has no use for.

    Args:
        ctx: The call.
        dataset: The dataset as the user wrote it.
        own: Names of the parameters that have an effect.
        subject: What the others have no effect on: ``the plan that it was made with``.
    """
    for param in _given(ctx, own):
        msg = (
            f"{dataset} is a dataset, and {param.opts[0]} has no effect on {subject}; `shardkit convert {dataset} NEW` "
            "converts it with other options"
        )
        raise CallError(msg)


def has_conversion_options(ctx: click.Context, own: Collection[str]) -> bool:
    """Return whether an option was given that is not among the call's own."""
    return any(True for _ in _given(ctx, own))


def _given(ctx: click.Context, own: Collection[str]) -> Iterator[click.Parameter]:
    for param in ctx.command.params:
        name = param.name or ""
        if name not in own and ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            yield param
