"""What the pipeline receives: validated options of one input function."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shardkit.reader.arguments.images import ImageOptions

__all__ = ["ImageOptions", "ReadOptions"]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What is read, in which order, and what each example becomes.

    Attributes:
        split: Name of the split.
        global_batch_size: Examples of a step over all workers and replicas.
        training: Endless, in training order; else one pass in file order, padded with weight 0.
        seed: Seed of order and augmentation.
        image: How images are decoded; None for the stored features, with encoded images.
        map_fn: Function of a dict of features and an int32[2] seed, called for each example; it returns the element.
        batch_map_fn: Function of an element and an int32[2] seed, called for each batch of a replica.
        class_weights: Weights in label order; each training element ends with its class's weight. None for no weights.
        one_hot: Whether labels are rows of 0 and 1 instead of class numbers.
        max_corrupt: Maximum number of damaged records to replace; None to stop at the first.
        short_last_batch: Evaluation without padding: the last batch is shorter.
        features: Names of the features of an element with encoded images; None for all.
    """

    split: str
    global_batch_size: int
    training: bool
    seed: int
    image: ImageOptions | None
    map_fn: Callable[[dict[str, Any], Any], Any] | None
    batch_map_fn: Callable[[Any, Any], Any] | None = None
    class_weights: tuple[float, ...] | None = None
    one_hot: bool = False
    max_corrupt: int | None = None
    short_last_batch: bool = False
    features: tuple[str, ...] | None = None
