"""WebDataset: names of the classes that are numbers in the shards, from a file such as classes.txt next to them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from shardkit.errors import DataError
from shardkit.naming import printable
from shardkit.sources.formats.class_names import read_names
from shardkit.sources.listing import ListingRow
from shardkit.sources.recognising.class_names import find_class_names, is_names_file
from shardkit.sources.walking import children
from shardkit.storage import Folder


@dataclass(frozen=True, slots=True)
class NumberNames:
    """Class names of numbers.

    Attributes:
        by_label: The name of each number as it is in the shards.
        path: The file that names them; '' for none.
        in_order: All names of the file, in the order of the numbers.
        why_unused: Why a file is not used; '' if it is, or if there is none.
    """

    by_label: dict[str, str] = field(default_factory=dict)
    path: str = ""
    in_order: tuple[str, ...] = ()
    why_unused: str = ""

    @property
    def remark(self) -> str:
        """What the sentence about the source says of the file."""
        if self.why_unused:
            return f"; note: {self.why_unused}"
        return f", classes of {printable(self.path)}" if self.path else ""

    def name(self, row: ListingRow) -> ListingRow:
        """Return a row with the names of its labels; the last of its further values may be a list of these."""
        if not self.by_label or row.reason:
            return row
        if row.label_name is not None:
            return row._replace(label_name=self.by_label.get(row.label_name, row.label_name))
        *place, labels = row.extra
        return row._replace(extra=(*place, [self.by_label.get(label, label) for label in labels]))


def find_number_names(folder: Folder, rows: Iterable[ListingRow], *, is_multi_label: bool) -> NumberNames:
    """Return the names of the numbers in some shards.

    The labels of all samples are read, because a file of three names is about them only if the numbers are 0, 1 and 2.
    They are read only if there is such a file, and up to the first label that is not a number.

    Args:
        folder: Where the file is.
        rows: The rows of all samples.
        is_multi_label: Whether the last of a row's further values is a list of labels.
    """
    if not any(is_names_file(entry.name) for entry in children(folder) if not entry.is_folder):
        return NumberNames()
    labels: set[str] = set()
    for row in rows:
        if row.reason:
            continue
        found: Sequence[str] = row.extra[-1] if is_multi_label else [row.label_name or ""]
        if not all(label.isdecimal() and label.isascii() for label in found):
            return NumberNames()
        labels.update(found)
    try:
        names, first, path = find_class_names(folder, [""], labels)
    except DataError as error:  # it is about something else, or counts otherwise
        return NumberNames(why_unused=f"not used: {error}")
    if not path:
        return NumberNames()
    num = len(set(map(int, labels)))
    if num != len(names) and read_names(folder, path)[1] is None:
        why = f"it names {len(names):,} classes, and the shards have {num:,} numbers; write the number before each name"
        return NumberNames(why_unused=f"not used: {printable(path)}: {why}")
    return NumberNames({label: names[int(label) - first] for label in labels}, path, names)
