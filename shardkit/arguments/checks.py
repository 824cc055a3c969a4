"""Checks of single arguments: each returns the value in its plain type, or raises an error that states the rule.

TensorFlow and NumPy accept "8", 8.0, True and None as numbers in some places, and fail deep inside in others. So every
argument is checked before it is used.
"""

import contextlib
import functools
import math
import numbers
import operator
import os
import re
import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_origin, get_type_hints

import numpy as np

from shardkit.errors import CallError

Check = Callable[[str, Any], Any]
"""Function of an argument's name and value that returns the value in its plain type. Raises CallError."""

MAX_SHOWN = 100  # characters of a value in a message
MAX_WEIGHT = 1e30  # weights become float32, which ends at 3e38, and losses are multiplied by them


def refused(name: str, wanted: str, found: Any) -> CallError:
    """Return the error that names the argument, the rule, which follows "must be", and the value found."""
    shown = "a tensor" if _is_tensor(found) else repr(found)
    shown = shown if len(shown) <= MAX_SHOWN else shown[:MAX_SHOWN] + "…"
    return CallError(f"{name} must be {wanted}; found {shown}")


def _is_tensor(found: Any) -> bool:
    """Return whether this is a tensor; without TensorFlow in this process, nothing is one."""
    tensorflow = sys.modules.get("tensorflow")
    return tensorflow is not None and bool(tensorflow.is_tensor(found))


def whole_number(least: int | None = None, greatest: int | None = None) -> Check:
    """Return a check for whole numbers, NumPy's included; a bool, 8.0 and tensors are refused."""
    wanted = f"at least {least}" if greatest is None else f"from {least} to {greatest}"

    def check(name: str, found: Any) -> int:
        # A tensor has an index as well, but only outside of tf.function.
        if _is_tensor(found):
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
    """Return a check for real numbers that meet a condition, NumPy's included; bools and strings are refused."""

    def check(name: str, found: Any) -> float:
        if _is_real(found):
            with contextlib.suppress(OverflowError):
                if holds(number := float(found)):
                    return number
        raise refused(name, wanted, found)

    return check


def several(one: Check, wanted: str, holds: Callable[[tuple[Any, ...]], bool]) -> Check:
    """Return a check for sequences whose values each pass `one` and together meet a condition; it returns a tuple."""

    def check(name: str, found: Any) -> tuple[Any, ...]:
        if isinstance(found, list | tuple) or (isinstance(found, np.ndarray) and found.ndim == 1):
            with contextlib.suppress(CallError):
                values = tuple(one(name, each) for each in found)
                if holds(values):
                    return values
        raise refused(name, wanted, found)

    return check


def one_of(*words: str) -> Check:
    """Return a check for one of several words."""
    *others, last = map(repr, words)
    wanted = f"{', '.join(others)} or {last}"

    def check(name: str, found: Any) -> str:
        if not isinstance(found, str) or found not in words:
            raise refused(name, wanted, found)
        return str(found)

    return check


def weights(wanted: str, *words: str) -> Check:
    """Return a check for one of several words, or a mapping of weights by class name."""

    def check(name: str, found: Any) -> str | dict[Any, float]:
        if isinstance(found, str) and found in words:
            return str(found)
        if not isinstance(found, Mapping):
            raise refused(name, wanted, found)
        for label, weight in found.items():
            if not (_is_real(weight) and 0 <= weight <= MAX_WEIGHT):
                raise CallError(f"{name} gives {label!r} {weight!r}; a weight is a finite number of at least 0")
        return {label: float(weight) for label, weight in found.items()}

    return check


def _is_real(found: Any) -> bool:
    return not isinstance(found, bool) and isinstance(found, numbers.Real)


def flag(name: str, found: Any) -> bool:
    """Check a bool. Words and numbers are refused: "no" would be true."""
    if not isinstance(found, bool | np.bool_):
        raise refused(name, "True or False", found)
    return bool(found)


def text(name: str, found: Any) -> str:
    """Check a string."""
    if not isinstance(found, str):
        raise refused(name, "a string", found)
    return found


def function(name: str, found: Any) -> Any:
    """Check a callable."""
    if not callable(found):
        raise refused(name, "a function", found)
    return found


def folder(name: str, found: Any) -> str:
    """Check the path or URL of a folder; return it as a string."""
    check_no_arrays(name, found)
    try:
        path = os.fspath(found)
    except TypeError:
        path = None
    if not isinstance(path, str) or not path:
        # "" would be the working folder, which is always a mistake.
        raise refused(name, "the path of a folder, a string or a pathlib.Path", found)
    if re.match(r"(file|gs|s3):/(?!/)", path):
        raise refused(name, "a string where it is a URL: pathlib takes one of its slashes away", found)
    return path


def check_no_arrays(name: str, found: Any) -> None:
    """Refuse arrays, alone or in a list, where a path is expected."""
    arrays = found if isinstance(found, tuple | list) else [found]
    if any(hasattr(type(one), "dtype") and hasattr(one, "shape") for one in arrays):
        raise CallError(
            f"{name} must be a path; found arrays, and for arrays in memory you do not need shardkit: "
            "model.fit(images, labels) takes them, and so does tf.data.Dataset.from_tensor_slices((images, labels))"
            ".shuffle(len(images)).batch(32)"
        )


def optional(check: Check) -> Check:
    """Check a value that may be None."""
    return lambda name, found: None if found is None else check(name, found)


def normalise_fields(value: Any) -> None:
    """Check the fields of a frozen dataclass, and store what the checks return: a tuple for a list, an int for NumPy's.

    The check of a field is in its annotation: `seed: Annotated[int, whole_number(0)] = 0`.
    """
    for name, check in _checks_of(value.__class__).items():
        object.__setattr__(value, name, check(name, getattr(value, name)))


@functools.cache
def _checks_of(kind: Any) -> dict[str, Check]:
    hints = get_type_hints(kind, include_extras=True)
    return {name: hint.__metadata__[0] for name, hint in hints.items() if get_origin(hint) is Annotated}
