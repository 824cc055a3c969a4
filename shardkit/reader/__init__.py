"""Read a dataset in trainers: the dataset on disk becomes the `tf.data` input function of each worker.

Only this package imports TensorFlow. Here is what users call. What is read, and in which order, is in `shardkit.fetch`.
The subpackages and larger modules: `arguments`, decoding of `images`, start and restore of `iterators`, copies of
shards on disk (`shard_cache`), `remote` workers and the `operations` that they run, Keras' `callbacks`, and `bench`,
what `shardkit bench` measures. Nothing of the conversion belongs here.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shardkit.extras import missing_extra

try:
    import tensorflow as tf  # noqa: F401 - first, because the imports below fail without it
except ModuleNotFoundError as error:
    raise missing_extra(error, "shardkit.reader") or error from None

from shardkit.fetch import Skip
from shardkit.order.training import BlockOrder
from shardkit.reader.api import make_dataset, make_dataset_fn
from shardkit.reader.arguments.images import Images
from shardkit.reader.arguments.values import Cache, Memory, Service
from shardkit.reader.batch_preview import Preview, preview
from shardkit.reader.dataset_fn import DatasetFn
from shardkit.reader.images.mixup import cutmix, mixup
from shardkit.reader.monitoring import monitor

if TYPE_CHECKING:
    # Not in __all__: they import Keras.
    from shardkit.reader.callbacks import InputMonitor as InputMonitor
    from shardkit.reader.callbacks import ResumeCallback as ResumeCallback

__all__ = [
    "BlockOrder",
    "Cache",
    "DatasetFn",
    "Images",
    "Memory",
    "Preview",
    "Service",
    "Skip",
    "cutmix",
    "make_dataset",
    "make_dataset_fn",
    "mixup",
    "monitor",
    "preview",
]


def __getattr__(name: str) -> Any:
    """Import Keras only when it is used: its configured backend may not be installed."""
    if name in {"InputMonitor", "ResumeCallback"}:
        return getattr(import_module("shardkit.reader.callbacks"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
