"""Check what a user's `map_fn` or `batch_map_fn` returns."""

from collections.abc import Mapping
from typing import Any

from shardkit.errors import CallError


def check_element(name: str, result: Any) -> Any:
    """Return the element that a user's function returned; a list becomes a tuple.

    tf.data would stack the parts of a list into one tensor.

    Args:
        name: Name of the argument.
        result: What the function returned.

    Raises:
        CallError: The function returned None.
    """
    if result is None:
        msg = f"{name} returned None; it must return the element, a tensor or a tuple or dict of them: add the `return`"
        raise CallError(msg)
    return tuple(result) if isinstance(result, list) else result


def check_no_weight(element: Mapping[str, Any]) -> None:
    """Check that an element has no "weight", where the reader adds one.

    Raises:
        CallError: It has one.
    """
    if "weight" in element:
        msg = (
            "map_fn returned a dict with 'weight', which the reader adds itself in evaluation (0 for padding) and with "
            "sample_weight; give yours another name"
        )
        raise CallError(msg)
