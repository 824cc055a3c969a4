"""The progress of a job: the phases of a conversion and the interface of what shows them."""

import contextlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from shardkit.naming import ShardName
from shardkit.storage import TEMPORARY, Folder


class Show(Protocol):
    """Receives the progress of a phase."""

    def __call__(self, done: int, total: int | None = None, /) -> None:
        """Show the progress.

        Args:
            done: Number of images done so far.
            total: Number of images of the phase known so far, which grows while they are listed; None if unchanged.
        """
        ...


class ProgressListener(Protocol):
    """Receives messages and progress while a job runs."""

    def say(self, text: str) -> None:
        """Receive a message for the user."""
        ...

    def phase(self, name: str, total: int | None) -> AbstractContextManager[Show]:
        """Begin a phase.

        Args:
            name: Name of the phase, such as "writing".
            total: Number of images of the phase; None if unknown.

        Returns:
            A context manager that ends the phase; its value takes the progress.
        """
        ...


class Silent:
    """A listener that shows nothing."""

    def say(self, text: str) -> None:
        """Ignore the message."""

    def phase(self, name: str, total: int | None) -> AbstractContextManager[Show]:
        """Ignore the phase."""
        return contextlib.nullcontext(ignore_progress)


def ignore_progress(done: int, total: int | None = None, /) -> None:
    """Show nothing."""


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of a job and how its progress is measured.

    Attributes:
        listener: Receives the progress.
        name: Name of the phase.
        total: Number of images of the phase; None if unknown.
        count: Returns the number of images done so far. It reads the work folder, so workers report nothing.
        count_total: Returns the total known so far; None if `total` is known.
        watch: Called every second or so, so that the driver can end the phase; None for nothing.
    """

    listener: ProgressListener
    name: str
    total: int | None
    count: Callable[[], int]
    count_total: Callable[[], int] | None = None
    watch: Callable[[], None] | None = None

    def poll(self, show: Show) -> None:
        """Show the progress once."""
        show(self.count(), None if self.count_total is None else self.count_total())


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
