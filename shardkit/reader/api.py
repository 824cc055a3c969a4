"""`make_dataset_fn`, `make_dataset` and `mix`: a manifest becomes the input function of a trainer."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from shardkit.dataset.manifest import Manifest, read_manifest
from shardkit.order import BatchLayout
from shardkit.order.blocks import BLOCK_RECORDS, LANES, WINDOW_BLOCKS
from shardkit.reader import input_contexts
from shardkit.reader.arguments.options import Fit, ImageOptions, ReadOptions
from shardkit.reader.arguments.registry import checked
from shardkit.reader.cache.local_copies import copied, reachable
from shardkit.reader.dataset_fn import DatasetFn
from shardkit.reader.orders.training_orders import make_order
from shardkit.reader.remote.placement import choose_placement
from shardkit.reader.table.class_weights import class_weights
from shardkit.reader.table.mixtures import Mixture, make_mixture
from shardkit.reader.table.records import RecordTable, load_table, with_frame_bytes
from shardkit.reader.table.selection import select


@checked
def make_dataset_fn(
    dataset: str | os.PathLike[str] | Manifest | Mixture,
    split: str,
    *,
    global_batch_size: int,
    image_size: tuple[int, int] | None = None,
    training: bool = True,
    seed: int = 0,
    start_step: int = 0,
    order: str = "full",
    sampling: str | Mapping[str, float] = "natural",
    block_records: int = BLOCK_RECORDS,
    window_blocks: int = WINDOW_BLOCKS,
    lanes: int = LANES,
    crop_scale: tuple[float, float] = (0.08, 1.0),
    crop_ratio: tuple[float, float] = (3 / 4, 4 / 3),
    flip: bool = True,
    fit: Fit = "crop",
    crop_fraction: float = 0.875,
    method: str = "bilinear",
    dtype: str = "float32",
    mean: tuple[float, ...] | None = None,
    std: tuple[float, ...] | None = None,
    grey: bool = False,
    scaled_decoding: bool = False,
    max_boxes: int = 100,
    min_visible: float = 0.25,
    mask_padding: int = 255,
    where: Any = None,
    fold: tuple[int, int] | None = None,
    take: int | None = None,
    map_fn: Callable[[dict[str, Any], Any], Any] | None = None,
    batch_map_fn: Callable[[Any, Any], Any] | None = None,
    sample_weight: str | Mapping[str, float] | None = None,
    on_corrupt: str = "error",
    max_corrupt: int = 100,
    cache_dir: str | os.PathLike[str] | None = None,
    cache_bytes: int = 1 << 40,  # 1 TiB
    service: str | None = None,
    service_job: str | None = None,
    independent_workers: bool = False,
) -> DatasetFn:
    """Make the input function of one split.

    In training its elements follow one endless order of all examples: every example exactly once an epoch, the same
    global batches on any number of workers and replicas, from any `start_step` at once. In evaluation it is one pass in
    which every example comes exactly once, padded with weight 0 to whole global batches.

    Args:
        dataset: folder or manifest of a dataset that `shardkit convert` wrote.
        split: name of the split.
        global_batch_size: examples a step over all workers and replicas; a multiple of the number of replicas.
        image_size: (height, width): elements are (images, labels), in evaluation (images, labels, weights); boxes and
            masks follow their image. None:
            elements are dicts of the stored features, images still encoded, in evaluation with `weight`.
        training: endless with random crops, or one pass.
        seed: of order and augmentation, 0 to 2**63 - 1.
        start_step: global step to start at; costs the same at 0 and at 10,000,000. In evaluation the steps before it
            are left out, which is logged as a warning; 0 reads every example. `DatasetFn.start_step` is a variable with
            this value; an iterator starts at what it holds when `iter()` is called.
        order: of training; "full" is a permutation of all examples, another one each epoch; "block" permutes blocks of
            consecutive records and shuffles a bounded number of them, so that reads stay near each other.
        sampling: of training; "natural", every example once an epoch; "class_balanced", every class equally often; or
            weights by class, of which those not named are left out, and not counted by `num_examples` either. Shares
            are exact within one over any 1,000 places. A class gives all its examples before any comes again; where its
            share of a batch is more than it has (3 examples, half of 64 places), a batch holds some of them repeatedly.
        block_records: records of a block, for order="block", which a worker reads whole, one request each.
        window_blocks: blocks that are shuffled together in each lane. A worker holds at most 2 * block_records *
            window_blocks * lanes / num_workers records: those being given and those being read.
        lanes: parts of the data that are read side by side; the workers' number has to divide it, and it the batch.
        crop_scale: share of the area that a random crop covers.
        crop_ratio: width / height of a random crop.
        flip: mirror half of the training images.
        fit: how evaluation fits an image: "crop" out of its centre, "stretch" it, "pad" it with black.
        crop_fraction: share of the largest centred window that "crop" keeps.
        method: "bilinear", or "antialias", smoother where it shrinks, and slower.
        dtype: "float32", "bfloat16" or "uint8"; values from 0 to 255.
        mean: of 0..255 values, a number for each channel; the result is (value - mean) / std.
        std: see mean.
        grey: one channel.
        scaled_decoding: JPEGs whose window is at least 2, 4 or 8 times `image_size` are decoded at 1/2, 1/4 or 1/8 of
            their size: cheaper, and no longer the same pixels: crops of 2000 x 1500 to 224 x 224 have a PSNR of 32 dB
            to exact ones with method="antialias", 25 dB with "bilinear". A small network was as accurate with as
            without, 93 to 94 %; but with "bilinear" 4 to 8 points less where training and evaluation differed in this
            (`bench_scaled_decoding.py`).
        max_boxes: of a detection dataset, whose labels are {"boxes": float32[max_boxes, 4], "labels":
            int32[max_boxes]}, padded with 0 and -1; boxes are (ymin, xmin, ymax, xmax) as shares of the image given.
        min_visible: share of a box's area that has to be left in the image for the box to be kept.
        mask_padding: of a segmentation dataset, whose labels are int32[height, width]: the class number beside the
            image where `fit="pad"` pads it.
        where: reads only what meets a condition on the index: SQL as a string, such as "label_name in ('cat', 'dog')
            and height >= 64" (DuckDB, without access to anything else), or a pyarrow.compute expression.
        fold: (index, count) for cross-validation: evaluation reads that fold, training all others. Stratified by
            class; groups and exact duplicates stay together. Folds are of the whole split: `where` and `take` choose
            from the examples of the fold.
        take: as many examples, those whose keys' hashes are least: a random few, always the same.
        map_fn: `map_fn(features, seed)` makes the element of each example itself. `features` are the stored ones,
            `image` decoded and cropped where `image_size` is given, boxes and masks with it; `seed` is int32[2] for
            stateless ops and depends on (seed, epoch, key) only.
        sample_weight: a third part of each training element, for losses that take it: "balanced" is N / (number of
            classes * examples of the class), or a weight for each class by name. (Keras refuses `class_weight` for
            distributed datasets.)
        on_corrupt: "error" stops at a damaged record and names it; "skip" puts another example of the same class (and
            of the same dataset of a mixture) in its place, always the same one, so that no position moves (in
            evaluation with weight 0). `faults` lists them. A file that cannot be read, and a dataset that is converted
            again meanwhile, stop the reader in both cases.
        max_corrupt: Maximum number of different damaged records that "skip" replaces; at one more the reader stops.
        cache_dir: local folder that the split's shards are copied to before reading, verified by their sha256; for
            stores that are slow at random access, and for s3://, which TensorFlow does not read. Shared by all
            processes of a host, and by all runs; what was not used for longest goes first.
        cache_bytes: the most that the folder may hold.
        service: "grpc://host:port" of a tf.data service's dispatcher, whose workers then read and decode. Each global
            batch comes exactly once, and is the same as without, while no worker is lost; their order is not kept. With
            several input pipelines, parts of different global batches meet at a step. What a lost worker had been dealt
            is lost: see `shardkit.reader.remote.service`. The workers need TensorFlow and the dataset under the same
            path, not shardkit; `map_fn` must do without `py_function`; every record is read by itself in any `order`;
            the index travels too, 36 bytes an example, up to 2 GB. `start_step` is read when the input is made, and an
            iterator
            that is made after another was assigned stops with an error. The dispatcher has to answer within 60 s.
        service_job: name of a stream that several trainers divide among them, each batch to one of them.
        independent_workers: for ParameterServerStrategy, which cannot give its workers parts of one stream: each reads
            its own endless order, from a random epoch on, every example exactly once an epoch; over all workers nothing
            is promised. `global_batch_size` is then what one worker reads for a step.
        batch_map_fn: `batch_map_fn(element, seed)` makes what is given of each replica's batch, such as
            `reader.mixup(num_classes)`; `seed` is int32[2] and depends on `seed` and the step. What it mixes are
            examples of one replica's batch, so the result depends on the number of replicas.

    Raises:
        UnknownNameError: there is no such split.
        ManifestError, DataError: the dataset is damaged; the file is named.
        CallError: an argument, or a batch that the split cannot fill.
    """
    # Made whether it is used or not: mean without std is a mistake also where features are wanted.
    image = ImageOptions(
        size=(1, 1) if image_size is None else image_size,
        training=training,
        scale=crop_scale,
        ratio=crop_ratio,
        flip=flip,
        fit=fit,
        crop_fraction=crop_fraction,
        dtype=dtype,
        mean=mean,
        std=std,
        grey=grey,
        scaled_decoding=scaled_decoding,
        method=method,
        max_boxes=max_boxes,
        min_visible=min_visible,
        mask_padding=mask_padding,
    )
    cache_path = None if cache_dir is None else os.fspath(cache_dir)
    placement = choose_placement(
        service=service,
        service_job=service_job,
        independent_workers=independent_workers,
        training=training,
        start_step=start_step,
        on_corrupt=on_corrupt,
        cache_dir=cache_path,
    )
    source = dataset if isinstance(dataset, Manifest | Mixture) else read_manifest(os.fspath(dataset))

    def load(manifest: Manifest) -> RecordTable:
        table = load_table(manifest, split)
        if order == "block":
            table = with_frame_bytes(table)
        return select(table, where=where, fold=fold, take=take, training=training)

    table = source.table(load) if isinstance(source, Mixture) else load(source)
    cache = reachable(table, cache_path, cache_bytes, in_blocks=order == "block")
    if cache is not None:
        table = copied(table, cache)
    allowed = max_corrupt if on_corrupt == "skip" else None
    weights = None if sample_weight is None else class_weights(table, source.classes, sample_weight)
    decoded = None if image_size is None else image
    options = ReadOptions(split, global_batch_size, training, seed, decoded, map_fn, batch_map_fn, weights, allowed)
    training_order = make_order(
        table,
        source.classes,
        shares=source.shares(table) if isinstance(source, Mixture) else None,
        training=training,
        order=order,
        sampling=sampling,
        seed=seed,
        global_batch_size=global_batch_size,
        blocks=(block_records, window_blocks, lanes),
    )
    if training_order is not None:
        drawn = training_order.num_examples < table.num_examples
        source_of = "the split has" if table.record is None else "the part of the split that is selected has"
        source_of = "the classes that sampling draws have" if drawn else source_of
        input_contexts.check_enough(training_order.num_examples, global_batch_size, training=training, source=source_of)
    return DatasetFn(table, options, training_order, start_step, cache, placement)


@checked
def make_dataset(
    dataset: str | os.PathLike[str] | Manifest,
    split: str,
    *,
    global_batch_size: int,
    num_workers: int = 1,
    worker_index: int = 0,
    **options: Any,
) -> Any:
    """A plain `tf.data.Dataset` of one worker's part of every global batch, for JAX and for loops of one's own.

    Made without `num_workers`, its elements are whole global batches, and `strategy.experimental_distribute_dataset`
    gives every replica its right part of them (on several workers each reads all of it: `make_dataset_fn` does not).
    Do not give that function a dataset made with `num_workers`: it would take parts of parts.

    Args:
        dataset: see make_dataset_fn.
        split: see make_dataset_fn.
        global_batch_size: examples a step over all workers; elements hold global_batch_size / num_workers.
        num_workers: processes that each read their part.
        worker_index: this one, from 0.
        options: all others of make_dataset_fn.

    Raises:
        CallError: the batch is no multiple of the workers; and see make_dataset_fn.
    """
    BatchLayout(global_batch_size, num_workers, worker_index)
    dataset_fn = make_dataset_fn(dataset, split, global_batch_size=global_batch_size, **options)
    distribution = tf.data.Options()
    # DATA cuts every global batch into contiguous parts, in order. AUTO (the default) keeps the batches but not the
    # order inside them, OFF gives every worker everything. Of parts DATA would drop all but one: there OFF.
    policy = tf.data.experimental.AutoShardPolicy
    distribution.experimental_distribute.auto_shard_policy = policy.DATA if num_workers == 1 else policy.OFF
    made = dataset_fn(tf.distribute.InputContext(num_workers, worker_index, num_workers))
    return made.with_options(distribution)


@checked
def mix(
    datasets: Sequence[tuple[str | Manifest, float]], split: str, *, global_batch_size: int, **options: Any
) -> DatasetFn:
    """Make the input function of one split of several datasets.

    In training the share of each dataset over any 1,000 positions in a row is its weight's to within one example; each
    dataset gives all its examples, in its own order, before any comes again: of one that has fewer than its share of a
    global batch, a batch holds some twice. Evaluation reads every example of all of them once. Classes are reconciled
    by name: labels follow the first dataset's classes, then what the others add. For JAX and loops of one's own, call
    what is returned with `tf.distribute.InputContext(num_workers, worker_index, 1)`.

    Args:
        datasets: (folder or manifest, weight above 0 in any unit) of each; folders of different datasets.
        split: of each of them.
        global_batch_size: see make_dataset_fn.
        options: all others of make_dataset_fn but `order` and `sampling`; `where`, `fold` and `take` choose from each
            dataset by itself. `num_examples` counts all, and `steps_per_epoch` are the steps that hold as many.

    Raises:
        CallError: datasets that do not go together, such as of different features; and see make_dataset_fn.
    """
    return make_dataset_fn(make_mixture(datasets), split, global_batch_size=global_batch_size, **options)
