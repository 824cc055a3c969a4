"""Warn of training on a split for evaluation: `training=True` is the default, so leaving it out is an easy mistake."""

import inspect
import os
import warnings

from shardkit.naming import split_of_folder

_EVALUATION_SPLITS = {"validation", "test"}
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(__file__))) + os.sep


def warn_of_training_on(split: str) -> None:
    """Warn if a split's name means validation or test, at the line that called the reader.

    Args:
        split: Name of a split that training reads whole, without `fold`.
    """
    if split_of_folder(split) in _EVALUATION_SPLITS:
        warnings.warn(
            f"training=True (the default) repeats the split {split!r} endlessly, shuffled, with random crops and "
            "flips; pass training=False to evaluate. If you do train on it, silence this warning with "
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
