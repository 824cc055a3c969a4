"""`shardkit.convert` and `shardkit.plan`."""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from shardkit.conversion.arguments import read_arguments, with_options
from shardkit.extras import require_extra

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from shardkit.conversion.arguments import ConvertArguments, PlanArguments
    from shardkit.conversion.planning.plan import Plan
    from shardkit.conversion.writing.conversion import Conversion, Outcome
    from shardkit.options.call import Call, Change

__all__ = ["convert", "plan", "submit"]

T = TypeVar("T")


@with_options("convert")
def convert(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    **options: "Unpack[ConvertArguments]",
) -> "Outcome":
    """Convert labelled images into balanced TFRecord shards with a manifest; the same as ``shardkit convert``.

    An interrupted conversion is resumed when it is called again. If the output holds the finished conversion already,
    nothing is written. A dataset that is converted passes its own rules on, in place of the defaults below;
    ``splits="own"``, and ``"none"`` for numbers, groups and subsampling, overrule a rule of the dataset.

    Args:
        source: A folder, table, list, label file, archive or dataset; local, s3:// or gs://. `shardkit help layouts`
            describes all layouts. A list of several becomes one dataset; ``"train=PATH"`` gives the split of one.
        output: A new or empty folder; local, s3:// or gs://.
        **options: The options, each with its group; `help` and the pages list them.

    Returns:
        The manifest, what this run did, and findings: facts about the source to check before training.

    Raises:
        CallError: An argument is wrong or does not fit the source, the source looks misread (one class only), or the
            output holds files of others.
        MissingExtraError: The packages of the extra ``convert`` are not installed.
        DataError: Too many images are bad, the source changed meanwhile, there is nothing to convert, or the output
            holds a different dataset and `overwrite` is off.
        MachineError: The disk, the network or the runner failed. Finished shards are kept for the next call.
    """
    return _with_conversion(source, output, options, lambda conversion: conversion.run())


def submit(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    **options: "Unpack[ConvertArguments]",
) -> None:
    """Begin a conversion on an engine, and return when the engine has taken the job: ``convert --no-wait``.

    Args:
        source: See `convert`.
        output: See `convert`.
        **options: See `convert`; `beam_options` names the engine.

    Raises:
        CallError: See `convert`; or the job would end with this process.
        DataError: The output holds a different dataset and `overwrite` is off.
        MachineError: The disk, the network or the runner failed.
    """
    _with_conversion(source, output, options, lambda conversion: conversion.submit())


def _with_conversion(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    options: "ConvertArguments",
    act: "Callable[[Conversion], T]",
) -> "T":
    given = read_arguments("convert", options)
    require_extra("convert", "converting")
    from shardkit.api.advice import answering
    from shardkit.conversion.option_values import conversion_values, location, source_locations, source_texts
    from shardkit.options.call import Call

    beam_options = tuple(options.get("beam_options", ()))
    call = Call("convert", source_texts(source), os.fspath(output), given, beam_options)
    with answering(call, planning(call)):
        from shardkit.api.executors import make_executor
        from shardkit.conversion.writing.conversion import Conversion
        from shardkit.conversion.writing.reject_limit import DEFAULT_MAX_REJECTED, RejectLimit
        from shardkit.parallel.progress import Silent

        listener = options.get("listener") or Silent()
        output_url = location("OUTPUT", output)
        # Before a store is asked what SOURCE is: that may take a minute to fail, and the paths alone may be wrong.
        places = dict(zip(("SOURCE",), call.sources, strict=False)) | {"OUTPUT": output_url}
        executor = make_executor(beam_options, given.get("workers"), listener.say, **places)
        source_url, *also = source_locations(source)
        source_options, converting = conversion_values(source_url, given, listener.say, also, output_url)
        conversion = Conversion(
            source_url,
            output_url,
            converting,
            executor,
            source_options=source_options,
            limit=RejectLimit.parse(given.get("max_rejected", DEFAULT_MAX_REJECTED)),
            overwrite=given.get("overwrite", False),
            listener=listener,
            call=call,
        )
        return act(conversion)


@with_options("plan")
def plan(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    explain: bool = False,
    **options: "Unpack[PlanArguments]",
) -> "Plan":
    """Plan a conversion without writing anything; the same as ``shardkit plan``.

    Args:
        source: See `convert`.
        explain: Whether `layout_reasons` of the plan says why the layout was chosen, and a question about the source
            names three images of each class of each reading.
        **options: The options, each with its group; `help` and the pages list them.

    Returns:
        The plan: splits with the sizes and classes of their shards, rejected images, reasons and findings.

    Raises:
        CallError: An argument is wrong or does not fit the source, or the source looks misread (one class only).
        MissingExtraError: The packages of the extra ``convert`` are not installed.
        DataError: There is nothing to convert.
        MachineError: The disk, the network or the runner failed.
    """
    given = read_arguments("plan", options)
    require_extra("convert", "planning")
    from shardkit.api.advice import answering
    from shardkit.conversion.option_values import conversion_values, source_locations, source_texts
    from shardkit.options.call import Call

    beam_options = tuple(options.get("beam_options", ()))
    call = Call("plan", source_texts(source), None, given, beam_options)
    with answering(call, planning(call), shows_images=explain):
        source_url, *also = source_locations(source)
        from shardkit.api.executors import make_executor
        from shardkit.conversion.writing.source_plan import planned_source
        from shardkit.parallel.progress import Silent

        listener = options.get("listener") or Silent()
        source_options, converting = conversion_values(source_url, given, listener.say, also)
        executor = make_executor(beam_options, given.get("workers"), listener.say, SOURCE=source_url)
        given_values = source_url, source_options, converting, executor, listener, call
        with planned_source(*given_values, explain=explain) as (_, planned):
            return planned


def planning(call: "Call") -> "Callable[[Change], Plan]":
    """Return the function that plans a conversion with a change of its call, on the listing of the source only."""

    def planned(change: "Change") -> "Plan":
        from shardkit.api.advice import values_with
        from shardkit.conversion.option_values import conversion_values, source_locations
        from shardkit.conversion.writing.source_plan import planned_source
        from shardkit.parallel.progress import Silent
        from shardkit.parallel.threads import ThreadExecutor

        source_url, *also = source_locations(call.changed(change).sources)
        silent = Silent()
        source_options, options = conversion_values(
            source_url, values_with(call, change), silent.say, also, call.target
        )
        with planned_source(source_url, source_options, options, ThreadExecutor(1), silent) as (_, plan):
            return plan

    return planned
