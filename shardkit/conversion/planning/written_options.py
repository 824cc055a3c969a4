"""Read the options in a manifest, which may come from a stranger.

`dataset` knows options only as JSON; their names and values are those of ConvertOptions. Functions that interpret them
are decorated here, so that a value which no conversion writes is a fault of the manifest and not of the program.
"""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from shardkit.errors import ManifestError, ShardkitError
from shardkit.naming import MANIFEST
from shardkit.options.words import convert_again

P = ParamSpec("P")
R = TypeVar("R")


def reads_written_options(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with a ManifestError in place of the errors that options of wrong types or values cause."""

    @functools.wraps(function)
    def reading(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            if isinstance(error, ShardkitError):
                raise  # a sentence for the user
            msg = (
                f"{MANIFEST}: its options are not those of a conversion ({type(error).__name__}: {error}); it was "
                f"changed, restore it or {convert_again()}"
            )
            raise ManifestError(msg) from None

    return reading
