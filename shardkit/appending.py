"""The Python interface of `shardkit append`: the function `shardkit.append`.

The command calls it. Beam and everything else that is heavy is imported inside the function.
"""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from shardkit.call_arguments import append_values, location, source_location
from shardkit.errors import CallError
from shardkit.extras import require_extra
from shardkit.option_values import Check, Dedupe, Fit, Jpeg, LabelType, Layout, NoRule, SplitBy, Subsampling

if TYPE_CHECKING:
    from shardkit.parallel.progress import ProgressListener
    from shardkit.writing.appending.append import AppendOutcome

__all__ = ["append"]


def append(
    dataset: str | os.PathLike[str],
    source: str | os.PathLike[str],
    *,
    skip_existing: bool = False,
    readmit: bool = False,
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
    split_by: SplitBy | None = None,
    split_column: str | None = None,
    group_by: str | None = None,
    dedupe: Dedupe | None = None,
    seed: int | None = None,
    shards: int | Mapping[str, int] | str | None = None,
    shard_size: int | str | None = None,
    input_pipelines: int | None = None,
    check: Check | None = None,
    max_file_size: int | str | None = None,
    max_rejected: int | str = "5%",
    resize: int | NoRule | None = None,
    max_side: int | NoRule | None = None,
    size: str | tuple[int, int] | None = None,
    fit: Fit | None = None,
    mask_padding: int | NoRule | None = None,
    quality: int | None = None,
    jpeg: Jpeg | None = None,
    subsampling: Subsampling | NoRule | None = None,
    strip_metadata: bool | None = None,
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
        readmit: Whether images that were removed from the dataset by `drop` may come in again; otherwise they are left
            out.
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
        split_by: The dataset's rule, like all options without a meaning here: another value is refused, with the
            command that gives the dataset this rule.
        split_column: See `shardkit.convert`.
        group_by: See `shardkit.convert`; None for the dataset's.
        dedupe: The dataset's rule.
        seed: The dataset's rule.
        shards: Number of shards of every split of the generation, or of each; None for a number that follows from
            `shard_size`.
        shard_size: Target size of a shard; None for the dataset's.
        input_pipelines: Number of input pipelines that will read; None for the dataset's.
        check: The dataset's rule.
        max_file_size: Size above which an image file is rejected before it is read; None for the dataset's.
        max_rejected: See `shardkit.convert`; the share is that of all images of the source.
        resize: The dataset's rule.
        max_side: The dataset's rule.
        size: The dataset's rule.
        fit: The dataset's rule.
        mask_padding: The dataset's rule.
        quality: The dataset's rule.
        jpeg: The dataset's rule.
        subsampling: The dataset's rule.
        strip_metadata: The dataset's rule.
        workers: See `shardkit.convert`.
        beam_options: See `shardkit.convert`.
        listener: See `shardkit.convert`.

    Returns:
        The manifest of the whole dataset, the folder of the new generation, what this run did, and findings.

    Raises:
        CallError: An argument is wrong, differs from a rule of the dataset, or the source does not fit the dataset.
        MissingExtraError: The packages of the extra ``convert`` are not installed.
        DataError: There is no dataset, it has some of the source's keys, too many images are bad, the source changed
            meanwhile, or an append of another source is not finished and `overwrite` is off.
        MachineError: The disk, the network or the runner failed. Finished shards are kept for the next call.
    """
    given = dict(locals())
    require_extra("convert", "appending")
    from shardkit.advice import answering, call_of
    from shardkit.dataset.manifest import read_manifest
    from shardkit.dataset.manifest.pinning import pinned

    call = call_of("append", [source], dataset, given, beam_options)
    with answering(call):
        dataset_url, source_url = location("DATASET", dataset), source_location(source)
        if pinned(dataset_url)[1] is not None:
            msg = f"{dataset_url}: images are appended to the current dataset; leave out @sha256:…"
            raise CallError(msg)
        manifest = read_manifest(dataset_url)
        source_options, changed = append_values(manifest, given)
        from shardkit.executors import make_executor
        from shardkit.parallel.progress import Silent
        from shardkit.writing.appending.append import Append
        from shardkit.writing.appending.options import as_in_dataset, generation_options
        from shardkit.writing.reject_limit import RejectLimit

        say = (listener or Silent()).say
        options = generation_options(manifest, changed)
        return Append(
            manifest,
            source_url,
            options,
            make_executor(beam_options, workers, say, SOURCE=source_url, DATASET=dataset_url),
            source_options=as_in_dataset(source_options, options, manifest),
            limit=RejectLimit.parse(str(max_rejected)),
            skip_existing=skip_existing,
            readmit=readmit,
            overwrite=overwrite,
            listener=listener or Silent(),
            call=call,
        ).run()
