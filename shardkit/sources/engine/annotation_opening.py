"""Open the files of annotations that a reading names: how they name images, their classes, and what they give."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from shardkit.errors import CallError, DataError
from shardkit.naming import first_of, printable
from shardkit.sources.engine.annotations import AnnotationDriver
from shardkit.sources.engine.images import ImagePaths
from shardkit.sources.engine.mask_annotations import MaskDriver, check_classes, with_masks
from shardkit.sources.engine.matching import find_matching
from shardkit.sources.engine.naming_files import NamingFile
from shardkit.sources.engine.path_rules import PathRule
from shardkit.sources.formats.format import ROOT, Format, Options, number_option
from shardkit.sources.formats.record import ImageRecord
from shardkit.sources.formats.registry import FORMATS, settings_of
from shardkit.sources.readings.values import Annotation, Listed, Reading
from shardkit.sources.walking import is_within, join, parent_of
from shardkit.storage import Folder

_FIRST = 1000  # records that decide how all are read
FIELD = "field"  # the option that names what gives classes of whole images
_DROP, _ENDING, SPLITS = "drop", "ending", "splits"  # options of what names images, for any format


@dataclass(slots=True)
class AnnotationOpening:
    """Opens the files of one format."""

    tree: Folder  # SOURCE, where the paths of label files start
    folder: Folder
    images: ImagePaths
    reading: Reading
    paths: Sequence[str]

    def driver(self, origin: Annotation) -> AnnotationDriver:
        """Return what enumerates the records."""
        reading = self.reading
        kind = FORMATS[origin.format]
        options = {**origin.options, **({} if reading.boxes is not None else {"boxes": "none"})}
        splits = reading.split.lists if isinstance(reading.split, Listed) else {}
        plain = [self._file(origin, one, splits.get(one), options) for one in self.paths]
        files = tuple(self._named(kind, origin, file) for file in plain)
        origin = self._complete(origin, files)
        classes = self._classes(kind, files)
        if kind.gives_masks:
            completed, files, paths = with_masks(self.tree, self.folder, kind, origin, files)
            self.images = replace(self.images, masks=paths)
            self.reading = with_origin(self.reading, origin, completed)
            check_classes(self.tree, classes, reading.without_annotation)
        driver = (MaskDriver if kind.gives_masks else AnnotationDriver)(
            self.tree,
            kind,
            files,
            self.images,
            splits_of_folders=options.get(SPLITS) == "folders",
            policy=reading.without_annotation,
            unnamed_images=reading.images.unnamed,
            class_names=classes,
            owns_images=_own_images(kind, files),
        )
        return driver if reading.boxes is not None or kind.gives_masks else self._with_field(driver, origin)

    def _complete(self, origin: Annotation, files: Sequence[NamingFile]) -> Annotation:
        """Return the origin with how its files name images, and put it into the reading; as it is if they differ."""
        ways = {file.matching for file in files}
        if len(ways) > 1:
            return origin
        way = ways.pop()
        if way is None:
            first = files[0].paths.place
            bases = {file.path: file.paths.place for file in files if file.paths.place != first}
            complete = replace(origin, match="path", images=first, bases=bases)
        else:
            complete = replace(origin, match=way.match, fold=way.fold, images=way.base)
        self.reading = with_origin(self.reading, origin, complete)
        return complete

    def _file(self, origin: Annotation, path: str, split: str | None, options: Options) -> NamingFile:
        paths = self._paths(origin, path)
        return NamingFile(path, paths, None, split, {**options, ROOT: join(self.folder.url, paths.place)})

    def _paths(self, origin: Annotation, path: str) -> PathRule:
        base = origin.bases.get(path, origin.images)
        base = parent_of(path) if base == "." else base
        return PathRule(base, number_option(origin.options, _DROP), origin.options.get(_ENDING, ""))

    def _named(self, kind: Format, origin: Annotation, file: NamingFile) -> NamingFile:
        """Return a file with how it names images, if the reading does not say it is by paths."""
        if origin.match == "path" and not origin.fold:
            return file
        texts = {"": [*map(file.paths.without_folders, islice(self._names(kind, file), _FIRST))]}
        bases = dict.fromkeys([file.paths.place, parent_of(file.path)])
        found = find_matching(texts, lambda: self.images.paths(self.folder), bases, origin.match, fold=origin.fold)[""]
        if not found.count:
            shown = first_of([*map(repr, map(printable, texts[""]))], 3)
            msg = (
                f"{self.tree.url}/{file.path}: none of the images that it names is in {self.folder.url}, such as "
                f"{shown}; say in the reading which folder they are in (images: FOLDER)"
            )
            raise DataError(msg)
        if found.matching.is_plain:
            return replace(file, paths=replace(file.paths, place=found.matching.base))
        return replace(file, matching=found.matching)

    def _names(self, kind: Format, file: NamingFile) -> Iterator[str]:
        with self.tree.open(file.path) as opened:
            yield from kind.names(opened, f"{self.tree.url}/{file.path}", file.options)

    def _classes(self, kind: Format, files: Iterable[NamingFile]) -> tuple[str, ...] | None:
        """Return the class names in the order of the files' numbers; None if files give none, or disagree."""
        names: dict[int, str] = {}
        if type(kind).tables is not Format.tables:
            return None  # tables have them, and are not read twice
        for file in files:
            with self.tree.open(file.path) as opened:
                for number, name in kind.classes(opened, f"{self.tree.url}/{file.path}", file.options).items():
                    if names.setdefault(number, name) != name:
                        return None
        return tuple(dict.fromkeys(name for _, name in sorted(names.items()))) or None

    def _with_field(self, driver: AnnotationDriver, origin: Annotation) -> AnnotationDriver:
        """Return the driver of the classes of whole images."""
        label = self.reading.label
        if FIELD in origin.options and label is not None and label.kind is not None:
            return replace(driver, attribute=origin.options[FIELD], has_several=label.kind == "classes")
        first: list[ImageRecord] = []
        for file in driver.files:
            first += islice(driver.records(file), _FIRST)
        url = f"{self.tree.url}/{driver.files[0].path}"
        self.reading, chosen, has_several = field_of_images(self.reading, origin, first, url)
        return replace(driver, attribute=chosen, has_several=has_several)


def _own_images(kind: Format, files: Sequence[NamingFile]) -> bool:
    """Return whether the images of each file are below a folder that has no image of another file."""
    if len(files) == 1:
        return True
    places = [file.paths.place for file in files]
    shared = sum(is_within(one, other) for one in places for other in places) > len(places)
    may_lead_out = any(places) and not kind.names_are_below
    return not shared and not may_lead_out and all(file.matching is None for file in files)


def with_origin(reading: Reading, old: Annotation, new: Annotation) -> Reading:
    """Return a reading with another origin in place of one."""
    label = reading.label
    return replace(
        reading,
        boxes=new if reading.boxes == old else reading.boxes,
        label=replace(label, origin=new) if label is not None and label.origin == old else label,
        split=new if reading.split == old else reading.split,
        mask=new if reading.mask == old else reading.mask,
    )


def field_of_images(
    reading: Reading, origin: Annotation, first: Sequence[ImageRecord], url: str
) -> tuple[Reading, str, bool]:
    """Return a reading with the field that gives the classes of whole images, the field, and whether it has several."""
    fields = dict.fromkeys(name for record in first for name in record.attributes)
    chosen = origin.options.get(FIELD) or next(iter(fields), "")
    if chosen not in fields or (FIELD not in origin.options and len(fields) > 1):
        given = ", ".join(map(repr, map(printable, fields))) or "none"
        what = f"no field {chosen!r} gives" if FIELD in origin.options else f"{len(fields)} fields give"
        msg = (
            f"{url}: {what} classes of whole images; there are {given}; name one in the options of the reading's label "
            "(options: {field: NAME})"
        )
        raise CallError(msg)
    several = any(len(record.attributes.get(chosen, ())) > 1 for record in first)
    complete = replace(origin, options={**origin.options, FIELD: chosen})
    kind = reading.label.kind if reading.label else None
    return with_origin(reading, origin, complete), chosen, several or kind == "classes"


def check_options(origin: Annotation) -> None:
    """Refuse options that a format does not have, such as misspelt ones."""
    known = settings_of(origin.format)
    if unknown := origin.options.keys() - known:
        name = printable(min(unknown))
        msg = f"{origin.format}: there is no option {name!r}; the format has {', '.join(sorted(known))}"
        raise CallError(msg)
