"""The progress of a job: the phases of a conversion and the interface of what shows them."""

import contextlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from shardkit.naming import ShardName
from shardkit.storage import TEMPORARY, Folder


class ProgressListener(Protocol):
    """Receives messages and progress while a job runs."""

    def say(self, text: str) -> None:
        """Receive a message for the user."""
        ...

    def phase(self, name: str, total: int | None) -> AbstractContextManager[Callable[[int], None]]:
        """Begin a phase.

        Args:
            name: Name of the phase, such as "writing".
            total: Number of images of the phase; None if unknown.

        Returns:
            A context manager for the duration of the phase. Its value is called with the number of images done so far.
        """
        ...


class Silent:
    """A listener that shows nothing."""

    def say(self, text: str) -> None:
        """Ignore the message."""

    def phase(self, name: str, total: int | None) -> AbstractContextManager[Callable[[int], None]]:
        """Ignore the phase."""
        return contextlib.nullcontext(lambda _: None)


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of a job and how its progress is measured.

    Attributes:
        listener: Receives the progress.
        name: Name of the phase.
        total: Number of images of the phase; None if unknown.
        count: Returns the number of images done so far. It reads the work folder, so workers report nothing.
    """

    listener: ProgressListener
    name: str
    total: int | None
    count: Callable[[], int]


def count_written(output: Folder, num_examples: Mapping[ShardName, int]) -> int:
    """Return the number of images in finished shards, plus an estimate from the bytes of unfinished ones.

    Args:
        output: The output folder.
        num_examples: Number of examples of each shard.
    """
    entries = {entry.name: entry.num_bytes for entry in output.scan()}
    done = [name for name in num_examples if name.index in entries]
    images = sum(num_examples[name] for name in done)
    num_bytes = sum(entries.get(name.records, 0) for name in done)
    unfinished_bytes = sum(size for name, size in entries.items() if name.startswith(TEMPORARY))
    return images + (unfinished_bytes * images // num_bytes if num_bytes else 0)
