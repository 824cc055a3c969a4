"""Checks of one argument each: what was given becomes the value that is meant, or a sentence says what is wanted.

TensorFlow and NumPy take "8", 8.0, True and None for numbers here and there, or fail deep inside with words of their
own; so every argument is looked at before anything else is done with it.
"""

import contextlib
import math
import numbers
import operator
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from shardkit.errors import CallError

Check = Callable[[str, Any], Any]
"""Takes the argument's name and what was found; gives the value that is meant. Raises CallError."""

MAX_SHOWN = 100  # characters of what was found
MAX_WEIGHT = 1e30  # float32, in which weights are given, ends at 3e38, and losses are to be multiplied by them


def refused(name: str, wanted: str, found: Any) -> CallError:
    """The error that names the argument, what is wanted and what was found."""
    shown = "a tensor" if tf.is_tensor(found) else repr(found)
    shown = shown if len(shown) <= MAX_SHOWN else shown[:MAX_SHOWN] + "…"
    return CallError(f"{name} must be {wanted}; found {shown}")


def whole_number(least: int | None = None, greatest: int | None = None) -> Check:
    """An int, of whatever makes one without loss: NumPy's integers too, no bool, no 8.0, no tensor."""
    wanted = f"at least {least}" if greatest is None else f"from {least} to {greatest}"

    def check(name: str, found: Any) -> int:
        # A tensor has an index too, but only where it is not traced.
        if tf.is_tensor(found):
            raise refused(name, "a whole number, such as int() makes of a tensor", found)
        if isinstance(found, bool | np.bool_):
            raise refused(name, "a whole number", found)
        try:
            number = operator.index(found)
        except TypeError:
            raise refused(name, "a whole number", found) from None
        if (least is not None and number < least) or (greatest is not None and number > greatest):
            raise refused(name, wanted, number)
        return number

    return check


def real_number(wanted: str, holds: Callable[[float], bool] = math.isfinite) -> Check:
    """A float, of any real number that meets the condition; NumPy's too, no bool, no string, no tensor."""

    def check(name: str, found: Any) -> float:
        if _is_real(found):
            with contextlib.suppress(OverflowError):
                if holds(number := float(found)):
                    return number
        raise refused(name, wanted, found)

    return check


def several(one: Check, wanted: str, holds: Callable[[tuple[Any, ...]], bool]) -> Check:
    """A tuple, of any sequence of values that each pass `one` and together meet the condition."""

    def check(name: str, found: Any) -> tuple[Any, ...]:
        if isinstance(found, list | tuple) or (isinstance(found, np.ndarray) and found.ndim == 1):
            with contextlib.suppress(CallError):
                values = tuple(one(name, each) for each in found)
                if holds(values):
                    return values
        raise refused(name, wanted, found)

    return check


def one_of(*words: str) -> Check:
    """One of some words."""
    *others, last = map(repr, words)
    wanted = f"{', '.join(others)} or {last}"

    def check(name: str, found: Any) -> str:
        if not isinstance(found, str) or found not in words:
            raise refused(name, wanted, found)
        return str(found)

    return check


def weights(wanted: str, *words: str) -> Check:
    """One of some words, or a weight for each class by name."""

    def check(name: str, found: Any) -> str | dict[Any, float]:
        if isinstance(found, str) and found in words:
            return str(found)
        if not isinstance(found, Mapping):
            raise refused(name, wanted, found)
        for label, weight in found.items():
            if not (_is_real(weight) and 0 <= weight <= MAX_WEIGHT):
                msg = f"{name} gives {label!r} {weight!r}; a weight is a finite number of at least 0"
                raise CallError(msg)
        return {label: float(weight) for label, weight in found.items()}

    return check


def _is_real(found: Any) -> bool:
    return not isinstance(found, bool) and isinstance(found, numbers.Real)


def flag(name: str, found: Any) -> bool:
    """A bool; no word and no number, which would be true whatever it says."""
    if not isinstance(found, bool | np.bool_):
        raise refused(name, "True or False", found)
    return bool(found)


def text(name: str, found: Any) -> str:
    """A string."""
    if not isinstance(found, str):
        raise refused(name, "a string", found)
    return found


def function(name: str, found: Any) -> Any:
    """Something to call."""
    if not callable(found):
        raise refused(name, "a function", found)
    return found


def folder(name: str, found: Any) -> str:
    """A folder's path or URL as a string, of anything that is a path."""
    try:
        path = os.fspath(found)
    except TypeError:
        path = None
    if not isinstance(path, str) or not path:
        # "" would be the working folder, which nobody means.
        raise refused(name, "the path of a folder, a string or a pathlib.Path", found)
    if re.match(r"(file|gs|s3):/(?!/)", path):
        raise refused(name, "a string where it is a URL: pathlib takes one of its slashes away", found)
    return path


def optional(check: Check) -> Check:
    """Check a value that may be None."""
    return lambda name, found: None if found is None else check(name, found)


def normalise_fields(value: Any, checks: Mapping[str, Check]) -> None:
    """Check the fields of a frozen dataclass, and store what the checks return: a tuple for a list, an int for NumPy's.

    Args:
        value: The dataclass, in its `__post_init__`.
        checks: The check of each field by its name.

    Raises:
        CallError: A field is not what its check requires.
    """
    for name, check in checks.items():
        object.__setattr__(value, name, check(name, getattr(value, name)))
