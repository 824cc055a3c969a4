"""Folders whose images have labels in tables or else in their paths, as those of ImageNet."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shardkit.sources.columns import UNMEASURED
from shardkit.sources.engine.drivers import Complete, TreeDriver, TreePart
from shardkit.sources.engine.tables import PiecePart, TableDriver
from shardkit.sources.listing import BadRecord, ListingRow
from shardkit.sources.unlisted_images import NamedImages
from shardkit.sources.walking import is_image
from shardkit.storage import Folder


@dataclass(frozen=True, slots=True)
class TreeWithRecords(TreeDriver):
    """Lists the images of folders, and the records of tables that give no image its label: they are rejected."""

    records: TableDriver | None = None

    def parts(self, folder: Folder) -> list[TreePart | PiecePart]:  # type: ignore[override]
        return [*TreeDriver.parts(self, folder), *(self.records.parts(folder) if self.records else [])]

    def listed_folders(self, part: TreePart | PiecePart) -> Sequence[str]:  # type: ignore[override]
        return TreeDriver.listed_folders(self, part) if isinstance(part, TreePart) else ()

    def sliceable_folder(self, part: TreePart | PiecePart) -> str | None:  # type: ignore[override]
        return part.path if isinstance(part, TreePart) else None

    def divided(self, part: TreePart | PiecePart) -> Sequence[TreePart | PiecePart]:
        return self.records.divided(part) if self.records and isinstance(part, PiecePart) else [part]

    def rows(
        self,
        folder: Folder,
        part: TreePart | PiecePart,
        complete: Complete,
        skipped: dict[str, int],
    ) -> Iterator[ListingRow]:
        if isinstance(part, TreePart):
            yield from TreeDriver.rows(self, folder, part, complete, skipped)
        elif self.records is not None:
            tables = self.records.tables
            images = NamedImages(tables.images.paths(folder, tables.base_of(tables.files[part.file])))
            for row in tables.rows(folder, part.file, part.piece, {}):
                if row.reason is not None and not is_image(row.key):
                    yield row._replace(extra=())
                elif row.key not in images:
                    yield _checked(row.key, complete)


def _checked(key: str, complete: Complete) -> ListingRow:
    """Return the row of an image that is not there, which the check finds."""
    row = ListingRow(key, None, None, UNMEASURED, 0)
    try:
        return complete(row)
    except BadRecord as error:
        return row._replace(reason=error.reason, message=str(error))
