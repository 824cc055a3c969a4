"""Open a reading: complete it by looking at its label files, and bind it to a folder."""

from dataclasses import dataclass, field, replace
from itertools import islice

import pyarrow as pa

from shardkit.errors import CallError
from shardkit.naming import printable
from shardkit.options.words import named
from shardkit.sources.columns import GROUP, UNLABELLED, feature_field
from shardkit.sources.engine.annotation_opening import annotation_driver, check_options, image_file_driver
from shardkit.sources.engine.annotations import AnnotationDriver
from shardkit.sources.engine.column_labels import NamedNumbers
from shardkit.sources.engine.drivers import Driver, TreeDriver
from shardkit.sources.engine.facts import ByKey, Fact, OfPath, label_fact, split_fact, unlabelled_globs
from shardkit.sources.engine.file_groups import check_file, files_of_globs
from shardkit.sources.engine.image_files import ImageFileDriver
from shardkit.sources.engine.images import Binding, ImagePaths
from shardkit.sources.engine.lists import OfLists, open_list
from shardkit.sources.engine.masks import mask_paths, open_masks
from shardkit.sources.engine.matching import Matching, Strip, find_matching
from shardkit.sources.engine.source import ReadingSource
from shardkit.sources.engine.table_opening import NUM_SAMPLED, TableOpening
from shardkit.sources.engine.tables import OfTables, TableDriver
from shardkit.sources.filtered_folder import IgnoreGlob
from shardkit.sources.formats.registry import FORMATS, IMAGE_FORMATS, NAMES
from shardkit.sources.formats.tables.text_files import IMAGE
from shardkit.sources.options import Opening
from shardkit.sources.readings.values import (
    STATED,
    Annotation,
    Column,
    Constant,
    Listed,
    Origin,
    Paired,
    PathPart,
    PathRegex,
    Reading,
    files_of,
)
from shardkit.sources.walking import is_folder
from shardkit.storage import open_folder


def open_reading(
    opening: Opening, reading: Reading, *, name: str = STATED, is_strict: bool = True, remark: str = ""
) -> ReadingSource:
    """Return the source of a reading, named like a layout; the folder of `opening` hides what the reading ignores.

    With `is_strict`, a file that nothing explains stops. The remark, for the user, begins with ';'.
    """
    root = reading.images.root
    at = opening
    is_elsewhere = root.startswith("/") or "://" in root
    if is_elsewhere:
        at = replace(opening, folder=open_folder(root))
    elif root and not is_folder(opening.folder, root):
        msg = f"{opening.folder.url}: there is no folder {printable(root)}/, which `images: root` names"
        raise CallError(msg)
    elif root:
        at = opening.below(root)
    include, exclude = (tuple(map(IgnoreGlob, some)) for some in (reading.images.include, reading.images.exclude))
    masks = mask_paths(reading.mask) if isinstance(reading.mask, Paired) else None
    images = ImagePaths(include, exclude, at.excluded, masks)
    is_whole = opening.file is None and not is_elsewhere
    return _Binding(opening.folder, at.folder, images, reading, is_strict, is_whole).source(name, remark)


@dataclass(slots=True)
class _Binding(Binding):
    """Binds a reading to a folder."""

    is_strict: bool  # whether a file that nothing explains stops
    is_whole: bool  # whether SOURCE is a folder that holds the images
    facts: list[Fact] = field(default_factory=list)

    def source(self, name: str, remark: str) -> ReadingSource:
        driver: Driver = self._annotation_driver() or self._table_driver() or self._tree_driver(self._used())
        label = self.reading.label
        if isinstance(driver, TreeDriver) or (
            self.reading.boxes and label and not isinstance(label.origin, Annotation)
        ):
            self._add_label()
        self._add_other_facts(driver)
        classes, used = self.reading.classes or None, self._used()
        facts = tuple(self.facts)
        return ReadingSource(
            self.folder,
            self.reading,
            name,
            driver,
            self.tree,
            facts,
            used,
            self.images,
            self.is_strict,
            remark,
            classes,
            unlabelled=unlabelled_globs(self.tree, self.reading),
        )

    def _used(self) -> tuple[str, ...]:
        globs = [path for _, origin in self.reading.facts() for path in files_of(origin)]
        names = self.reading.label.names if self.reading.label else ""
        return tuple(dict.fromkeys([*globs, *filter(None, [names])]))

    def _tree_driver(self, used: tuple[str, ...]) -> TreeDriver:
        origins = [one for _, origin in self.reading.facts() for one in (origin, getattr(origin, "rest", None))]
        depth = max([1, *(one.path + 1 for one in origins if isinstance(one, PathPart))])
        label = self.reading.label
        is_of_folders = label is not None and isinstance(label.origin, PathPart) and not self.images.include
        return TreeDriver(depth, self.images.excluded, is_of_folders, used, self.reading.images.root, self.is_strict)

    def _add_label(self) -> None:
        label = self.reading.label
        if label is not None:
            # A path always has a name; a record may have none.
            is_of_path = isinstance(label.origin, PathPart | PathRegex | Constant)
            unlabelled = unlabelled_globs(self.tree, self.reading) if is_of_path else ()
            source = self._by_key(label.origin, "label")
            if label.names and isinstance(label.origin, PathPart | PathRegex):
                source = named = NamedNumbers.open(self.tree, label, source)
                classes = self.reading.classes or tuple(filter(None, named.names))
                self.reading = replace(self.reading, classes=classes)
            if is_of_path and label.kind not in {None, "class", "number"}:
                msg = f"label: a path gives one class or one number, and the reading says `kind: {label.kind}`"
                raise CallError(msg)
            if isinstance(source, OfTables) and source.tables.columns.labels.field is not None:
                msg = "label: `rest` is one class, and the column gives numbers or several classes; leave `rest` out"
                raise CallError(msg)
            self.facts.append(label_fact(label.origin, source, unlabelled, of_numbers=label.kind == "number"))
        elif self.reading.boxes is None and self.reading.mask is None:
            self.facts.append(Fact(None, (UNLABELLED,)))

    def _add_other_facts(self, driver: Driver) -> None:
        reading, facts = self.reading, self.facts
        tables = driver.tables if isinstance(driver, TableDriver) else None
        has_split = tables is not None and (bool(tables.splits) or tables.columns.discards is not None)
        if isinstance(driver, AnnotationDriver | ImageFileDriver):
            names = {*files_of(reading.split)} if isinstance(reading.split, Listed) else set()
            of_lists = isinstance(driver, ImageFileDriver) or names <= {*driver.used}
            has_split = isinstance(reading.split, Annotation) or (isinstance(reading.split, Listed) and of_lists)
        if reading.split is not None and not has_split:
            facts.append(self._split_fact(reading.split, self._by_key(reading.split, "split")))
        if reading.group is not None and not (tables and tables.columns.group is not None):
            facts.append(Fact(self._by_key(reading.group, "group"), (GROUP,)))
        own = {tables.columns.names[i] for i, _ in tables.columns.features} if tables else set()
        facts += [self._feature(name, origin) for name, origin in reading.features.items() if name not in own]
        if isinstance(reading.mask, Paired):
            facts.append(open_masks(self))

    def _split_fact(self, origin: Origin, source: ByKey) -> Fact:
        names_examples = self.reading.images.unnamed == "ignore" and isinstance(origin, Listed | Column)
        return split_fact(origin, source, names_examples=names_examples)

    def _feature(self, name: str, origin: Origin) -> Fact:
        if not isinstance(origin, Column):
            return Fact(self._by_key(origin, "feature"), (feature_field(name, pa.string()),))
        by_key = self._columns(origin, "feature")
        [one] = by_key.tables.columns.fields
        return Fact(by_key, (one.with_name(f"{one.name.partition(':')[0]}:{name}"),))

    def _by_key(self, origin: Origin, what: str) -> ByKey:
        match origin:
            case PathPart() | PathRegex() | Constant():
                return OfPath(origin, is_split=what == "split")
            case Listed():
                return self._lists(origin)
            case Column():
                return self._columns(origin, what)
        msg = f"{what}: {type(origin).__name__} gives no {what}"
        raise CallError(msg)

    def _columns(self, origin: Column, what: str) -> OfTables:
        paths = files_of_globs(self.tree, origin.files)
        tables = TableOpening(self, paths).open(origin, what)
        rest = Constant(origin.rest) if isinstance(origin.rest, str) else origin.rest
        return OfTables(tables, what, None if rest is None else OfPath(rest))

    def _annotation_driver(self) -> AnnotationDriver | ImageFileDriver | None:
        label = self.reading.label
        origin = self.reading.boxes or (label.origin if label else self.reading.mask)
        if not isinstance(origin, Annotation):
            return None
        if origin.format not in NAMES:
            msg = f"the reading names the format {origin.format}; readings have {', '.join(NAMES)}"
            raise CallError(msg)
        if not origin.files:
            msg = f"{origin.format}: name its files, such as {origin.format}:annotations/*.json"
            raise CallError(msg)
        gives_masks = origin.format in FORMATS and FORMATS[origin.format].gives_masks
        if gives_masks != (origin is self.reading.mask):
            what, option = ("masks", "mask") if gives_masks else ("no masks", "boxes")
            raise CallError(f"{origin.format} gives {what}; write {named(option, f'{origin.format}:FILES')}")
        check_options(origin)
        if origin.format in IMAGE_FORMATS:
            lists, by_lists = self._lists_of_examples(origin)
            driver = image_file_driver(self, origin)
            return replace(driver, lists=lists, by_lists=by_lists, is_whole=self.is_whole)
        return replace(annotation_driver(self, origin, files_of_globs(self.tree, origin.files)), is_whole=self.is_whole)

    def _lists_of_examples(self, origin: Annotation) -> tuple[OfLists | None, Fact | None]:
        """Return the lists that name examples, and the split that they give: those that are no files of annotations."""
        split = self.reading.split
        named = {*split.lists} - {*origin.files} if isinstance(split, Listed) else set()
        if not isinstance(split, Listed) or not named:
            return None, None
        lists = self._lists(replace(split, lists={path: one for path, one in split.lists.items() if path in named}))
        return lists, self._split_fact(split, lists)

    def _table_driver(self) -> TableDriver | None:
        label = self.reading.label
        if label is None or not isinstance(label.origin, Column) or self.reading.boxes is not None:
            return None
        if label.origin.rest is not None:  # the folders enumerate
            return None
        return TableDriver(self._columns(label.origin, "label").tables, self.is_whole)

    def _lists(self, origin: Listed) -> OfLists:
        for path in origin.lists:
            check_file(self.tree, path)
        matching = Matching(origin.match or "path", origin.fold, origin.base)
        strip, rest, key = Strip.parse(origin.strip), origin.rest, origin.names or IMAGE
        pairs = (
            (open_list(self.tree, path, origin.names, origin.lines), value) for path, value in origin.lists.items()
        )
        lists = OfLists((*pairs,), key, matching, strip, rest, self.images, self.opened, origin.bases)
        if origin.match is not None:
            return lists
        texts = {"": [strip.of(line.text) for line in islice(lists.lines(), NUM_SAMPLED)]}
        found = find_matching(texts, lambda: self.images.paths(self.folder), [origin.base], None, fold=origin.fold)
        return replace(lists, matching=found[""].matching)
