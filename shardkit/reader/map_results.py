"""What a user's `map_fn` may return."""

from collections.abc import Mapping
from typing import Any

from shardkit.errors import CallError


def returned(name: str, result: Any) -> Any:
    """What a function returned; a list as the tuple that was meant: a dataset would stack its parts into one tensor.

    Args:
        name: of the argument.
        result: of the function.

    Raises:
        CallError: nothing.
    """
    if result is None:
        msg = f"{name} returned None; it must return the element, a tensor or a tuple or dict of them: add the `return`"
        raise CallError(msg)
    return tuple(result) if isinstance(result, list) else result


def check_weight(element: Mapping[str, Any]) -> None:
    """Refuse an example's own "weight" where the reader adds one.

    Raises:
        CallError: there is one.
    """
    if "weight" in element:
        msg = (
            "map_fn returned a dict with 'weight', which the reader adds itself in evaluation (0 for padding) and with "
            "sample_weight; give yours another name"
        )
        raise CallError(msg)
