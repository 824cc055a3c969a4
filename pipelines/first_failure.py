"""Work of which the first error ends the rest, and reaches the driver as a file.

An exception would be repeated by the runner and printed as a traceback, without the sentence for the user.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from shardkit.errors import MachineError, ShardkitError
from shardkit.storage import Folder
from shardkit.storage.retry import retried
from shardkit.writing.worker_checks.driver_view import DriverView, check_worker

_T = TypeVar("_T")
_FAILURE = "failure.json"


@dataclass(frozen=True)
class UntilFirstFailure(Generic[_T]):
    """A function for each element that does nothing after the first failure on any worker.

    Attributes:
        work: The function.
        folder: A folder that all workers reach.
        driver: What the driver runs and sees; each worker process compares itself with it first.
    """

    work: Callable[[_T], None]
    folder: Folder
    driver: DriverView

    def __call__(self, element: _T) -> None:
        """Call the function for an element."""
        if self.folder.stat(_FAILURE) is not None:
            return
        try:
            check_worker(self.driver)
            self.work(element)
        except (OSError, ShardkitError) as error:
            sentence = str(error)
            retried(lambda: self._write(sentence))

    def _write(self, sentence: str) -> None:
        with self.folder.atomic_write(_FAILURE) as file:
            file.write(json.dumps({"error": sentence}).encode())

    def raise_failure(self) -> None:
        """Raise the failure, if there was one.

        Raises:
            MachineError: A worker failed, or does not fit the driver.
        """
        if self.folder.stat(_FAILURE) is not None:
            raise MachineError(json.loads(self.folder.read(_FAILURE))["error"])
