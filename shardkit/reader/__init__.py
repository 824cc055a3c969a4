"""The reader that trainers import: a manifest becomes the per-worker `tf.data` input function."""

from shardkit.reader.checking import check
from shardkit.reader.dataset_fn import DatasetFn
from shardkit.reader.making import make_dataset, make_dataset_fn, mix
from shardkit.reader.mixing import cutmix, mixup
from shardkit.reader.monitoring import monitor
from shardkit.reader.resuming import ResumeCallback

__all__ = [
    "DatasetFn",
    "ResumeCallback",
    "check",
    "cutmix",
    "make_dataset",
    "make_dataset_fn",
    "mix",
    "mixup",
    "monitor",
]
