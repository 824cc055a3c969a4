"""List a folder of very many files by a reading that accounts for each, and check the accounts; keeps no row.

python account_files.py NUM_FILES path|table WORK

The images are made up as they are listed, 1,000 in a folder, and in every tenth folder lies a file that nothing
explains; `table` reads their labels from a CSV in WORK, which names two thirds of them.
"""

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from shardkit.errors import DataError
from shardkit.sources.engine.opening import open_reading
from shardkit.sources.options import Opening
from shardkit.sources.readings.text import from_data
from shardkit.storage import Entry, Folder, open_folder
from shardkit.storage.folder import WrappedFolder

IN_FOLDER = 1000


@dataclass(frozen=True, slots=True)
class ManyFiles(WrappedFolder):
    """A folder of images that are made up."""

    inner: Folder
    num_files: int

    def scan(self, path: str = "") -> list[Entry]:
        """See Folder."""
        if not path:
            folders = [Entry(f"{i:06d}", True, 0, 0) for i in range(self.num_files // IN_FOLDER)]
            return [*folders, *self.inner.scan()]
        number = int(path)
        entries = [Entry(f"{number * IN_FOLDER + i:09d}.jpg", False, 1000, 1) for i in range(IN_FOLDER)]
        return [*entries, *[Entry("scan.dat", False, 1, 1)] * (number % 10 == 0)]

    def stat(self, path: str) -> Entry | None:
        """See Folder."""
        above, _, name = path.rpartition("/")
        return next((one for one in self.scan(above) if one.name == name), None) if path else Entry("", True, 0, 0)

    def resolve(self, path: str) -> str:
        """See Folder."""
        return path


def table(path: Path, num_files: int) -> None:
    """Write a table that names two thirds of the images."""
    with path.open("w") as file:
        file.write("image,label\n")
        for i in range(num_files):
            if i % 3:
                file.write(f"{i // IN_FOLDER:06d}/{i:09d}.jpg,class_{i % 100}\n")


num_files, kind, work = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
work /= f"accounts-{num_files}-{kind}"
work.mkdir(exist_ok=True)
if kind == "table" and not (work / "labels.csv").exists():
    table(work / "labels.csv", num_files)
start = time.process_time()
label = {"path": 0} if kind == "path" else {"column": "label", "files": ["labels.csv"], "match": "path", "key": "image"}
unnamed = {"unnamed": "ignore"} if kind == "table" else {}
reading = from_data({"version": 1, "images": unnamed, "label": label}, "the benchmark")
source = open_reading(Opening(ManyFiles(open_folder(str(work)), num_files)), reading)
num_rows, skipped = 0, dict[str, int]()
for part in source.parts():
    for listing in source.list_part(part, 1 << 14):
        num_rows += len(listing.table())
        for name, count in listing.skipped.items():
            skipped[name] = skipped.get(name, 0) + count
try:
    source.check_accounts(skipped)
    sys.exit("the files that nothing explains were not found")
except DataError as error:
    said = str(error)
if f"does not explain {num_files // IN_FOLDER // 10 or 1:,} file" not in said:
    sys.exit(said)
print(json.dumps({"rows": num_rows, "cpu": time.process_time() - start}))
