"""`shardkit.append`."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from shardkit.conversion.arguments import read_arguments, with_options
from shardkit.errors import CallError, ManifestError
from shardkit.extras import require_extra

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from shardkit.conversion.arguments import AppendArguments
    from shardkit.conversion.planning.plan import Plan
    from shardkit.conversion.writing.appending.append import AppendOutcome
    from shardkit.options.call import Call, Change

__all__ = ["append"]


@with_options("append")
def append(
    dataset: str | os.PathLike[str],
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    **options: "Unpack[AppendArguments]",
) -> "AppendOutcome":
    """Append the labelled images of a source to a dataset, as a generation of it; the same as ``shardkit append``.

    No file of the dataset changes except its manifest, which is replaced in one step. Old examples keep their split and
    their label; new classes come after the old ones. Images are stored as the dataset's are, and the splits that
    shardkit makes follow the dataset's rule. An interrupted append is resumed when it is called again. If the dataset
    has the source already, nothing is written.

    The rules of the dataset stand in the place of the defaults below. Splits, groups, shards and `max_file_size` may
    differ for the new images; another value of any other rule is refused, with the call that gives the dataset this
    rule.

    Args:
        dataset: The dataset's folder; local, s3:// or gs://.
        source: A folder, table, list, label file or archive, or several, as in `shardkit.convert`.
        **options: The options, each with its group; `help` and the pages list them.

    Returns:
        The manifest of the whole dataset, the folder of the new generation, what this run did, and findings.

    Raises:
        CallError: An argument is wrong, differs from a rule of the dataset, or the source does not fit the dataset.
        MissingExtraError: The packages of the extra ``convert`` are not installed.
        DataError: There is no dataset, it has some of the source's keys, too many images are bad, the source changed
            meanwhile, or an append of another source is not finished and `overwrite` is off.
        MachineError: The disk, the network or the runner failed. Finished shards are kept for the next call.
    """
    given = read_arguments("append", options)
    require_extra("convert", "appending")
    from shardkit.api.advice import answering
    from shardkit.conversion.option_values import append_values, location, source_locations, source_texts
    from shardkit.dataset.manifest import read_manifest
    from shardkit.dataset.manifest.pinning import pinned
    from shardkit.options.call import Call

    beam_options = tuple(options.get("beam_options", ()))
    call = Call("append", source_texts(source), os.fspath(dataset), given, beam_options)
    with answering(call, _planning(call)):
        dataset_url = location("DATASET", dataset)
        source_url, *also = source_locations(source)
        if pinned(dataset_url)[1] is not None:
            raise CallError(f"{dataset_url}: images are appended to the current dataset; leave out @sha256:…")
        try:
            manifest = read_manifest(dataset_url)
        except ManifestError:
            _refuse_swapped(call)
            raise
        source_options, changed = append_values(manifest, source_url, given, also)
        from shardkit.api.executors import make_executor
        from shardkit.conversion.planning.rules import as_in_dataset, generation_options
        from shardkit.conversion.writing.appending.append import Append
        from shardkit.conversion.writing.conversion import Conversion
        from shardkit.conversion.writing.reject_limit import DEFAULT_MAX_REJECTED, RejectLimit
        from shardkit.parallel.progress import Silent

        listener = options.get("listener") or Silent()
        if manifest.source.reading is None and source_options.reading is None:
            listener.say(f"{dataset_url} does not remember how its images were read: SOURCE is read on its own")
        converting = generation_options(manifest, changed)
        places = {"SOURCE": source_url, "DATASET": dataset_url}
        conversion = Conversion(
            source_url,
            dataset_url,
            converting,
            make_executor(beam_options, given.get("workers"), listener.say, **places),
            source_options=as_in_dataset(source_options, converting, manifest),
            limit=RejectLimit.parse(given.get("max_rejected", DEFAULT_MAX_REJECTED)),
            overwrite=given.get("overwrite", False),
            listener=listener,
            call=call,
        )
        return Append(manifest, conversion, given.get("skip_existing", False), given.get("readmit", False)).run()


def _refuse_swapped(call: "Call") -> None:
    """Refuse an append whose DATASET is none, if one of its sources is the dataset."""
    from shardkit.dataset.manifest import find_dataset

    datasets = [source for source in call.sources if find_dataset(source)]
    if len(datasets) == 1 and find_dataset(call.written) is None:
        sources = tuple(call.written if source in datasets else source for source in call.sources)
        right = call.with_paths(sources, datasets[0])
        found = f"{call.written} is no dataset, and {datasets[0]} is one"
        raise CallError(f"DATASET comes before SOURCE: {found}; did you mean `{right}`?")


def _planning(call: "Call") -> "Callable[[Change], Plan]":
    """Return the function that plans an append with a change of its call, on the listing of the source only."""

    def planned(change: "Change") -> "Plan":
        from shardkit.api.advice import values_with
        from shardkit.conversion.option_values import append_values, source_locations
        from shardkit.conversion.planning.choosing import NothingNewError
        from shardkit.conversion.planning.rules import as_in_dataset, generation_options
        from shardkit.conversion.writing.appending.addition import Addition, AlreadyAppendedError
        from shardkit.conversion.writing.source_plan import planned_source
        from shardkit.dataset.manifest import read_manifest
        from shardkit.parallel.progress import Silent
        from shardkit.parallel.threads import ThreadExecutor

        values = values_with(call, change)
        del values["check"]  # a rule of the dataset
        manifest = read_manifest(call.written)
        source_url, *also = source_locations(call.changed(change).sources)
        source_options, changed = append_values(manifest, source_url, values, also)
        options = replace(generation_options(manifest, changed), check="header", dedupe="group")
        source_options = as_in_dataset(source_options, options, manifest)
        addition = Addition(manifest, values.get("skip_existing", False), values.get("readmit", False))
        try:
            given = source_url, source_options, options, ThreadExecutor(1), Silent()
            with planned_source(*given, addition=addition) as (_, plan):
                return plan
        except (AlreadyAppendedError, NothingNewError):
            raise CallError(f"{call.written} has all of these images already") from None

    return planned
