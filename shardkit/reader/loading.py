"""From validated arguments to an input function: read manifests and indexes, select, copy, and choose the order."""

import inspect
import logging
import math
import os
import re
import warnings
from dataclasses import replace

import numpy as np

from shardkit.dataset.features import LABEL, LABELS, OBJECT_LABELS
from shardkit.dataset.manifest import Manifest
from shardkit.errors import CallError, UnknownNameError
from shardkit.fetch.damaged_records import DamagedRecords
from shardkit.fetch.memory import HeldRecords, check_room, hold, record_bytes
from shardkit.fetch.orders import make_order
from shardkit.fetch.sources import Sources
from shardkit.fetch.table.classes import class_weights
from shardkit.fetch.table.mixtures import check_apart, joined, mixed_classes, read_datasets
from shardkit.fetch.table.records import RecordTable, load_table
from shardkit.fetch.table.selection import select, select_labelled
from shardkit.naming import split_of_folder
from shardkit.options.words import shell_command
from shardkit.order import BatchLayout
from shardkit.order.blocks import BLOCK_RECORDS
from shardkit.order.training import check_order
from shardkit.reader.arguments.reading import ReadArguments
from shardkit.reader.arguments.values import AUTO_BYTES, Cache, Memory
from shardkit.reader.dataset_fn import DatasetFn, trained
from shardkit.reader.images.held import hold_pixels, pixel_shape
from shardkit.reader.input_contexts import TO_EVALUATE
from shardkit.reader.iterators.start_steps import check_start
from shardkit.reader.pipeline_spec import PipelineSpec
from shardkit.reader.shard_cache import ShardCache

_EVALUATION_SPLITS = {"validation", "test"}
_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_SLICE = re.compile(r"(?P<split>[^\[\]]+)\[(?P<start>\d+%?)?:(?P<stop>\d+%?)?\]")
READ_AHEAD = "GCS_READAHEAD_BUFFER_SIZE_BYTES"
REQUEST_DOLLARS = 0.4e-6  # https://aws.amazon.com/s3/pricing/: GET of S3 Standard, us-east-1
_LOG = logging.getLogger(__name__)


def load_dataset_fn(given: ReadArguments) -> DatasetFn:
    """Return the input function of validated arguments."""
    manifests, weights = read_datasets(given.dataset)
    classes = mixed_classes(manifests)

    def load(manifest: Manifest) -> RecordTable:
        check_split(manifest, given.split)
        table = load_table(manifest, given.split)
        if not isinstance(given.cache, Cache):  # copies are verified
            Sources(table).check_first_records()
        has_labels = given.features is None or not {LABEL, LABELS}.isdisjoint(given.features)
        choose = select_labelled if has_labels else select
        return choose(table, where=given.where, fold=given.fold, take=given.take, training=given.training)

    tables = [load(manifest) for manifest in manifests]
    if not given.training:
        check_apart(tables, manifests)
    table = tables[0] if weights is None else joined(tables, manifests)
    if given.training and given.fold is None:  # with folds, training reads the part that is not evaluated
        warn_of_training_on(given.split)
    if given.one_hot and not (table.has_class and table.num_classes):
        raise CallError("one_hot=True needs a dataset whose examples have one class each; leave it out")
    for name in given.features or ():
        if name not in table.features:
            raise UnknownNameError(f"features names {name!r}; the dataset stores {', '.join(sorted(table.features))}")
    order = make_order(
        table,
        classes,
        training=given.training,
        seed=given.seed,
        global_batch_size=given.global_batch_size,
        shares=None if weights is None else (table.dataset[table.shard_of(np.arange(table.num_examples))], weights),
        blocks=given.block_order,
        sampling=given.sampling,
    )
    if order is not None:
        is_selected = table.record is not None
        check_order(order, table.num_examples, given.global_batch_size, is_selected=is_selected, otherwise=TO_EVALUATE)
    spec = PipelineSpec(
        table,
        replace(given, split=manifests[0].split_name(given.split), image_size=None),
        order,
        image=given.images
        and given.images.resolved(training=given.training, has_boxes=OBJECT_LABELS in table.features),
        class_weights=None if given.sample_weight is None else class_weights(table, classes, given.sample_weight),
        damaged=None if given.max_corrupt is None else DamagedRecords(given.max_corrupt),
        pixels=None,
        layout=BatchLayout(given.global_batch_size, 1, 0),
        start_step=0,
    )
    check_start(given.start_step, spec.end_step)
    if isinstance(given.cache, Cache):  # last: a call that is refused copies nothing
        cache = ShardCache(os.fspath(given.cache.folder), given.cache.max_bytes)
        paths = cache.fetch(table.roots, table.shards)
        spec = replace(spec, table=replace(table, paths=paths, has_copies=True))
    elif not given.are_others_reading and given.cache is not None:
        spec = _held(spec)
    if spec.table.held is None and spec.pixels is None and not spec.table.has_copies:
        record_by_record = given.training and given.block_order is None
        check_remote_reading(table, record_by_record=record_by_record, elsewhere=given.are_others_reading)
    if given.training:
        trained.update(manifest.root.url for manifest in manifests)
    return DatasetFn(spec, classes)


def _held(spec: PipelineSpec) -> PipelineSpec:
    """Return the pipeline with its records in memory, or its decoded images, as the cache says."""
    table, image, cache = spec.table, spec.image, spec.options.cache
    max_bytes = cache.max_bytes if isinstance(cache, Memory) else AUTO_BYTES
    if isinstance(cache, Memory) and cache.decoded:
        assert image is not None  # noqa: S101 - see ReadArguments
        if not image.crops.are_fixed:
            raise CallError(
                "cache=reader.Memory(decoded=True) holds images that are the same in every epoch, and random crops are "
                "not; leave them out, or hold the encoded records by cache='memory'"
            )
        pixels = hold_pixels(table, image)
        check_room(max_bytes, f"{table.num_examples:,} decoded images", pixels.num_bytes)
        return replace(spec, pixels=pixels)
    shape = pixel_shape(table, image) if image is not None and spec.has_images_only else None
    if image is not None and shape is not None:
        most = AUTO_BYTES if max_bytes is None else min(max_bytes, AUTO_BYTES)
        if table.num_examples * math.prod(shape) <= most:
            return replace(spec, pixels=hold_pixels(table, image))
    needed = record_bytes(table)
    if isinstance(cache, Memory):
        check_room(max_bytes, f"the {table.num_examples:,} records that are read", needed)
    elif needed > AUTO_BYTES:
        return spec
    return replace(spec, table=replace(table, held=hold(table, lambda: HeldRecords(table))))


def warn_of_training_on(split: str) -> None:
    """Warn if a split's name means validation or test, at the line that called the reader."""
    if split_of_folder(split) in _EVALUATION_SPLITS:
        warnings.warn(
            f"training=True (the default) repeats the split {split!r} endlessly, shuffled; "
            "pass training=False to evaluate. If you do train on it, silence this warning with "
            "warnings.filterwarnings('ignore', message='training=True')",
            UserWarning,
            stacklevel=_caller_level(),
        )


def _caller_level() -> int:
    """Return the `stacklevel` for the function that calls this one: the first line outside of shardkit warns."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    return level


def check_split(manifest: Manifest, name: str) -> None:
    """Check that a dataset has a split."""
    try:
        manifest.split_name(name)
    except UnknownNameError as error:
        if found := _SLICE.fullmatch(name.strip()):
            raise UnknownNameError(f"{error}{_part(manifest, found)}") from None
        if "+" in name:
            command = shell_command("convert", manifest.root.url, "NEW", splits="train=1")
            raise UnknownNameError(f"{error}; several splits become one by `{command}`") from None
        raise


def _part(manifest: Manifest, found: re.Match[str]) -> str:
    """Return what to write instead of a slice of a split that exists."""
    split = manifest.split_name(found["split"])
    num_examples = manifest.splits[split].num_examples

    def place(text: str) -> int:
        return round(int(text[:-1]) / 100 * num_examples) if text.endswith("%") else int(text)

    wanted = place(found["stop"] or "100%") - place(found["start"] or "0")
    taken = min(max(wanted, 1), num_examples)
    parts = max(2, round(num_examples / max(1, min(taken, num_examples - taken))))
    return (
        f"; for a part of it write split={split!r} and take={taken}, always the same examples, or fold=(0, {parts}): "
        f"training=False then reads one of {parts} parts, and training=True the others"
    )


def check_remote_reading(table: RecordTable, *, record_by_record: bool, elsewhere: bool) -> None:
    """Check that the shards can be read where they are stored; warn if that will be slow or dear."""
    for url in dict.fromkeys(root.url for root in table.roots):
        scheme = url.partition("://")[0] if "://" in url else "file"
        if scheme == "s3" and elsewhere:
            raise CallError(
                f"{url}: with service= and independent_workers= TensorFlow reads the shards, which it cannot on s3://; "
                "leave them out, or put the dataset where all workers read it as a folder"
            )
        if scheme != "file" and record_by_record:
            count = sum(
                one.num_examples for root, one in zip(table.roots, table.shards, strict=True) if root.url == url
            )
            _LOG.warning(
                "%s: in full order an epoch takes up to %s requests, one for each example (USD %.2f on Amazon S3); "
                "order='block' takes about %s; cache= copies the shards to a local disk once",
                url,
                f"{count:,}",
                count * REQUEST_DOLLARS,
                f"{-(-count // BLOCK_RECORDS):,}",
            )
        if scheme == "gs" and elsewhere and READ_AHEAD not in os.environ:
            # TensorFlow reads this variable when it is imported: it is too late to set it here.
            _LOG.warning(
                "%s: TensorFlow reads 64 MiB ahead at every seek in gs://, most of it for nothing; set %s=0 in the "
                "environment of all processes that read",
                url,
                READ_AHEAD,
            )
