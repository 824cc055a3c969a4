"""Open a reading: complete it by looking at its label files, and bind it to a folder."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, cast

from shardkit.errors import CallError, DataError, UnknownNameError
from shardkit.naming import first_of, printable
from shardkit.options.values import LabelType
from shardkit.options.words import named
from shardkit.refusals import RefusalError
from shardkit.sources.context import Opening
from shardkit.sources.engine.drivers import Driver, TreeDriver
from shardkit.sources.engine.facts import (
    ByKey,
    ColumnFact,
    Fact,
    LabelFact,
    MaskFact,
    NoLabels,
    OfPath,
    SplitFact,
    group_fact,
    text_feature,
)
from shardkit.sources.engine.matching import Matching, best_matching, image_paths
from shardkit.sources.engine.source import ReadingSource
from shardkit.sources.engine.tables import OfLists, OfTables, TableDriver, Tables, key_builder
from shardkit.sources.ignoring.filtered_folder import IgnoreGlob
from shardkit.sources.readings.values import (
    Column,
    Constant,
    Labels,
    Listed,
    Origin,
    Paired,
    PathPart,
    PathRegex,
    Reading,
)
from shardkit.sources.tables.column_names import IMAGE_COLUMNS, LIKELY_IMAGE_COLUMNS, named_like
from shardkit.sources.tables.columns import Columns
from shardkit.sources.tables.formats.records import Record, TableFile
from shardkit.sources.tables.images.prefixes import parse_prefixes
from shardkit.sources.tables.labels.kinds import decide_labels
from shardkit.sources.tables.labels.reading import Labels as ColumnLabels
from shardkit.sources.tables.layout import open_table_file
from shardkit.sources.tables.roles import read_prefix
from shardkit.sources.walking import files_below, is_folder
from shardkit.storage import Folder

_SAMPLE = 1_000  # records, or images, by which names are matched
_SHOWN = 5


def open_reading(
    opening: Opening, reading: Reading, *, name: str = "reading", is_strict: bool = True, remark: str = ""
) -> ReadingSource:
    """Return the source of a reading.

    Args:
        opening: What the user opens; its folder hides what the reading ignores.
        reading: The reading.
        name: Name of the layout.
        is_strict: Whether a file that nothing explains stops.
        remark: What the user should know besides, beginning with ';'.

    Raises:
        CallError: A folder, file or column of the reading does not exist, or it says two things of one fact.
        DataError: A file of it cannot be read.
        MachineError: The disk or the network failed.
    """
    return _Binding(opening, reading, is_strict=is_strict).source(name, remark)


@dataclass(slots=True)
class _Binding:
    """Binds a reading to a folder."""

    opening: Opening
    reading: Reading
    is_strict: bool

    @property
    def folder(self) -> Folder:
        """The folder that keys start at."""
        root = self.reading.images.root
        return self.opening.below(root).folder if root else self.opening.folder

    @property
    def excluded(self) -> str | None:
        root = self.reading.images.root
        return (self.opening.below(root) if root else self.opening).excluded

    def source(self, name: str, remark: str) -> ReadingSource:
        reading = self.reading
        root = reading.images.root
        if root and not is_folder(self.opening.folder, root):
            msg = f"{self.opening.folder.url}: there is no folder {printable(root)}/, which `images: root` names"
            raise CallError(msg)
        facts: list[Fact] = []
        used = self._used()
        driver: Driver | None = self._table_driver()
        if driver is None:
            driver = self._tree_driver(used)
            facts += self._label_facts()
        facts += self._other_facts(driver)
        return ReadingSource(
            self.folder,
            self.reading,
            name,
            driver,
            self.opening.folder,
            tuple(facts),
            used,
            self.excluded,
            self.is_strict,
            remark,
            reading.classes or None,
        )

    def _used(self) -> tuple[str, ...]:
        """Return the globs of the files of all facts, below SOURCE."""
        globs: list[str] = []
        for _, origin in self.reading.facts():
            files = getattr(origin, "files", ()) or tuple(getattr(origin, "lists", ())) or ()
            globs += [*files, *filter(None, [getattr(origin, "palette", "")])]
        return tuple(dict.fromkeys(globs))

    def _tree_driver(self, used: tuple[str, ...]) -> TreeDriver:
        depth = max([1, *(origin.path + 1 for _, origin in self.reading.facts() if isinstance(origin, PathPart))])
        label = self.reading.label
        is_of_folders = label is not None and isinstance(label.origin, PathPart)
        return TreeDriver(
            depth,
            self.excluded,
            counts_empty=is_of_folders,
            accounting=(used, self.reading.images.root) if self.is_strict else None,
        )

    def _label_facts(self) -> list[Fact]:
        label = self.reading.label
        if label is None:
            return [NoLabels()] if self.reading.boxes is None and self.reading.mask is None else []
        unlabelled = tuple(map(IgnoreGlob, self.reading.images.unlabelled))
        return [LabelFact(self._by_key(label.origin, "label"), _no_label(label.origin), unlabelled)]

    def _other_facts(self, driver: Driver) -> list[Fact]:
        reading, facts = self.reading, list[Fact]()
        in_table = driver.tables.columns if isinstance(driver, TableDriver) else None
        if reading.split is not None and not (in_table and self._gives_split(driver)):
            facts.append(SplitFact(self._by_key(reading.split, "split"), _no_split(reading.split)))
        if reading.group is not None and not (in_table and in_table.group is not None):
            facts.append(group_fact(self._by_key(reading.group, "group")))
        own = {in_table.names[i] for i, _ in in_table.features} if in_table else set()
        for name, origin in reading.features.items():
            if name not in own:
                facts.append(self._feature(name, origin))
        if isinstance(reading.mask, Paired):
            facts.append(MaskFact(reading.mask))
        return facts

    def _gives_split(self, driver: Any) -> bool:
        return bool(driver.tables.splits) or driver.tables.columns.discards is not None

    def _feature(self, name: str, origin: Origin) -> Fact:
        if not isinstance(origin, Column):
            return text_feature(name, self._by_key(origin, "feature"))
        tables = self._tables(origin, "feature")
        [field] = tables.columns.fields
        return ColumnFact((field.with_name(f"{field.name.partition(':')[0]}:{name}"),), OfTables(tables, "feature"))

    def _by_key(self, origin: Origin, what: str) -> ByKey:
        match origin:
            case PathPart() | PathRegex() | Constant():
                return OfPath(origin, is_split=what == "split")
            case Listed():
                return self._lists(origin)
            case Column():
                return OfTables(self._tables(origin, what), what)
        msg = f"{what}: {type(origin).__name__} gives no {what}"
        raise CallError(msg)

    def _lists(self, origin: Listed) -> OfLists:
        for path in origin.lists:
            self._file(path)
        read = OfLists(
            self.opening.folder,
            tuple(origin.lists.items()),
            Matching(origin.match or "path", origin.fold, origin.base),
            origin.rest,
            self.excluded,
        )
        if origin.match is not None:
            return read
        texts = (line.text for line in islice(read.lines(), _SAMPLE))
        return replace(read, matching=self._matching(texts, origin.base, None, fold=origin.fold))

    def _matching(self, texts: Iterable[str], base: str, match: Any, *, fold: bool) -> Matching:
        return best_matching(texts, image_paths(self.folder, self.excluded), base, match, fold=fold)

    def _file(self, path: str) -> None:
        found = self.opening.folder.stat(path)
        if found is None or found.is_folder:
            msg = f"{self.opening.folder.url}: there is no file {printable(path)}, which the reading names"
            raise CallError(msg)

    def _files(self, globs: Sequence[str]) -> list[str]:
        """Return the files of some globs.

        Raises:
            CallError: A glob matches none.
        """
        paths: list[str] = []
        for text in globs:
            if not any(char in text for char in "*?["):
                self._file(text)
                paths.append(text)
                continue
            glob = IgnoreGlob(f"/{text.lstrip('/')}")
            found = [path for path, _ in files_below(self.opening.folder, "") if glob.matches(path)]
            if not found:
                msg = f"{self.opening.folder.url}: no file matches {printable(text)}, which the reading names"
                raise CallError(msg)
            paths += found
        return list(dict.fromkeys(paths))

    def _table_driver(self) -> TableDriver | None:
        label = self.reading.label
        if label is None or not isinstance(label.origin, Column) or self.reading.boxes is not None:
            return None
        tables = self._tables(label.origin, "label")
        return TableDriver(tables, tuple(file.path for file in tables.files))

    def _tables(self, origin: Column, what: str) -> Tables:
        """Open the tables of a fact; those of the label also give the facts that the same tables have."""
        reading = self.reading
        paths = self._files(origin.files)
        files = tuple(open_table_file(self.opening.folder, path, self._options(origin)) for path in paths)
        first = files[0]
        for other in files[1:]:
            if set(other.columns) != set(first.columns):
                msg = f"{other.url}: its columns differ from those of {first.url}; read them as facts of their own"
                raise DataError(msg)
        prefix = read_prefix(first)
        key = self._key(origin, first, prefix)
        shared = what == "label"
        columns = self._columns(first, prefix, key, origin, what, files)
        texts = _texts(files, key)
        fold = origin.fold
        matching = Matching(origin.match or "path", fold, origin.base)
        if origin.match is None:
            matching = self._matching(texts, origin.base, None, fold=fold)
        splits: tuple[str, ...] = ()
        if shared and isinstance(reading.split, Listed) and set(paths) <= set(reading.split.lists):
            splits = tuple(reading.split.lists[path] for path in paths)
        complete = replace(origin, key=first.columns[key], match=matching.match, fold=matching.fold)
        self._complete(origin, complete)
        keys = key_builder(self.folder, matching, self.opening.folder, parse_prefixes(origin.strip))
        return Tables(files, columns, matching, keys, splits, self.excluded, f"{what} {complete}")

    def _complete(self, origin: Column, complete: Column) -> None:
        """Put what was found about a fact into the reading."""

        def put(one: Any) -> Any:
            return (
                replace(one, key=complete.key, match=complete.match, fold=complete.fold) if _same(one, origin) else one
            )

        reading = self.reading
        label = reading.label
        self.reading = replace(
            reading,
            label=None if label is None else replace(label, origin=put(label.origin)),
            split=put(reading.split),
            group=put(reading.group),
            features={name: put(one) for name, one in reading.features.items()},
        )

    def _options(self, origin: Column) -> Any:
        from shardkit.sources.options import SourceOptions

        label = self.reading.label
        kinds: dict[str | None, LabelType] = {"number": "number", None: "auto"}
        return SourceOptions(
            image_column=origin.key or None,
            label_separator=(label.separator or None) if label else None,
            label_type=kinds.get(label.kind, "class") if label else "auto",
            uncertain=label.minus_one if label else None,
            classes=self.reading.classes or None,
        )

    def _key(self, origin: Column, file: TableFile, prefix: Sequence[Record]) -> int:
        if origin.key:
            return _index(file, origin.key)
        others = [i for i, name in enumerate(file.columns) if name not in origin.column]
        usual = [i for i in named_like(file.columns, (*IMAGE_COLUMNS, *LIKELY_IMAGE_COLUMNS)) if i in others]
        images = [*image_paths(self.folder, self.excluded)]
        counts: dict[int, int] = {}
        for i in dict.fromkeys([*usual, *others]):
            texts = [str(one.values[i]) for one in prefix if one.values[i] not in (None, "")]
            matching = best_matching(texts, images, origin.base, origin.match, fold=origin.fold)
            known = {name for path in images for name in matching.of_image(path)}
            counts[i] = sum(matching.of_text(text) in known for text in texts)
        best = max(counts, key=lambda i: counts[i], default=None)
        if best is None or not counts[best]:
            columns = first_of([*map(repr, file.columns)], _SHOWN)
            msg = (
                f"{file.url}: none of its columns {columns} names images in {self.folder.url}; name the column with "
                f"{named('image_column')}, and the folder of the images with {named('root')}"
            )
            raise DataError(msg)
        return best

    def _columns(
        self, file: TableFile, prefix: Sequence[Record], key: int, origin: Column, what: str, files: Sequence[TableFile]
    ) -> Columns:
        def read_all(wanted: frozenset[int]) -> Iterator[Record]:
            for one in files:
                at = [one.columns.index(name) for name in file.columns]
                back = frozenset(at[i] for i in wanted)
                for record in one.all_records(back):
                    is_good = record.problem is None
                    yield record._replace(values=[record.values[i] for i in at]) if is_good else record

        reading = self.reading
        chosen = tuple(_index(file, name) for name in origin.column)
        split = group = None
        features: dict[str, int] = {}
        # Without labels, the name of the image is read as one: every record has it.
        labels = ColumnLabels((key,), (file.columns[key],), "class", None, (), 0)
        if what == "label":
            labels = self._labels(file, prefix, chosen, read_all)
            if isinstance(reading.split, Column) and _same(reading.split, origin):
                split = _index(file, reading.split.column[0])
            if isinstance(reading.group, Column) and _same(reading.group, origin):
                group = _index(file, reading.group.column[0])
            features = {
                name: _index(file, one.column[0])
                for name, one in reading.features.items()
                if isinstance(one, Column) and _same(one, origin) and one.column == (name,)
            }
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
            split=split,
            discards=split,
            group=group,
            features=tuple((i, cast("Any", types[i])) for i in features.values()),
            left_out=(),
            holds_text=file.holds_text,
            split_numbers={text.lower(): value for text, value in map_.items() if value},
        )

    def _labels(
        self, file: TableFile, prefix: Sequence[Record], chosen: tuple[int, ...], read_all: Any
    ) -> ColumnLabels:
        label = cast("Labels", self.reading.label)
        options = self._options(cast("Column", label.origin))
        try:
            found = decide_labels(file, prefix, chosen, options, read_all, file.url)
        except RefusalError as error:
            # The column is named already, by the reading.
            refusal = error.refusal
            changes = [
                replace(one, sources=(), options={k: v for k, v in one.options.items() if k != "label_columns"})
                for one in refusal.changes
            ]
            raise RefusalError(refusal.problem, changes, remedy=refusal.remedy) from error
        kind = "number" if found.kind == "numbers" else found.kind
        if label.kind is not None and label.kind != kind:
            if {label.kind, kind} <= {"one-hot", "indicators"}:
                found = replace(found, kind=cast("Any", label.kind))
            else:
                msg = f"{file.url}: the reading says that labels are of kind {label.kind}, and the column holds {kind}"
                raise DataError(msg)
        self.reading = replace(self.reading, label=replace(label, kind=cast("Any", label.kind or kind)))
        return found


def _same(one: object, origin: Column) -> bool:
    """Return whether a fact comes from the same records as another."""
    return (
        isinstance(one, Column)
        and (one.files, one.base, one.strip) == (origin.files, origin.base, origin.strip)
        and (one.key in {"", origin.key} or not origin.key)
    )


def _index(file: TableFile, name: str) -> int:
    if name not in file.columns:
        columns = first_of([*map(repr, file.columns)], 20)
        msg = f"{file.url}: there is no column {name!r}; its columns are {columns}"
        raise UnknownNameError(msg)
    return file.columns.index(name)


def _texts(files: Sequence[TableFile], key: int) -> list[str]:
    """Return the names of images in the first records of each table."""
    name = files[0].columns[key]
    texts: list[str] = []
    for file in files:
        at = file.columns.index(name)
        values = (one.values[at] for one in islice(file.all_records(frozenset({at})), _SAMPLE) if one.problem is None)
        texts += [str(value) for value in values if value not in (None, "")]
    return texts


def _no_label(origin: Origin) -> str:
    if isinstance(origin, PathPart):
        return "the image lies outside every label folder; move it into one"
    if isinstance(origin, PathRegex):
        what = f"{printable(origin.regex)!r} is not found in it"
        return f"the file's name has no label: {what}; correct the expression, or rename the file"
    return "nothing gives the image a label; add a record for it, or leave it out"


def _no_split(origin: Origin) -> str:
    if isinstance(origin, PathPart):
        return "the image lies outside the split folders; move it into one"
    return "nothing gives the image a split where other images have one; add it, or say `rest`"
