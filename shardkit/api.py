"""The Python interface of the conversion: `shardkit.convert` and `shardkit.plan`.

The commands of the same names call these functions and take their defaults and permitted values from here. Beam and
everything else that is heavy is imported inside the functions.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shardkit.call_arguments import conversion_values, location, source_locations
from shardkit.extras import require_extra
from shardkit.option_values import Check, Dedupe, Fit, Jpeg, LabelType, Layout, NoRule, SplitBy, Subsampling

if TYPE_CHECKING:
    from shardkit.options.call import Call, Change
    from shardkit.parallel.progress import ProgressListener
    from shardkit.planning.plan import Plan
    from shardkit.writing.conversion import Outcome

__all__ = ["convert", "plan"]


def convert(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
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
    where: str | None = None,
    drop: str | os.PathLike[str] | Sequence[str] | None = None,
    labels: str | os.PathLike[str] | Mapping[str, str] | None = None,
    key_prefix: bool = False,
    readmit: bool = False,
    classes: Sequence[str] | None = None,
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
    name: str = "dataset",
    workers: int | None = None,
    beam_options: Sequence[str] = (),
    listener: "ProgressListener | None" = None,
) -> "Outcome":
    """Convert labelled images into balanced TFRecord shards with a manifest; the same as ``shardkit convert``.

    An interrupted conversion is resumed when it is called again. If the output holds the finished conversion already,
    nothing is written.

    The arguments that are None by default and name a value of a dataset are rules: a dataset that is converted passes
    its own on, and the default in the text is for other sources. `splits="own"`, and ``"none"`` for numbers, groups and
    subsampling, overrule a rule of the dataset.

    Args:
        source: A folder, table, list, label file, archive or dataset; local, s3:// or gs://. `shardkit help layouts`
            describes all layouts. Several datasets become one, and so do several TFRecord files or folders.
        output: A new or empty folder; local, s3:// or gs://.
        overwrite: Whether to replace a different dataset in the output.
        layout: Layout of the source; None to detect it.
        root: Folder that relative paths in a table, list or label file start from.
        path_prefix: Replacements ``"OLD=NEW"`` of the beginning of a table's paths, such as
            ``"C:/Users/me/pets=/data/pets"``; the first that fits counts.
        image_column: Column of a table with the image paths; None to detect it.
        label_columns: Columns, fields or kinds of the labels; several make multi-label examples, none detects
            the column.
        label_separator: Separator of several labels in one column.
        label_type: Whether labels are classes or numbers for regression.
        image_feature: Feature of TFRecords that holds the image; None to find it.
        label_feature: Feature of TFRecords that holds the labels; None to find it.
        keep_truncated: Whether to convert the first records of a TFRecord file that cannot be read to its end; such a
            file is an error otherwise.
        label_pattern: Regular expression on file names; the label is its first group, or its groups ``label``,
            ``split`` and ``group`` are what their names say.
        class_level: Level of the class folders, counted from the source or from its split folders; 2 for
            ``SOURCE/<patient>/<label>/image``.
        unlabelled: Whether to convert images without labels from any tree of folders; the same as
            ``layout="unlabelled"``.
        ignore: Globs of files and folders to leave out, as in .gitignore, such as ``["test1/", "*.webp"]``.
        where: Condition on examples of a dataset, such as ``"label_name != 'blurred' and height >= 64"``: the others
            are left out. It is the language of `where` in shardkit.reader.
        drop: File with the keys of a dataset's examples to leave out, one a line; or the keys.
        labels: CSV file with the columns key and label, which corrects labels of a dataset; or the label of each key.
        key_prefix: Whether the keys of several datasets get the name of their dataset's folder, so that they differ.
        readmit: Whether examples that `drop` removed from one of several datasets come in again from another one;
            otherwise they are left out.
        classes: Label names in label order, in which integers of tables and TFRecords are positions from 0 (from 1 in
            layouts of tensorflow/models); None for the source's order, or sorted (integers by value).
        splits: Share of each split, such as ``{"train": 0.8, "test": 0.2}``, ``"80/10/10"`` or ``[0.8, 0.2]``: two
            numbers are train and validation, three train, validation and test. ``"own"`` or None for the source's own
            splits; with None, a dataset's shares stay the rule for what is appended later.
        splits_of: The source's own split, or splits, that `splits` divides; its other splits stay as they are.
        split_by: ``hash`` keeps an image in its split as data grows; ``stratified`` gives every class its share,
            within one image, or within a few if images have several labels. ``hash`` by default.
        split_column: Column of a table with the split; None to detect it.
        group_by: Column of a table, or regular expression on keys, whose values stay in one split.
        dedupe: Exact duplicates: ``group`` keeps them in one split, ``drop`` removes all but the first, ``ignore``
            treats them like other images. ``group`` by default.
        seed: Seed for splits and for the assignment to shards; 0 by default.
        shards: Number of shards of every split, or of each, such as ``{"train": 64, "test": 8}``; None for a number
            that follows from `shard_size`.
        shard_size: Target size of a shard, in bytes or as text such as ``"128MiB"``, the default.
        input_pipelines: Number of input pipelines that will read, 1 by default; the number of shards is a multiple of
            it.
        check: ``decode``, the default, reads and decodes every image before planning; ``header`` opens no image before
            writing.
        max_file_size: Size above which an image file or a mask is rejected before it is read, in bytes or as text such
            as ``"256MiB"``, the default; at most 1 GiB.
        max_rejected: Maximum number of rejected images, or their maximum share such as ``"5%"``.
        resize: Maximum length of the shorter side in pixels; None keeps all sizes. Images are never enlarged.
        max_side: Maximum length of the longer side in pixels; None keeps all sizes. Images are never enlarged.
        size: Height and width in pixels that every image gets, such as ``(256, 320)`` or ``"256x320"``; smaller images
            are enlarged. None keeps their own.
        fit: With `size`: ``crop``, the default, cuts off what is beyond the edges, ``pad`` adds a black border.
        mask_padding: Class number of the border that ``fit="pad"`` adds to masks, such as 255 for "no class".
        quality: Quality of JPEGs whose pixels have to change, 1 to 100; 95 by default.
        jpeg: ``baseline`` re-encodes progressive JPEGs, which take 1.5 to 2.9 times as long to decode, with their own
            tables; ``keep``, the default, leaves them.
        subsampling: Chroma subsampling of JPEGs that are encoded; JPEGs with more chroma are re-encoded with their own
            tables. None keeps them.
        strip_metadata: Whether EXIF (with GPS positions), XMP, comments and thumbnails are removed; the pixels and
            colour profiles stay.
        name: Name of the dataset.
        workers: Number of threads in this process; None for one per core, or with `beam_options`.
        beam_options: Options of Apache Beam, such as ``["--runner=FlinkRunner", "--flink_master=flink:8081"]``.
        listener: Receives messages and progress; None for no output.

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
    given = dict(locals())
    require_extra("convert", "converting")
    from shardkit.advice import answering, call_of

    call = call_of("convert", _several(source), output, given, beam_options)
    with answering(call, _planning(given, call)):
        source_url, *also = source_locations(source)
        output_url = location("OUTPUT", output)
        from shardkit.executors import make_executor
        from shardkit.parallel.progress import Silent
        from shardkit.writing.conversion import Conversion
        from shardkit.writing.reject_limit import RejectLimit

        say = (listener or Silent()).say
        source_options, options = conversion_values(source_url, {**given, "also": also}, say)
        return Conversion(
            source_url,
            output_url,
            options,
            make_executor(beam_options, workers, say, SOURCE=source_url, OUTPUT=output_url),
            source_options=source_options,
            limit=RejectLimit.parse(str(max_rejected)),
            overwrite=overwrite,
            listener=listener or Silent(),
            call=call,
        ).run()


def _several(source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    return [os.fspath(one) for one in ([source] if isinstance(source, (str, os.PathLike)) else source)]


def _planning(given: Mapping[str, Any], call: "Call") -> "Callable[[Change], Plan]":
    """Return the function that plans a conversion with a change, on the listing of the source only.

    Args:
        given: The arguments of the call by name.
        call: The call.
    """

    def planned(change: "Change") -> "Plan":
        from shardkit.options.definition import OPTIONS
        from shardkit.parallel.progress import Silent
        from shardkit.parallel.threads import ThreadExecutor
        from shardkit.writing.source_plan import plan_source

        changed = call.changed(change)
        arguments = {
            name: value if name not in OPTIONS or name in changed.given else None for name, value in given.items()
        }
        for name in change.options:
            arguments[name] = changed.given.get(name)
        for name, value in arguments.items():
            if value is None and name in OPTIONS and OPTIONS[name].rule is None:
                arguments[name] = OPTIONS[name].default
        arguments["check"] = "header"
        if arguments["dedupe"] == "drop":  # which reads all images
            arguments["dedupe"] = None
        source_url, *also = source_locations(changed.sources)
        silent = Silent()
        source_options, options = conversion_values(source_url, {**arguments, "also": also}, silent.say)
        return plan_source(source_url, source_options, options, ThreadExecutor(1), silent)

    return planned


def plan(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
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
    where: str | None = None,
    drop: str | os.PathLike[str] | Sequence[str] | None = None,
    labels: str | os.PathLike[str] | Mapping[str, str] | None = None,
    key_prefix: bool = False,
    readmit: bool = False,
    classes: Sequence[str] | None = None,
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
    resize: int | NoRule | None = None,
    max_side: int | NoRule | None = None,
    size: str | tuple[int, int] | None = None,
    fit: Fit | None = None,
    mask_padding: int | NoRule | None = None,
    quality: int | None = None,
    jpeg: Jpeg | None = None,
    subsampling: Subsampling | NoRule | None = None,
    strip_metadata: bool | None = None,
    name: str = "dataset",
    workers: int | None = None,
    beam_options: Sequence[str] = (),
    listener: "ProgressListener | None" = None,
) -> "Plan":
    """Plan a conversion without writing anything; the same as ``shardkit plan``.

    Args:
        source: See `convert`.
        layout: See `convert`.
        root: See `convert`.
        path_prefix: See `convert`.
        image_column: See `convert`.
        label_columns: See `convert`.
        label_separator: See `convert`.
        label_type: See `convert`.
        image_feature: See `convert`.
        label_feature: See `convert`.
        keep_truncated: See `convert`.
        label_pattern: See `convert`.
        class_level: See `convert`.
        unlabelled: See `convert`.
        ignore: See `convert`.
        where: See `convert`.
        drop: See `convert`.
        labels: See `convert`.
        key_prefix: See `convert`.
        readmit: See `convert`.
        classes: See `convert`.
        splits: See `convert`.
        splits_of: See `convert`.
        split_by: See `convert`.
        split_column: See `convert`.
        group_by: See `convert`.
        dedupe: See `convert`.
        seed: See `convert`.
        shards: See `convert`.
        shard_size: See `convert`.
        input_pipelines: See `convert`.
        check: See `convert`.
        max_file_size: See `convert`.
        resize: See `convert`.
        max_side: See `convert`.
        size: See `convert`.
        fit: See `convert`.
        mask_padding: See `convert`.
        quality: See `convert`.
        jpeg: See `convert`.
        subsampling: See `convert`.
        strip_metadata: See `convert`.
        name: See `convert`.
        workers: See `convert`.
        beam_options: See `convert`.
        listener: See `convert`.

    Returns:
        The plan: splits with the sizes and classes of their shards, rejected images, reasons and findings.

    Raises:
        CallError: An argument is wrong or does not fit the source, or the source looks misread (one class only).
        MissingExtraError: The packages of the extra ``convert`` are not installed.
        DataError: There is nothing to convert.
        MachineError: The disk, the network or the runner failed.
    """
    given = dict(locals())
    require_extra("convert", "planning")
    from shardkit.advice import answering, call_of

    call = call_of("plan", _several(source), None, given, beam_options)
    with answering(call, _planning(given, call)):
        source_url, *also = source_locations(source)
        from shardkit.executors import make_executor
        from shardkit.parallel.progress import Silent
        from shardkit.writing.source_plan import plan_source

        say = (listener or Silent()).say
        source_options, options = conversion_values(source_url, {**given, "also": also}, say)
        executor = make_executor(beam_options, workers, say, SOURCE=source_url)
        return plan_source(source_url, source_options, options, executor, listener or Silent(), call)
