"""The source of a reading: one class, whatever the reading says."""

import contextlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import pyarrow as pa

from shardkit.errors import DataError
from shardkit.naming import printable
from shardkit.sources.claim import Claim, UsedFile
from shardkit.sources.columns import IS_UNLABELLED, LISTING_SCHEMA, OBJECTS
from shardkit.sources.engine.accounting import Accounting, check_accounts, files_and_uses
from shardkit.sources.engine.drivers import Complete, Context, Driver, RestPart
from shardkit.sources.engine.facts import LEFT_OUT, Fact, Values, with_unlabelled
from shardkit.sources.engine.file_groups import fits, is_glob
from shardkit.sources.engine.images import MASKS, ImagePaths
from shardkit.sources.engine.lists import lines_without_image
from shardkit.sources.engine.masks import masks_without_image
from shardkit.sources.engine.tables import TableDriver, records_without_image, tables_of_classes
from shardkit.sources.filtered_folder import IgnoreGlob
from shardkit.sources.formats.format import RecordTable
from shardkit.sources.listing import BadRecord, Listing, ListingRow, Source, batched, below, count_skipped
from shardkit.sources.readings.flags import fact_text, folder_levels
from shardkit.sources.readings.values import Annotation, Listed, Origin, Paired, Reading, files_of
from shardkit.sources.unlisted_images import NamedImages, count_unlisted_images, images_near
from shardkit.sources.walking import ending, files_below, is_image, join
from shardkit.storage import Entry, Folder


@dataclass(frozen=True, slots=True)
class ReadingSource(Source):
    """A source that is read by a reading."""

    folder: Folder  # the folder that keys start at
    value: Reading
    name: str
    driver: Driver
    tree: Folder  # SOURCE, in which that folder is
    facts: tuple[Fact, ...] = ()
    used: tuple[str, ...] = ()  # globs of the files that facts come from, below SOURCE
    images: ImagePaths = field(default_factory=ImagePaths)
    is_strict: bool = True
    remark: str = ""  # what the user should know besides, beginning with ';'; '' for nothing
    class_names: tuple[str, ...] | None = None  # class names in label order, if the reading has them
    is_kept: bool = True  # whether a later delivery can be read by the reading, so that a dataset keeps it
    claims: tuple[Claim, ...] = ()  # what the files in SOURCE that name images say about them
    unlabelled: tuple[IgnoreGlob, ...] = ()  # globs of images that have no label on purpose, if nothing gives them one

    @property
    def reading(self) -> Reading | None:
        return self.value if self.is_kept else None

    @property
    def schema(self) -> pa.Schema:
        of_facts = (field for one in self.facts for field in one.fields)
        marks = [IS_UNLABELLED] if self.unlabelled else []
        return pa.schema([*LISTING_SCHEMA, *self.driver.fields, *of_facts, *marks])

    @property
    def classes(self) -> tuple[str, ...] | None:
        return self.class_names or self.driver.classes

    @property
    def root(self) -> str:
        """Path of the folder that keys start at, below `tree`; its URL if it is elsewhere."""
        return "" if self.folder.url == self.tree.url else below(self.tree, self.folder.url)

    @property
    def layout(self) -> str:
        return self.name

    @property
    def label_files(self) -> tuple[str, ...]:
        return tuple(join(self.tree.url, path) for path in (*self.images.globs_of_masks, *self.used))

    @property
    def used_files(self) -> tuple[UsedFile, ...]:
        return files_and_uses(self.value, self.images.globs_of_masks, self.used)

    @property
    def takes_splits(self) -> bool:
        return self.value.split is None

    def describe(self) -> str:
        if not self.driver.names_images and (levels := folder_levels(self.value)):
            return f"{self.folder.url}: read as {levels}{self.remark}"
        of_driver = self.driver.describe()  # what its own files give
        facts = self.value.facts()
        added = [fact_text(name, one) for name, one in facts if not of_driver or not self._is_of_driver(one)]
        how = "; ".join([*filter(None, [of_driver]), *added]) or "images without labels"
        place = join(self.tree.url, self.driver.used[0]) if self.has_one_file else self.folder.url
        return f"{place}: read as {self.name}: {how}{self.remark}"

    def _is_of_driver(self, origin: Origin) -> bool:
        used = () if isinstance(origin, Listed) and not all(map(is_glob, origin.lists)) else files_of(origin)
        pairs = ((glob, path) for glob in used for path in self.driver.used)
        return isinstance(origin, Annotation) or any(glob == path or fits(glob, path) for glob, path in pairs)

    @property
    def has_one_file(self) -> bool:
        return self.driver.names_images and len(self.driver.used) == 1 and not is_glob(self.driver.used[0])

    def parts(self) -> Sequence[Any]:
        names_examples = any(one.names_examples for one in self.facts) or bool(tables_of_classes(self.facts))
        has_rest = self.driver.names_images or bool(self.root) or self.images.masks is not None or names_examples
        return [*self.driver.parts(self.folder), *([RestPart()] if has_rest else [])]

    def listed_folders(self, part: Any) -> Sequence[str]:
        return () if isinstance(part, RestPart) else self.driver.listed_folders(part)

    def sliceable_folder(self, part: Any) -> str | None:
        return None if isinstance(part, RestPart) else self.driver.sliceable_folder(part)

    def divided(self, part: Any) -> Sequence[Any]:
        return [part] if isinstance(part, RestPart) else self.driver.divided(part)

    def list_part(self, part: Any, batch_rows: int) -> Iterator[Listing]:
        skipped: dict[str, int] = {}
        if isinstance(part, RestPart):
            rows = self._rest(skipped)
        else:
            context = Context(self.folder, skipped, self._complete())
            tables = self.driver.object_tables(context, part, batch_rows)
            rows = self.driver.rows(context, part) if tables is None else iter(())
            for some, table in tables or ():
                if table is None:
                    rows = iter(some)
                else:
                    yield self._with_objects(some, table, skipped)
        yield from batched(self.schema, self._padded(self._chosen(rows, skipped)), batch_rows, skipped)

    def _padded(self, rows: Iterator[ListingRow]) -> Iterator[ListingRow]:
        """Yield rows with all columns: rejected ones lack those of the facts that were not looked up."""
        num = len(self.schema) - len(LISTING_SCHEMA)
        for row in rows:
            is_short = 0 < len(row.extra) < num
            yield row._replace(extra=(*row.extra, *(None,) * (num - len(row.extra)))) if is_short else row

    def _with_objects(self, rows: Iterable[ListingRow], table: RecordTable, skipped: dict[str, int]) -> Listing:
        """Return rows with the objects of a table, whose numbers they have in their place."""
        chosen = [*self._padded(self._chosen(iter(rows), skipped))]
        if table.objects is None:
            return Listing(self.schema, chosen, classes=dict(table.classes))
        at = self.schema.get_field_index(OBJECTS)
        numbered = Listing(self.schema.set(at, pa.field(OBJECTS, pa.int64())), chosen).table()
        objects = table.objects.take(numbered[at].combine_chunks())
        columns = numbered.set_column(at, self.schema.field(at), objects)
        return Listing(self.schema, columns=columns, classes=dict(table.classes))

    def _complete(self, *, has_label: bool = True) -> Complete:
        """Return the function that adds all facts to a row; without `has_label`, those of an image without a label."""
        label, split = (self._values_of(column) for column in ("label_name", "split"))
        label = label if has_label else None
        of_columns = [fact.values(self.folder) for fact in self.facts if not fact.column]
        images = self.images if self.images.are_chosen else None

        def complete(row: ListingRow) -> ListingRow:
            key, listed_split, label_name, num_bytes, mtime_ns, _, _, extra = row
            if images is not None and (kind := images.why_left_out(key)):
                raise BadRecord(LEFT_OUT, kind)
            if label is not None:
                label_name = label(key)
            if split is not None:
                listed_split = split(key)
            for columns in of_columns:
                extra += columns(key)
            return ListingRow(key, listed_split, label_name, num_bytes, mtime_ns, None, None, extra)

        return complete

    def _values_of(self, column: str) -> Values | None:
        return next((fact.values(self.folder) for fact in self.facts if fact.column == column), None)

    def _chosen(self, rows: Iterator[ListingRow], skipped: dict[str, int]) -> Iterator[ListingRow]:
        """Yield the rows of examples and of bad records; count what the reading excludes."""
        with_split = self._split_adder()
        if self.unlabelled:
            rows = with_unlabelled(rows, self.driver.fields, self._complete(has_label=False), self._is_unlabelled)
        for row in rows:
            if row.reason is None:
                yield row
            elif row.reason == LEFT_OUT:
                count_skipped(skipped, row.message or "")
            elif is_image(row.key) and (kind := self.images.why_left_out(row.key)) not in {None, MASKS}:
                count_skipped(skipped, kind or "")
            else:
                yield row if row.split is not None or self.driver.names_images else with_split(row)
        skipped.pop(MASKS, None)  # each is of an image, or rejected

    def _is_unlabelled(self, key: str) -> bool:
        return any(glob.matches(key) for glob in self.unlabelled)

    def _rest(self, skipped: dict[str, int]) -> Iterator[ListingRow]:
        """Yield the rows of the images that no record names, or count them; count files that nothing explains."""
        with_split = self._split_adder()
        if self.root and self.is_strict:
            outside = Accounting(self.used)
            for path, _ in files_below(self.tree, "", (self.root,)):
                outside.count(path, skipped)
        for path, row in masks_without_image(self.folder, self.images) if isinstance(self.value.mask, Paired) else ():
            yield with_split(row)._replace(key=path)
        if not self.driver.names_images:
            yield from lines_without_image(self.folder, self.facts)
            if tables := tables_of_classes(self.facts):
                yield from records_without_image(self.folder, tables, self._complete())
            return
        mode, context = self.value.images.unnamed, Context(self.folder, skipped)
        if (rows := self.driver.unnamed(context, mode)) is not None:
            deque(self._accounted(skipped) if self.is_strict else (), 0)
            yield from rows
            return
        which = f"{printable(self.driver.used[0])} does not name" if self.has_one_file else "no record names"
        keys, rejects = self.driver.keys(self.folder), mode == "reject"
        num = 0
        if not self.is_strict and not rejects and isinstance(self.driver, TableDriver) and self.driver.is_whole:
            covered = {one.text.strip("/") for one in self.images.exclude} | {*self.images.left_out}
            others = count_unlisted_images(self.folder, f"that {which}", covered=covered, named=NamedImages(keys))
            skipped.update(others)
        elif not self.is_strict and not rejects:
            num = sum(1 for _ in images_near(self.folder, NamedImages(keys)))
        else:
            for path, entry in self._others(NamedImages(keys), skipped):
                if not rejects and not self._is_unlabelled(path):
                    num += 1
                    continue
                yield from map(with_split, self.driver.unnamed_row(context, path, entry, which))
        if num:
            count_skipped(skipped, f"image{'s' * (num > 1)} that {which}", num)

    def _others(self, named: NamedImages, skipped: dict[str, int]) -> Iterator[tuple[str, Entry]]:
        for path, entry in self._accounted(skipped):
            if path in named:
                continue
            if kind := self.images.why_left_out(path):
                count_skipped(skipped, kind)
            else:
                yield path, entry

    def _accounted(self, skipped: dict[str, int]) -> Iterator[tuple[str, Entry]]:
        """Yield all images, and count the other files, or those that nothing explains."""
        accounting = Accounting(self.used, self.root)
        for path, entry in files_below(self.folder, "", self.images.left_out):
            if is_image(entry.name):
                yield path, entry
            elif self.is_strict:
                accounting.count(path, skipped)
            elif not accounting.is_used(path):
                count_skipped(skipped, ending(path))

    def _split_adder(self) -> Complete:
        """Return the function that gives a rejected row the split of its path, if it has one."""
        values = cache(partial(self._values_of, "split"))  # not looked up if no row is rejected

        def with_split(row: ListingRow) -> ListingRow:
            if (split := values()) is not None:
                with contextlib.suppress(BadRecord, DataError):
                    return row._replace(split=split(row.key))
            return row

        return with_split

    def check_accounts(self, skipped: Mapping[str, int]) -> None:
        if self.is_strict:
            check_accounts(self.tree, self.root, Accounting(self.used), skipped)
