"""The Python interface of `shardkit append`: the function `shardkit.append`.

The command calls it. Beam and everything else that is heavy is imported inside the function.
"""

import inspect
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shardkit.api import convert
from shardkit.call_arguments import location, option_values, source_location
from shardkit.errors import CallError
from shardkit.extras import require_extra
from shardkit.option_values import LabelType, Layout

if TYPE_CHECKING:
    from shardkit.sources import SourceOptions
    from shardkit.writing.appending.append import AppendOutcome
    from shardkit.writing.progress import ProgressListener

__all__ = ["append"]

OWN_SPLITS = "own"  # the value of `splits` that keeps the source's own splits
# Fields of ConvertOptions that arguments overrule, by the arguments' names.
_OVERRULED = {
    "splits": "splits",
    "splits_of": "splits_of",
    "group_by": "group_by",
    "shards": "shards",
    "shard_size": "shard_bytes",
    "input_pipelines": "pipelines",
    "max_file_size": "max_file_bytes",
}


def append(
    dataset: str | os.PathLike[str],
    source: str | os.PathLike[str],
    *,
    skip_existing: bool = False,
    overwrite: bool = False,
    layout: Layout | None = None,
    root: str | None = None,
    path_prefix: Sequence[str] = (),
    image_column: str | None = None,
    label_columns: Sequence[str] = (),
    label_separator: str | None = None,
    label_type: LabelType = "auto",
    image_feature: str | None = None,
    label_feature: str | None = None,
    keep_truncated: bool = False,
    label_pattern: str | None = None,
    class_level: int = 1,
    unlabelled: bool = False,
    ignore: Sequence[str] = (),
    splits: Mapping[str, float] | Sequence[float] | str | None = None,
    splits_of: str | Sequence[str] | None = None,
    split_column: str | None = None,
    group_by: str | None = None,
    shards: int | Mapping[str, int] | str | None = None,
    shard_size: int | str | None = None,
    input_pipelines: int | None = None,
    max_file_size: int | str | None = None,
    max_rejected: int | str = "5%",
    workers: int | None = None,
    beam_options: Sequence[str] = (),
    listener: "ProgressListener | None" = None,
) -> "AppendOutcome":
    """Append the labelled images of a source to a dataset, as a generation of it; the same as ``shardkit append``.

    No file of the dataset changes except its manifest, which is replaced in one step. Old examples keep their split and
    their label; new classes come after the old ones. Images are stored as the dataset's are, and the splits that
    shardkit makes follow the dataset's rule. An interrupted append is resumed when it is called again. If the dataset
    has the source already, nothing is written.

    Args:
        dataset: The dataset's folder; local, s3:// or gs://.
        source: A folder, table, list, label file or archive, as in `shardkit.convert`.
        skip_existing: Whether images whose key and bytes the dataset has are left out; otherwise they are refused.
        overwrite: Whether an append of another source that is not finished is discarded.
        layout: See `shardkit.convert`.
        root: See `shardkit.convert`.
        path_prefix: See `shardkit.convert`.
        image_column: See `shardkit.convert`.
        label_columns: See `shardkit.convert`.
        label_separator: See `shardkit.convert`.
        label_type: See `shardkit.convert`.
        image_feature: See `shardkit.convert`.
        label_feature: See `shardkit.convert`.
        keep_truncated: See `shardkit.convert`.
        label_pattern: See `shardkit.convert`.
        class_level: See `shardkit.convert`.
        unlabelled: See `shardkit.convert`.
        ignore: See `shardkit.convert`.
        splits: Share of each split among the new images, or ``"own"`` for the source's own splits; None for the
            dataset's rule.
        splits_of: The source's own split, or splits, that `splits` divides.
        split_column: See `shardkit.convert`.
        group_by: See `shardkit.convert`; None for the dataset's.
        shards: Number of shards of every split of the generation, or of each; None for a number that follows from
            `shard_size`.
        shard_size: Target size of a shard; None for the dataset's.
        input_pipelines: Number of input pipelines that will read; None for the dataset's.
        max_file_size: Size above which an image file is rejected before it is read; None for the dataset's.
        max_rejected: See `shardkit.convert`.
        workers: See `shardkit.convert`.
        beam_options: See `shardkit.convert`.
        listener: See `shardkit.convert`.

    Returns:
        The manifest of the whole dataset, the folder of the new generation, what this run did, and findings.

    Raises:
        CallError: An argument is wrong, or the source does not fit the dataset.
        MissingExtraError: The packages of the extra ``convert`` are not installed.
        DataError: There is no dataset, it has some of the source's keys, too many images are bad, the source changed
            meanwhile, or an append of another source is not finished and `overwrite` is off.
        MachineError: The disk, the network or the runner failed. Finished shards are kept for the next call.
    """
    given = dict(locals())
    require_extra("convert", "appending")
    from shardkit.dataset.manifest import read_manifest
    from shardkit.dataset.pinning import pinned

    dataset_url, source_url = location("DATASET", dataset), source_location(source)
    if pinned(dataset_url)[1] is not None:
        msg = f"{dataset_url}: images are appended to the current dataset; leave out @sha256:…"
        raise CallError(msg)
    manifest = read_manifest(dataset_url)
    source_options, changed = _options(given)
    from shardkit.executors import make_executor
    from shardkit.writing.appending.append import Append
    from shardkit.writing.appending.options import append_call, generation_options, with_dataset_classes
    from shardkit.writing.progress import Silent
    from shardkit.writing.reject_limit import RejectLimit

    say = (listener or Silent()).say
    return Append(
        manifest,
        source_url,
        generation_options(manifest, changed),
        make_executor(beam_options, workers, say, SOURCE=source_url, DATASET=dataset_url),
        source_options=with_dataset_classes(source_options, manifest),
        limit=RejectLimit.parse(str(max_rejected)),
        skip_existing=skip_existing,
        overwrite=overwrite,
        listener=listener or Silent(),
        call=append_call(dataset_url, source_url, source_options, changed),
    ).run()


def _options(given: Mapping[str, Any]) -> "tuple[SourceOptions, dict[str, Any]]":
    """Return the options of the source, and the options of the conversion that overrule the dataset's."""
    keeps_own = given["splits"] == OWN_SPLITS
    defaults = {name: argument.default for name, argument in inspect.signature(convert).parameters.items()}
    named = {name: value for name, value in given.items() if name in defaults and value is not None}
    if keeps_own:
        if given["splits_of"] is not None:
            msg = "--splits own keeps all splits of SOURCE, and --splits-of divides some; give one of them"
            raise CallError(msg)
        del named["splits"]
    source_options, parsed = option_values({**defaults, **named})
    changed = {field: getattr(parsed, field) for argument, field in _OVERRULED.items() if given[argument] is not None}
    if given["splits"] is not None and given["splits_of"] is None:
        changed["splits_of"] = ()
    return source_options, changed
