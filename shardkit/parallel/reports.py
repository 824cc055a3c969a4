"""Results of parallel work as files: one for each item, with the numbers that the progress needs in its name.

Counting lists one folder and opens no file. A file appears whole or not at all; one that is written twice replaces
itself, if its numbers follow from the item.
"""

import contextlib
import os
import secrets
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from shardkit.errors import MachineError
from shardkit.naming import WORK_FOLDER
from shardkit.parallel.run_token import Fence
from shardkit.storage import Folder, LocalFolder, open_folder
from shardkit.storage.concurrent_reads import read_many
from shardkit.storage.retry import retried

_ENDING = ".report"


class Report(NamedTuple):
    """A report that is there: its path in the folder, the number of its item, and its numbers."""

    path: str
    item: int
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reports:
    """The reports of one kind of work."""

    folder: Folder  # the folder whose work folder has them
    kind: str  # name of their folder, such as "scans"

    @property
    def path(self) -> str:
        return f"{WORK_FOLDER}/{self.kind}"

    def write(self, fence: Fence, item: int, *numbers: int, data: bytes = b"") -> None:
        """Write the report of an item, with numbers for the progress, unless the run has ended."""
        name = "-".join([f"{item:08d}", *map(str, numbers)])
        fence.write(f"{self.path}/{name}{_ENDING}", data)

    def found(self) -> list[Report]:
        """Return the reports that are there, one for each item, in the order of the items."""
        names = [entry.name for entry in self.folder.scan(self.path) if entry.name.endswith(_ENDING)]
        numbers = {name: tuple(map(int, name.removesuffix(_ENDING).split("-"))) for name in names}
        of_items = {item: Report(f"{self.path}/{name}", item, tuple(rest)) for name, (item, *rest) in numbers.items()}
        return [of_items[item] for item in sorted(of_items)]

    def total(self) -> int:
        return sum(report.numbers[0] for report in self.found())

    def complete(self, num_items: int) -> list[Report]:
        """Return the reports of all items, in their order; raise MachineError if some are missing."""
        found = self.found()
        if len(found) < num_items:
            raise MachineError(
                f"{self.folder.url}: what workers found in {num_items - len(found)} of {num_items} files is missing; "
                "a remote --runner needs a --temp_location that they reach"
            )
        return found

    def read(self, num_items: int) -> list[bytes]:
        """Return the content of the reports of all items, in their order; see `complete`."""
        paths = [report.path for report in self.complete(num_items)]
        return list(read_many(lambda path: retried(lambda: self.folder.read(path)), paths))

    def remove(self) -> None:
        self.folder.remove_tree(self.path)


@contextlib.contextmanager
def work_folder(location: str | None) -> Iterator[Folder]:
    """Make a folder for the results of a command without an output, at Beam's --temp_location or a local one."""
    if location is None:
        folder = open_folder(tempfile.mkdtemp(prefix="shardkit-"))
    else:
        folder = open_folder(f"{location.rstrip('/')}/shardkit-{secrets.token_hex(8)}")
        folder.create()
    try:
        yield folder
    finally:
        _removable(folder).remove_tree("")


def _removable(folder: Folder) -> Folder:
    # After Ctrl-C, workers write until the process ends. After a rename they do not find the folder.
    if not isinstance(folder, LocalFolder):
        return folder
    renamed = LocalFolder(f"{folder.path}-ended")
    os.rename(folder.path, renamed.path)
    return renamed
