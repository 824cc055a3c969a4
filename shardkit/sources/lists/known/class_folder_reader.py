"""Class folders that are a part of a source, such as ImageNet's ``train/<class>/``."""

from collections.abc import Iterator
from dataclasses import dataclass

from shardkit.naming import IMAGE_ENDINGS
from shardkit.sources.listing import count_skipped, ending
from shardkit.sources.lists.records import ListRecord, RecordReader
from shardkit.sources.walking import files_below, folders_in, join
from shardkit.storage import Folder


@dataclass(frozen=True, slots=True)
class ClassFolder(RecordReader):
    """Reads every image below a folder as one class.

    Attributes:
        path: The folder.
        label: The class.
        split: The split; None if the source gives none.
    """

    path: str
    label: str
    split: str | None

    @property
    def own_folder(self) -> str:
        """See RecordReader."""
        return self.path

    def records(self, folder: Folder, skipped: dict[str, int]) -> Iterator[ListRecord]:
        """See RecordReader; sorted by path, folder by folder."""
        folders = self.path.split("/")
        above = tuple(folder.resolve("/".join(folders[:depth])) for depth in range(len(folders)))
        for path, entry in files_below(folder, self.path, above):
            kind = ending(entry.name)
            if kind in IMAGE_ENDINGS:
                yield ListRecord(path, self.split, (self.label,), entry=entry)
            else:
                count_skipped(skipped, kind)


def class_folders(folder: Folder, path: str, split: str | None) -> tuple[ClassFolder, ...]:
    """Return a reader for each folder in a folder; its name is the class."""
    return tuple(ClassFolder(join(path, name), name, split) for name in folders_in(folder, path))
