"""Open the tables of a fact: find the column that names images, and how; decide what labels are."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, cast

from shardkit.errors import CallError, DataError
from shardkit.naming import first_of, printable
from shardkit.options.words import named
from shardkit.sources.engine.column_labels import options_of, read_labels
from shardkit.sources.engine.columns import Columns
from shardkit.sources.engine.file_groups import names_file
from shardkit.sources.engine.images import Binding
from shardkit.sources.engine.labels.reading import Labels as ColumnLabels
from shardkit.sources.engine.matching import Matching, Naming, Strip, find_matching
from shardkit.sources.engine.splits import assigns_splits
from shardkit.sources.engine.table_names import JoinedNames, described_by, refuse_lost_zeros, values_of
from shardkit.sources.engine.tables import Tables
from shardkit.sources.formats.column_names import IMAGE_COLUMNS, LIKELY_IMAGE_COLUMNS, named_like
from shardkit.sources.formats.tables.json_files import JsonTable
from shardkit.sources.formats.tables.opening import (
    JoinedTable,
    LineFile,
    column_index,
    open_separated,
    open_table_file,
    read_prefix,
)
from shardkit.sources.formats.tables.records import Record, TableFile, records_of
from shardkit.sources.formats.tables.values import is_number
from shardkit.sources.name_index import name_key, written_path
from shardkit.sources.options import SourceOptions
from shardkit.sources.readings.values import Column, Labels, Listed
from shardkit.sources.walking import join, parent_of

NUM_SAMPLED = 1_000  # records by which names are matched with images
_SHOWN = 5


@dataclass(slots=True)
class TableOpening:
    """Opens the tables of one fact."""

    at: Binding
    paths: Sequence[str]

    def open(self, origin: Column, what: str) -> Tables:
        """Open them; those of the label also give the other facts that are in them."""
        options = options_of(self.at.reading.label or Labels(origin), origin, self.at.reading.classes)
        files = tuple(self._file(path, origin, options) for path in self.paths)
        if all(isinstance(file, JsonTable) for file in files):  # an object may omit a column
            union = tuple(dict.fromkeys(name for file in files for name in file.columns))
            files = tuple(replace(file, columns=union) for file in files)
        if origin.column == ("*",):
            origin = self._with_columns(origin, files[0])
        prefix = read_prefix(files[0])
        key, matching = self._named(origin, files)
        columns = self._columns(files, prefix, key, origin, what)
        _check_map(origin, what, columns)
        for other in files[1:]:
            if missing := [name for name in columns.used_names if name not in other.columns]:
                msg = (
                    f"{other.url}: there is no column {missing[0]!r}, which {files[0].url} has; read it as another fact"
                )
                raise DataError(msg)
        found: dict[str, Any] = {"key": origin.key or (files[0].columns[key],)}
        found |= {name: getattr(matching, name) for name in ("match", "fold", "base")}
        reading = self.at.reading
        self.at.reading = reading.mapped(lambda one: replace(one, **found) if _same(one, origin) else one)
        split = reading.split
        splits: tuple[str, ...] = ()
        if what == "label" and isinstance(split, Listed) and {*self.paths} <= {*split.lists}:
            splits = tuple(split.lists[path] for path in self.paths)
        return Tables(
            files,
            columns,
            matching,
            origin.bases,
            Strip.parse(origin.strip),
            self.at.reading.images.root,
            self.at.images,
            origin.map if what == "label" else {},
            splits,
            f"{self.at.opened} {what} {replace(origin, **found)}",
        )

    def _with_columns(self, origin: Column, file: TableFile) -> Column:
        """Return the origin of a label with the names of all columns but the key, and put it into the reading."""
        plain = file.inner if isinstance(file, JoinedTable) else file
        origin = replace(origin, column=tuple(name for name in plain.columns if name not in origin.key))
        label = replace(cast("Labels", self.at.reading.label), origin=origin)
        # Also a class that no image has keeps its number.
        names = (origin.map.get(one, one) for one in origin.column if label.kind == "indicators")
        classes = self.at.reading.classes or tuple(filter(None, names))
        self.at.reading = replace(self.at.reading, label=label, classes=classes)
        return origin

    def _file(self, path: str, origin: Column, options: SourceOptions) -> TableFile:
        file = self._plain_file(path, origin, options)
        if origin.via:
            file = JoinedTable.join(file, [self._plain_file(one, origin, options) for one in origin.via])
        if len(origin.key) < 2:
            return file
        first, second = (column_index(file, name) for name in origin.key[:2])
        return JoinedNames(file.folder, file.path, (*file.columns, "image"), file, (first, second), origin.between)

    def _plain_file(self, path: str, origin: Column, options: SourceOptions) -> TableFile:
        lines = origin.lines.get(path) or origin.lines.get("*")
        if lines:
            return open_separated(self.at.tree, path) if lines == " " else LineFile.open(self.at.tree, path, lines)
        # A text file is divided in the way in which it has these columns.
        columns = () if origin.via else tuple(name for name in (*origin.key, *origin.column) if name != "*")
        return open_table_file(self.at.tree, path, replace(options, label_columns=columns))

    def _named(self, origin: Column, files: Sequence[TableFile]) -> tuple[int, Matching]:
        file = files[0]
        if origin.key:
            own_key = len(file.columns) - 1 if isinstance(file, JoinedNames) else column_index(file, origin.key[0])
            if origin.match == "stem":
                refuse_lost_zeros(file, [own_key], self.at.images.paths(self.at.folder))
            if origin.match is not None:
                return own_key, Matching(origin.match, origin.fold, origin.base)
            columns = [own_key]
        else:
            others = [i for i, name in enumerate(file.columns) if name not in origin.column]
            usual = named_like(file.columns, (*IMAGE_COLUMNS, *LIKELY_IMAGE_COLUMNS))
            columns = list(dict.fromkeys([*(i for i in usual if i in others), *others]))
        if origin.match == "start":
            return self._column_of_beginnings(file, columns), Matching("start", origin.fold, origin.base)
        strip = Strip.parse(origin.strip)
        texts = {i: [strip.of(text) for text in _texts(files, i)] for i in columns}
        # Paths may also start at the table's own folder, if it is not that of the keys.
        own = any(parent_of(path) != self.at.reading.images.root for path in self.paths) and not origin.base
        if origin.bases:
            texts = {
                i: [text for file in files for text in self._based(file, origin, _texts([file], i))] for i in columns
            }
        bases = [origin.base, *(["."] if own else [])]
        found = self._naming(texts, bases, origin)
        best = max(columns, key=lambda i: found[i].count, default=None)
        if best is None or 2 * found[best].count < len(texts[best]):
            refuse_lost_zeros(file, columns, self.at.images.paths(self.at.folder))
        if best is None or not found[best].count:
            if origin.match is None and not origin.key and self._described(file, columns):
                return self._column_of_beginnings(file, columns), Matching("start", origin.fold, origin.base)
            shown = first_of([*map(repr, file.columns)], _SHOWN)
            msg = (
                f"{file.url}: none of its columns {shown} names images in {self.at.folder.url}; name the column with "
                f"{named('image_column')}, and the folder of the images with {named('root')}"
            )
            raise DataError(msg)
        matching = found[best].matching
        if origin.base and matching.match in {"name", "stem"}:
            matching = replace(matching, base=origin.base)
        return best, matching

    def _column_of_beginnings(self, file: TableFile, columns: Sequence[int]) -> int:
        """Return the column whose values are folders of most images, or their names begin with."""
        if found := self._described(file, columns):
            return max(found, key=lambda i: found[i])
        shown = first_of([repr(file.columns[i]) for i in columns], _SHOWN)
        msg = f"{file.url}: no folder is called, and no name of an image begins, like a value of its columns {shown}"
        raise DataError(f"{msg}; name the column with {named('image_column')}")

    def _described(self, file: TableFile, columns: Sequence[int]) -> dict[int, int]:
        """Return the number of images that each column describes, of columns most of whose values describe some."""
        counts = {i: {name_key(text.strip()): 0 for text in values_of(file, i)} for i in columns}
        for path in self.at.images.paths(self.at.folder):
            for of_column in counts.values():
                if (key := described_by(path, of_column)) is not None:
                    of_column[key] += 1
        return {i: sum(nums.values()) for i, nums in counts.items() if 2 * sum(map(bool, nums.values())) > len(nums)}

    def _based(self, file: TableFile, origin: Column, texts: list[str]) -> list[str]:
        base = origin.bases.get(file.path, origin.base)
        return [join(parent_of(file.path) if base == "." else base, written_path(text)) for text in texts]

    def _naming(self, texts: dict[int, list[str]], bases: list[str], origin: Column) -> dict[int, Naming]:
        at = [parent_of(self.paths[0]) if base == "." else base for base in bases]
        root = self.at.reading.images.root
        at = [base.removeprefix(root).lstrip("/") if root and base.startswith(root) else base for base in at]
        found = find_matching(texts, lambda: self.at.images.paths(self.at.folder), at, origin.match, fold=origin.fold)
        for one in found.values():
            if one.matching.base:
                one.matching = replace(one.matching, base=bases[at.index(one.matching.base)])
        return found

    def _columns(
        self, files: Sequence[TableFile], prefix: Sequence[Record], key: int, origin: Column, what: str
    ) -> Columns:
        file, reading, read_all = files[0], self.at.reading, partial(records_of, files)
        chosen = tuple(column_index(file, name) for name in origin.column)
        split = group = None
        features: dict[str, int] = {}
        # Without labels, the name of the image is read as one: every record has it.
        labels = ColumnLabels((key,), (file.columns[key],), "class", None, (), 0)
        if what == "label":
            label = cast("Labels", reading.label)
            labels, label = read_labels(self.at.tree, file, prefix, chosen, read_all, label, reading.classes)
            self.at.reading = replace(reading, label=label)
            own = {name: one.column for name, one in reading.facts() if isinstance(one, Column) and _same(one, origin)}
            split, group = (column_index(file, own[name][0]) if name in own else None for name in ("split", "group"))
            own = {name: own.get(f"features.{name}", ()) for name in reading.features}
            features = {name: column_index(file, name) for name, columns in own.items() if columns == (name,)}
        elif what == "split":
            [split] = chosen
        elif what == "group":
            [group] = chosen
        else:
            features = dict(zip(origin.column, chosen, strict=True))
        types = file.types(prefix, features.values())
        if open_ := frozenset(i for i in features.values() if file.may_widen(types[i])):
            types |= file.types(read_all(open_), open_)
        unfit = [name for name, i in features.items() if types[i] is None]
        if unfit:
            msg = f"{file.url}: column {unfit[0]!r} holds neither text nor numbers, which no feature can be"
            raise DataError(msg)
        origin_of_split = reading.split if what == "label" else origin
        map_ = origin_of_split.map if split is not None and isinstance(origin_of_split, Column) else {}
        return Columns(
            names=file.columns,
            image=key,
            labels=labels,
            split=split if split is None or assigns_splits(file, prefix, split) else None,
            discards=split,
            group=group,
            features=tuple((i, cast("Any", types[i])) for i in features.values()),
            left_out=self._unnamed(file, key, origin) if what == "label" else (),
            holds_text=file.holds_text,
            split_numbers={text.lower(): value for text, value in map_.items() if value},
        )

    def _unnamed(self, file: TableFile, key: int, origin: Column) -> tuple[int, ...]:
        if origin.lines or origin.via:
            return ()
        facts = [
            one for _, one in self.at.reading.facts() if isinstance(one, Column) and names_file(one.files, file.path)
        ]
        named_ = {file.columns[key], *(name for one in facts for name in (*one.key, *one.column))}
        return tuple(i for i, name in enumerate(file.columns) if name not in named_)


def _same(one: object, origin: Column) -> bool:
    if not isinstance(one, Column) or (one.key and origin.key and one.key != origin.key):
        return False
    places = [(each.files, each.via, each.base, each.bases, each.strip) for each in (one, origin)]
    return places[0] == places[1]


def _texts(files: Sequence[TableFile], column: int) -> list[str]:
    """Return the values of a column in the first records of the tables."""
    texts: list[str] = []
    for file in files[:NUM_SAMPLED]:
        at = file.columns.index(files[0].columns[column])
        num = max(1, NUM_SAMPLED // len(files))
        values = (one.values[at] for one in islice(file.all_records(frozenset({at})), num) if one.problem is None)
        texts += [str(value) for value in values if value not in (None, "")]
    return texts


def _check_map(origin: Column, what: str, columns: Columns) -> None:
    """Refuse a map that would have no effect."""
    if origin.map and what not in {"label", "split"}:
        raise CallError(f"{what}: a map has no effect on a column of a table, but for labels and splits; leave it out")
    if what == "label" and columns.labels.kind == "numbers":
        for text in (*origin.map, *(one for one in origin.map.values() if one is not None)):
            if not is_number(text):
                raise CallError(f"label: the map of numbers has {printable(text)!r}, which is none; correct it")
