"""`make_dataset_fn` and `make_dataset`: a dataset on disk becomes the input of a trainer."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ParamSpec, TypeVar

import tensorflow as tf

from shardkit.arguments.checks import optional, whole_number
from shardkit.arguments.suggestions import suggest_arguments, words_of
from shardkit.fetch import Skip
from shardkit.order import BatchLayout
from shardkit.order.batches import check_worker_index
from shardkit.order.training import BlockOrder
from shardkit.reader.arguments.images import Images
from shardkit.reader.arguments.reading import ReadArguments
from shardkit.reader.arguments.values import Cache, Service
from shardkit.reader.dataset_fn import DatasetFn
from shardkit.reader.loading import load_dataset_fn

_WORDS = words_of({"images": Images, "order": BlockOrder, "on_corrupt": Skip, "cache": Cache, "service": Service})
_EXAMPLE = "('OUT', 'train', global_batch_size=64, image_size=(224, 224))"
_RESCALE = "images=reader.Images((height, width), mean=127.5, std=127.5) gives values from -1 to 1"
_EPOCHS = "training does not end: fit takes epochs=, and steps_per_epoch=train_fn.steps_per_epoch"

# Arguments of Keras, tf.data and other readers that people type, and what to use here instead of each.
_READER_WORDS = {
    "augment": "images=reader.Images((height, width), augment='imagenet') crops and mirrors at random; flip=True only "
    "mirrors",
    "shuffle": "training=True reshuffles all examples in each epoch, training=False does not shuffle",
    "repeat": "training=True does not end, training=False is one pass",
    "epochs": _EPOCHS,
    "steps_per_epoch": _EPOCHS,
    "eval": "training=False is one pass that sees every example once",
    "drop_remainder": "batches of training are always whole; for training=False there is last_batch='short'",
    "validation_split": "a dataset is divided when it is made: shardkit.convert(…, splits='train=0.8,validation=0.2')",
    "normalize": _RESCALE,
    "rescale": _RESCALE,
    "label_mode": "labels are class numbers in the order of train_fn.class_names, with one_hot=True rows of 0 and 1",
    "class_weight": "sample_weight='balanced', or a weight by class name",
    "transform": "map_fn=lambda features, seed: (features['image'], features['label']) is called for each example",
    "max_examples": "take=1000 reads as many examples, always the same; fold=(0, 5) divides for cross-validation",
    "initial_epoch": "start_step=100 starts at that step of the order",
}
_RANK = "num_workers=2, worker_index=0 are the number of processes and the number of this one, from 0"
_RANKS = ("rank", "world_size", "shard_index", "num_shards")
_CONTEXT = (
    "a strategy gives the input function its worker in the input context; without a strategy, "
    "reader.make_dataset(dataset, split, global_batch_size=64, num_workers=2, worker_index=0) reads one worker's part"
)
MAKE_DATASET_WORDS = _READER_WORDS | dict.fromkeys(_RANKS, _RANK)
MAKE_DATASET_FN_WORDS = _READER_WORDS | dict.fromkeys((*_RANKS, "num_workers", "worker_index"), _CONTEXT)

_Parameters = ParamSpec("_Parameters")
_Arguments = TypeVar("_Arguments")
_Result = TypeVar("_Result")


def _takes(
    kind: Callable[_Parameters, _Arguments],
) -> Callable[[Callable[[_Arguments], _Result]], Callable[_Parameters, _Result]]:
    """Return a decorator that gives a function the parameters of a dataclass, for callers, `help` and type checkers."""

    def decorate(make: Callable[[_Arguments], _Result]) -> Callable[_Parameters, _Result]:
        @functools.wraps(make)
        def call(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
            return make(kind(*args, **kwargs))

        result = inspect.signature(make).return_annotation
        setattr(call, "__signature__", inspect.signature(kind).replace(return_annotation=result))  # noqa: B010 - as ours
        return call

    return decorate


@suggest_arguments(_WORDS, MAKE_DATASET_FN_WORDS, f"reader.make_dataset_fn{_EXAMPLE}")
@_takes(ReadArguments)
def make_dataset_fn(arguments: ReadArguments) -> DatasetFn:  # noqa: D417 - the fields of the dataclass
    """Make the input function of one split.

    In training its elements follow one endless order of all examples: every example exactly once per epoch, and the
    same global batches for any number of workers and replicas. In evaluation it is one pass that returns every example
    exactly once, padded with weight 0 to whole global batches.

    Args:
        dataset: Folder or manifest of a dataset that `shardkit convert` wrote; or several datasets as [(dataset,
            weight), ...], with weights above 0 in any unit. In training the share of each dataset over any 1,000
            positions in a row is that of its weight to within one example, and each returns all its examples before any
            of them again. Evaluation reads every example of all of them once. Labels are the first dataset's classes,
            then the new ones of the others; classes are matched by name. `where`, `fold` and `take` choose from each
            dataset separately; `order` and `sampling` must be left out.
        split: Name of the split; ``val``, ``valid``, ``dev`` and ``eval`` find ``validation``.
        global_batch_size: Examples of a step over all workers and replicas; a multiple of the number of replicas.
        image_size: (height, width), short for images=Images((height, width)).
        images: How images are decoded, augmented, cropped and resized; nothing is augmented without being asked for,
            see `Images`. Elements are (images, labels), in evaluation (images,
            labels, weights). Of a dataset without labels they are images, in evaluation (images, weights). With boxes,
            labels are {"boxes": ..., "labels": ...}, each box (ymin, xmin, ymax, xmax) as shares of the image, and the
            default is the whole image: crops lose boxes. Without `images` and `image_size` elements are dicts of the
            stored features with encoded images, in evaluation with `weight`.
        training: True for the endless order, False for one pass. True warns if the split is called
            validation or test.
        last_batch: Last batch of an evaluation: "padded" with rows of weight 0, so that all shapes are static, or
            "short", without padding, for exact results of Keras in one process. With "short", `val_loss` and unweighted
            metrics are exact too, and `predict` returns one row for each example, in the order of `DatasetFn.keys`; any
            number of replicas divide the last batch evenly. Several workers, a tf.data service and TPUs need padding.
        seed: Seed of order and augmentation, 0 to 2**63 - 1.
        start_step: Global step to start at; costs the same at 0 and at 10,000,000. In evaluation the steps before it
            are skipped, with a warning. `train_fn.start_step = 5` moves it later; an iterator starts at the value that
            it has when `iter()` is called.
        order: Order of training: "full" is a permutation of all examples, a new one each epoch; "block", or a
            `BlockOrder`, permutes blocks of consecutive records and shuffles a bounded number of them together. Blocks
            keep reads close to each other.
        sampling: Sampling of training: "natural" returns every example once per epoch, "class_balanced" every class
            equally often; weights by class name leave out the other classes. `num_examples` does not count these.
            Shares are exact to within one over any 1,000 positions. A class returns all its examples before any of them
            again; where its share of a batch is larger than the class (3 examples, half of 64 positions), a batch
            repeats some.
        where: Condition on the index, such as "label_name in ('cat', 'dog') and height >= 64", or a pyarrow.compute
            expression. Only examples that meet it are read.
        fold: (index, count) for cross-validation: evaluation reads that fold, training all others. Folds are stratified
            by class and divide the whole split, whatever `where` and `take` select; groups and exact duplicates stay
            together.
        take: Number of examples to read: those with the smallest hashes of their keys, always the same.
        features: Names of the features of each element, where images stay encoded; None for all that are stored. Image,
            label, height and width are in the index: if nothing else is named, no record is parsed.
        map_fn: `map_fn(features, seed)` returns the element of one example. `features` are the stored ones; with
            images, `image` is decoded and cropped, and boxes and masks follow it. `seed` is int32[2] for stateless ops
            and depends on (seed, epoch, key) only.
        batch_map_fn: `batch_map_fn(element, seed)` returns the batch of one replica, as `reader.mixup(num_classes)`
            does. `seed` is int32[2] and depends on `seed` and the step. It mixes examples of one replica's batch, so
            the result depends on the number of replicas.
        one_hot: Whether labels are rows of 0 and 1, float32[num_classes], instead of class numbers; for elements
            (images, labels) of examples with one class each.
        sample_weight: A third part of each training element, for losses that take weights: "balanced" is N / (number of
            classes * examples of the class), or a weight by class name. (Keras refuses `class_weight` for distributed
            datasets.)
        on_corrupt: "error" stops at a damaged record or image and names it; "skip", or `Skip(max_records)`, replaces up
            to 100 of them by other examples of the same class and dataset, in evaluation with weight 0. The replacement
            is always the same one, so that no position moves. `DatasetFn.damaged_records` lists them. A file that
            cannot be read, and a dataset that is converted again meanwhile, stop the reader in both cases.
        cache: What is kept near. "auto" holds the records of a split in memory if they take up to 256 MiB, or the
            pixels of images that all have one size and are not cropped; "memory" holds them whatever they take,
            `Memory(max_bytes)` up to a limit, `Memory(decoded=True)` holds decoded and resized images. They are held
            once per process, read in file order while training begins. A folder, or `Cache(folder, max_bytes)`, gets
            copies of the shards before they are read, for storage that is slow at random access. None reads each record
            where it is stored.
        service: Address of a tf.data service's dispatcher, "grpc://host:port", or `Service(address, job)`; its workers
            read and decode. Each global batch comes exactly once and is the same as without a service, as long as no
            worker is lost; their order is not kept. With several input pipelines, parts of different global batches
            meet at a step. What a lost worker had been assigned is lost: see `shardkit.reader.remote`. The
            workers need TensorFlow and the dataset under the same path, not shardkit; `map_fn` must not use
            `py_function`; `order` must not be "block"; the index is sent too, 37 bytes an example, up
            to 2 GB. `start_step` is read when the input function is called, and an iterator made after another value
            was assigned stops with an error. The dispatcher must answer within 60 s.
        independent_workers: For ParameterServerStrategy, which cannot give its workers parts of one stream: each worker
            reads a separate endless order from a random epoch on, every example exactly once per epoch; nothing is
            promised over all workers. `global_batch_size` is then what one worker reads for a step.

    Raises:
        UnknownArgumentError: There is no argument of that name.
        SignatureError: The dataset, the split or the batch size is missing, or an option is not named.
        UnknownNameError: There is no such split or class.
        ManifestError, DataError: The dataset is damaged; the message names the file.
        CallError: An argument is wrong, arguments do not go together, or the split cannot fill a batch.
    """
    return load_dataset_fn(arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerArguments(ReadArguments):
    """Arguments of `make_dataset`: those of `make_dataset_fn`, and the part of each global batch that is read."""

    num_workers: Annotated[int, whole_number()] = 1
    worker_index: Annotated[int | None, optional(whole_number())] = None

    def __post_init__(self) -> None:
        ReadArguments.__post_init__(self)
        object.__setattr__(self, "worker_index", check_worker_index(self.num_workers, self.worker_index))


@suggest_arguments(_WORDS, MAKE_DATASET_WORDS, f"reader.make_dataset{_EXAMPLE}")
@_takes(WorkerArguments)
def make_dataset(arguments: WorkerArguments) -> Any:  # noqa: D417 - the fields of the dataclass
    """Make a plain `tf.data.Dataset` of one worker's part of every global batch, for JAX and custom loops.

    Without `num_workers` its elements are whole global batches, and `strategy.experimental_distribute_dataset` gives
    every replica its part of them (on several workers each reads all of it; with `make_dataset_fn` it does not). Do not
    pass a dataset made with `num_workers` to that function: it would take parts of parts.

    Args:
        num_workers: Number of processes that read a part each: global_batch_size / num_workers examples of a step.
        worker_index: Number of this process, from 0; required with several workers.
        others: All arguments of `make_dataset_fn`, which documents them.

    Raises:
        CallError: The batch is not a multiple of the number of workers; and see `make_dataset_fn`.
    """
    workers = arguments.num_workers
    layout = BatchLayout(arguments.global_batch_size, workers, arguments.worker_index or 0)
    dataset = load_dataset_fn(arguments)(tf.distribute.InputContext(workers, layout.worker_index, workers))
    distribution = tf.data.Options()
    # DATA cuts every global batch into contiguous parts, in order. AUTO (the default) keeps the batches but not the
    # order inside them, OFF gives every worker everything. Of parts DATA would drop all but one: there OFF.
    policy = tf.data.experimental.AutoShardPolicy
    distribution.experimental_distribute.auto_shard_policy = policy.DATA if workers == 1 else policy.OFF
    return dataset.with_options(distribution)
