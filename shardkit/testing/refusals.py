"""Read refusals in tests: as values, and as the command line prints them."""

from typing import Any

from shardkit.options.words import written_as


def offered(error: BaseException) -> list[dict[str, Any]]:
    """Return the options of the changes that a refusal offers, in order."""
    refusal: Any = error
    return [dict(change.options) for change in refusal.refusal.changes]


def command_text(error: BaseException) -> str:
    """Return an error as the command line prints it; SOURCE stands for the source if the call is not known."""
    with written_as("command"):
        return str(error)
