"""A source that is several sources of one layout, each below its own folder: ``train/`` and ``test/``, two exports."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shardkit.errors import DataError
from shardkit.naming import printable
from shardkit.sources.claim import Claim
from shardkit.sources.columns import MASK_PATH, PATH
from shardkit.sources.listing import Listing, Source
from shardkit.sources.used_files import UsedFile
from shardkit.sources.walking import join
from shardkit.storage import Folder

_PATHS = ("key", PATH.name, MASK_PATH.name)  # columns with paths that start at a source's folder
_DESCRIBED = 3  # members


@dataclass(frozen=True, slots=True)
class Member:
    """One of the sources.

    Attributes:
        name: Its folder below the united source's folder, as messages name it.
        at: Path of the folder that its image paths start at, below the united source's folder.
        split: The split of all its images; None if it has its own splits, or none.
        needs_splits: Whether images without a split are refused, because the folder's name may mean one.
        source: The source.
    """

    name: str
    at: str
    split: str | None
    needs_splits: bool
    source: Source


@dataclass(frozen=True, slots=True)
class MemberPart:
    """A part of one of the sources.

    Attributes:
        number: The source's number.
        part: Its part.
    """

    number: int
    part: Any


@dataclass(frozen=True, slots=True)
class UnitedSource(Source):
    """Several sources of one layout, with the same columns and classes.

    Attributes:
        folder: The folder that image paths start at.
        members: The sources.
    """

    folder: Folder
    members: tuple[Member, ...]

    @property
    def schema(self) -> pa.Schema:
        return self.members[0].source.schema

    @property
    def classes(self) -> tuple[str, ...] | None:
        """See Source; the longest list, which begins with all others."""
        lists = [one.source.classes for one in self.members]
        return max((classes for classes in lists if classes is not None), key=len, default=None)

    @property
    def layout(self) -> str:
        return self.members[0].source.layout

    @property
    def label_files(self) -> tuple[str, ...] | None:
        lists = [one.source.label_files for one in self.members]
        return None if None in lists else tuple(url for urls in lists for url in urls or ())

    @property
    def used_files(self) -> tuple[UsedFile, ...]:
        return tuple(
            UsedFile(join(one.at, file.path), file.gives) for one in self.members for file in one.source.used_files
        )

    @property
    def claims(self) -> tuple[Claim, ...]:
        return tuple(
            replace(claim, path=join(one.name, claim.path)) for one in self.members for claim in one.source.claims
        )

    def check_classes(self, classes: Mapping[int, str]) -> None:
        for one in self.members:
            one.source.check_classes(classes)

    def refuse_changed(self) -> None:
        for one in self.members:
            one.source.refuse_changed()

    def describe(self) -> str:
        said = f"read as {self.layout}: "
        read = [
            f"{printable(one.name)}/{f' as {one.split}' if one.split else ''}: "
            f"{one.source.describe().removeprefix(f'{self.folder.url}/{one.name}: ').rpartition(said)[2]}"
            for one in self.members[:_DESCRIBED]
        ]
        others = len(self.members) - _DESCRIBED
        more = f"; and {others} more" if others > 0 else ""
        return f"{self.folder.url}: read each folder on its own as {self.layout}; {'; '.join(read)}{more}"

    def parts(self) -> Sequence[Any]:
        return [MemberPart(number, part) for number, one in enumerate(self.members) for part in one.source.parts()]

    def listed_folders(self, part: MemberPart) -> Sequence[str]:
        one = self.members[part.number]
        return [join(one.at, path) for path in one.source.listed_folders(part.part)]

    def divided(self, part: MemberPart) -> Sequence[Any]:
        return [MemberPart(part.number, inner) for inner in self.members[part.number].source.divided(part.part)]

    def list_part(self, part: MemberPart, batch_rows: int) -> Iterator[Listing]:
        """See Source; the member's listings, with its folder before all paths, and with its split."""
        one = self.members[part.number]
        for listing in one.source.list_part(part.part, batch_rows):
            yield replace(listing, rows=[], columns=self._placed(listing.table(), one))

    def _placed(self, table: pa.Table, one: Member) -> pa.Table:
        for name in _PATHS:
            if one.at and name in table.column_names:
                table = _with(table, name, pc.binary_join_element_wise(f"{one.at}/", table[name], ""))
        if one.split is not None:
            return with_split(table, one.split, self.folder.url)
        if one.needs_splits:
            lost = table.filter(pc.and_(pc.is_null(table["split"]), pc.is_null(table["reason"])))
            if len(lost):
                key = printable(lost["key"][0].as_py())
                msg = f"{self.folder.url}/{key} has no split, and the name {printable(one.name)} may mean one"
                raise DataError(f"{msg}; write train=, validation= or test= before each folder or archive")
        return table


def with_split(table: pa.Table, split: str, url: str) -> pa.Table:
    """Return the columns of a listing in which all images have a split."""
    others = table.filter(pc.and_(pc.is_valid(table["split"]), pc.not_equal(table["split"], split)))
    if len(others):
        own, key = others["split"][0].as_py(), others["key"][0].as_py()
        msg = f"{url}/{printable(key)} has the split {own!r} in its source, and its folder is for {split!r}"
        raise DataError(f"{msg}; give only the folder of one split, or move the image")
    return _with(table, "split", pa.array([split] * len(table), pa.string()))


def _with(table: pa.Table, name: str, values: Any) -> pa.Table:
    at = table.schema.get_field_index(name)
    return table.set_column(at, table.schema.field(at), values)
