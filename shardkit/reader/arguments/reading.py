"""`ReadArguments`: the arguments of `make_dataset_fn`, validated together before anything is read.

Options are shared between calls, so an argument is also checked where this call does not use it.
"""

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal, TypeAlias

from shardkit.arguments.checks import (
    Check,
    flag,
    folder,
    function,
    normalise_fields,
    one_of,
    optional,
    refused,
    several,
    text,
    weights,
    whole_number,
)
from shardkit.dataset.manifest import Manifest
from shardkit.errors import CallError
from shardkit.fetch import Skip
from shardkit.fetch.table.mixtures import Dataset
from shardkit.fetch.table.selection import SELECTION_CHECKS
from shardkit.hashing import MAX_SEED
from shardkit.order.batches import MAX_BATCH, MAX_STEP
from shardkit.order.training import BlockOrder
from shardkit.reader.arguments.images import SIZE, Images
from shardkit.reader.arguments.values import Cache, Memory, Service

Datasets: TypeAlias = Dataset | Sequence[tuple[Dataset, float]]
"""One dataset, or several with the weight of each."""
Order: TypeAlias = Literal["full", "block"] | BlockOrder
Sampling: TypeAlias = Literal["natural", "class_balanced"] | Mapping[str, float]
SampleWeight: TypeAlias = Literal["balanced"] | Mapping[str, float]
LastBatch: TypeAlias = Literal["padded", "short"]
OnCorrupt: TypeAlias = Literal["error", "skip"] | Skip
MapFn: TypeAlias = Callable[[dict[str, Any], Any], Any]
BatchMapFn: TypeAlias = Callable[[Any, Any], Any]


# Second parameters of functions that are written for (image, label).
_LABEL_NAMES = {"label", "labels", "y", "target", "targets", "lbl"}


def _dataset(name: str, found: Any) -> Any:
    if isinstance(found, Manifest):
        return found
    if isinstance(found, list | tuple):
        if not found:
            raise refused(name, "a dataset, or at least one (dataset, weight)", found)
        return list(found)  # `read_datasets` checks the pairs
    return folder(name, found)


def _value(
    kinds: type | tuple[type, ...], wanted: str, words: Mapping[str, Any] | None = None, make: Check | None = None
) -> Check:
    """Return the check of an argument that is a value object, a word for one, or what `make` makes one from."""

    def check(name: str, found: Any) -> Any:
        if isinstance(found, kinds):
            return found
        if isinstance(found, type) and issubclass(found, kinds):
            raise refused(name, f"a reader.{found.__name__}, called", found)
        if isinstance(found, str) and words is not None and found in words:
            return words[found]
        if make is None:
            raise refused(name, wanted, found)
        return make(name, found)

    return check


def _service(name: str, found: Any) -> Service:
    try:
        return Service(text(name, found))
    except CallError:
        raise refused(name, "the dispatcher's address, 'grpc://host:port', or a reader.Service", found) from None


def _function(*parameters: str) -> Check:
    """Return the check of a function that is called with these positional arguments."""

    def check(name: str, found: Any) -> Any:
        function(name, found)
        try:
            signature = inspect.signature(found)
        except (TypeError, ValueError):  # some builtins have none
            return found
        if (
            getattr(found, "__module__", None) == "shardkit.reader.images.mixup"
            and "num_classes" in signature.parameters
        ):
            called = f"batch_map_fn=reader.{found.__name__}(train_fn.num_classes)"
            raise CallError(f"reader.{found.__name__} makes such a function from the number of classes; write {called}")
        names = list(signature.parameters)
        if name == "map_fn" and len(names) == len(parameters) and names[1].lower() in _LABEL_NAMES:
            raise CallError(
                f"map_fn must be a function of (features, seed); found one of ({', '.join(names)}): the label is one "
                "of the features, as in map_fn=lambda features, seed: (features['image'], features['label'])"
            )
        try:
            signature.bind(*parameters)
        except TypeError:
            takes = f"{getattr(found, '__name__', type(found).__name__)}{signature}"
            raise refused(name, f"a function of ({', '.join(parameters)})", takes) from None
        return found

    return check


_START_STEP = whole_number(0, MAX_STEP - 1)
_SAMPLING = weights("'natural', 'class_balanced' or weights by class", "natural", "class_balanced")
_SAMPLE_WEIGHT = weights("'balanced' or a mapping of weights by class", "balanced")
_FEATURES = several(text, "names of stored features, such as ('image', 'label')", bool)
_SERVICE = _value(Service, "an address or a reader.Service", make=_service)
_IMAGES = _value(Images, "reader.Images((height, width), ...); image_size=(height, width) is short for it")
_ORDER = _value(BlockOrder, "'full', 'block' or a reader.BlockOrder", {"full": "full", "block": BlockOrder()})
_ON_CORRUPT = _value(Skip, "'error', 'skip' or a reader.Skip", {"error": "error", "skip": Skip()})
_CACHE = _value(
    (Cache, Memory),
    "'memory', a folder, a reader.Memory, a reader.Cache or None",
    {"auto": "auto", "memory": Memory()},
    lambda name, found: Cache(folder(name, found)),
)


@dataclass(frozen=True, slots=True)
class ReadArguments:
    """Arguments of `make_dataset_fn`, which documents them: the type, the check and the default of each.

    Words and paths become the values that they are short for: `order="block"` becomes `BlockOrder()`.

    Raises:
        CallError: An argument is not what it must be; the message names it, what was found and the remedy.
    """

    dataset: Annotated[Datasets, _dataset]
    split: Annotated[str, text]
    _: KW_ONLY
    global_batch_size: Annotated[int, whole_number(1, MAX_BATCH)]
    image_size: Annotated[tuple[int, int] | None, optional(SIZE)] = None
    images: Annotated[Images | None, optional(_IMAGES)] = None
    training: Annotated[bool, flag] = True
    last_batch: Annotated[LastBatch, one_of("padded", "short")] = "padded"
    seed: Annotated[int, whole_number(0, MAX_SEED)] = 0
    start_step: Annotated[int, _START_STEP] = 0
    order: Annotated[Order, _ORDER] = "full"
    sampling: Annotated[Sampling, _SAMPLING] = "natural"
    where: Any = None
    fold: Annotated[tuple[int, int] | None, SELECTION_CHECKS["fold"]] = None
    take: Annotated[int | None, SELECTION_CHECKS["take"]] = None
    features: Annotated[Sequence[str] | None, optional(_FEATURES)] = None
    map_fn: Annotated[MapFn | None, optional(_function("features", "seed"))] = None
    batch_map_fn: Annotated[BatchMapFn | None, optional(_function("element", "seed"))] = None
    one_hot: Annotated[bool, flag] = False
    sample_weight: Annotated[SampleWeight | None, optional(_SAMPLE_WEIGHT)] = None
    on_corrupt: Annotated[OnCorrupt, _ON_CORRUPT] = "error"
    cache: Annotated[str | os.PathLike[str] | Cache | Memory | None, optional(_CACHE)] = "auto"
    service: Annotated[str | Service | None, optional(_SERVICE)] = None
    independent_workers: Annotated[bool, flag] = False

    def __post_init__(self) -> None:
        normalise_fields(self)
        if self.sample_weight is not None and not self.training:
            raise refused("sample_weight", "left out of evaluation, where the weight marks padding", self.sample_weight)
        if self.image_size is not None and self.images is not None:
            raise CallError(f"image_size is short for images=Images(size); leave out image_size={self.image_size}")
        if self.image_size is not None:
            object.__setattr__(self, "images", Images(self.image_size))
        if self.one_hot and (self.images is None or self.map_fn is not None):
            raise CallError(
                "one_hot=True is for elements (images, labels): give image_size= or images=, and leave out map_fn, "
                "which makes the labels itself, as in tf.one_hot(features['label'], num_classes)"
            )
        if self.features is not None and (self.images is not None or self.map_fn is not None):
            raise CallError(
                "features= is for elements with encoded images: leave out images= and image_size=; map_fn chooses from "
                "all features itself"
            )
        if isinstance(self.cache, Memory) and self.cache.decoded and self.images is None:
            raise CallError(
                "cache=reader.Memory(decoded=True) holds decoded images, and none are decoded: give image_size= or "
                "images=, or hold the encoded records by cache='memory'"
            )
        if self.service is not None:
            self._check_remote("service")
            if self.has_short_batch:
                msg = "last_batch='short' keeps the order of the examples, and service= does not; leave one of them out"
                raise CallError(msg)
            if self.independent_workers:
                msg = "service= gives every global batch once, independent_workers= does not promise it; leave one out"
                raise CallError(msg)
        elif self.independent_workers:
            self._check_remote("independent_workers")
            self._check_independent()

    def _check_remote(self, name: str) -> None:
        """Refuse what needs this process where others read."""
        if self.block_order is not None:
            raise CallError(
                f"order='block' reads neighbouring records together in this process, and with {name}= others read each "
                f"record by itself; leave order out"
            )
        if self.max_corrupt is not None:
            raise CallError(
                f"on_corrupt='skip' counts damaged records in this process, and with {name}= others read them; leave "
                f"it out, and the first damaged record stops them and is named"
            )
        if self.cache not in (None, "auto"):
            raise CallError(
                f"cache= is a folder or the memory of this host, and with {name}= other processes read; leave it out, "
                f"and put the dataset where all of them find it under the same path"
            )

    def _check_independent(self) -> None:
        check_start_step(self.start_step, independent_workers=True)
        if not self.training:
            raise CallError(
                "independent_workers is for training: to see every example once, evaluate in one process, such as the "
                "coordinator, with make_dataset(..., training=False)"
            )

    @property
    def remote_service(self) -> Service | None:
        """The service whose workers read, if there is one."""
        return self.service if isinstance(self.service, Service) else None

    @property
    def are_others_reading(self) -> bool:
        """Whether other processes run the pipeline's graph."""
        return self.service is not None or self.independent_workers

    @property
    def block_order(self) -> BlockOrder | None:
        """The block order of training, if that is the order."""
        return self.order if isinstance(self.order, BlockOrder) else None

    @property
    def has_short_batch(self) -> bool:
        """Whether this is an evaluation without padding."""
        return not self.training and self.last_batch == "short"

    @property
    def max_corrupt(self) -> int | None:
        """Maximum number of damaged records to replace; None to stop at the first."""
        return self.on_corrupt.max_records if isinstance(self.on_corrupt, Skip) else None


def check_start_step(found: Any, *, independent_workers: bool) -> int:
    """Return a start step as a number, given as an argument or assigned; `check_start` knows the number of steps."""
    step = _START_STEP("start_step", found)
    if step and independent_workers:
        raise CallError(
            f"independent_workers starts each worker at a random step; leave out start_step={step}: what a worker "
            f"would read next is not known, so it cannot be resumed"
        )
    return int(step)
