"""What each argument of the reader's functions may be: one check for each name, made before anything is read.

Every argument that is given is checked, also one that nothing will come of here, such as `dtype` without `image_size`:
options are shared between calls, and a mistake is to be found where it is made.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import tensorflow as tf

from shardkit.dataset.manifest import Manifest
from shardkit.reader.arguments.checks import (
    Check,
    flag,
    folder,
    function,
    one_of,
    optional,
    refused,
    several,
    text,
    weights,
    whole_number,
)
from shardkit.reader.arguments.options import IMAGE_CHECKS, MAX_STEP, READ_CHECKS
from shardkit.reader.table.mixtures import Mixture

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

MAX_BLOCK_RECORDS = 1 << 40  # the most examples that any order takes


def _dataset(name: str, found: Any) -> Any:
    return found if isinstance(found, Manifest | Mixture) else folder(name, found)


def _pairs(name: str, found: Any) -> list[Any]:
    # What each of them has to be, and that there is one, is known to `make_mixture`.
    if not isinstance(found, list | tuple):
        raise refused(name, "a list of (dataset, weight), as in [('OUT', 3), ('OTHER', 1)]", found)
    return list(found)


def _context(name: str, found: Any) -> Any:
    if not isinstance(found, tf.distribute.InputContext):
        raise refused(name, "a tf.distribute.InputContext", found)
    return found


CHECKS: dict[str, Check] = {
    **IMAGE_CHECKS,
    **READ_CHECKS,
    "image_size": optional(IMAGE_CHECKS["image_size"]),
    "dataset": _dataset,
    "datasets": _pairs,
    "split": text,
    "start_step": whole_number(0, MAX_STEP - 1),
    "order": one_of("full", "block"),
    "sampling": weights("'natural', 'class_balanced' or weights by class", "natural", "class_balanced"),
    "block_records": whole_number(1, MAX_BLOCK_RECORDS),
    "window_blocks": whole_number(1),
    "lanes": whole_number(1),
    # Whether there are as many is known when the index is read.
    "fold": optional(several(whole_number(), "(index, count), two whole numbers", lambda values: len(values) == 2)),
    "take": optional(whole_number()),
    "map_fn": optional(function),
    "batch_map_fn": optional(function),
    "sample_weight": optional(weights("'balanced' or a mapping of weights by class", "balanced")),
    "on_corrupt": one_of("error", "skip"),
    "max_corrupt": lambda name, found: whole_number(0)(f"{name}: the budget of bad records", found),
    "cache_dir": optional(folder),
    "cache_bytes": whole_number(1),
    "service": optional(text),
    "service_job": optional(text),
    "independent_workers": flag,
    # make_dataset's and check's; the batch's layout knows their ranges.
    "num_workers": whole_number(),
    "worker_index": whole_number(),
    "context": _context,
    "num_examples": whole_number(1),
}


def checked(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """The function, called with its arguments as their checks give them back.

    Raises:
        CallError: an argument is not what its check wants.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return function(*args, **kwargs)  # for Python's own sentence, which names the function
        for name, found in bound.arguments.items():
            if name in CHECKS:
                bound.arguments[name] = CHECKS[name](name, found)
        return function(*bound.args, **bound.kwargs)

    return call
