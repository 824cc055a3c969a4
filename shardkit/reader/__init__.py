"""The reader that trainers import: a manifest becomes the per-worker `tf.data` input function."""

from typing import TYPE_CHECKING, Any

from shardkit.reader.api import make_dataset, make_dataset_fn, mix
from shardkit.reader.dataset_fn import DatasetFn
from shardkit.reader.images.mixup import cutmix, mixup
from shardkit.reader.input_contexts import check
from shardkit.reader.monitoring import monitor

if TYPE_CHECKING:
    from shardkit.reader.keras_callbacks import ResumeCallback as ResumeCallback  # not in __all__: it imports Keras

__all__ = [
    "DatasetFn",
    "check",
    "cutmix",
    "make_dataset",
    "make_dataset_fn",
    "mix",
    "mixup",
    "monitor",
]


def __getattr__(name: str) -> Any:
    """Import Keras only for those who use it: its backend may be one that is not installed."""
    if name == "ResumeCallback":
        from shardkit.reader.keras_callbacks import ResumeCallback

        return ResumeCallback
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
