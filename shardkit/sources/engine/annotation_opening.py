"""Open the files of annotations that a reading names: how they name images, their classes, and what they give."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import cast

from shardkit.errors import CallError, DataError
from shardkit.naming import first_of, printable
from shardkit.options.words import named
from shardkit.sources.engine.annotations import AnnotationDriver, NamingFile
from shardkit.sources.engine.file_groups import FileGroup, NearestImages, matching_files, place_of, scan_group
from shardkit.sources.engine.image_files import ImageFileDriver
from shardkit.sources.engine.image_places import find_paths, places_below
from shardkit.sources.engine.images import Binding
from shardkit.sources.engine.masks import MaskDriver, check_classes, with_masks
from shardkit.sources.engine.matching import find_matching
from shardkit.sources.engine.paths import DROP, ENDING, PathRule
from shardkit.sources.formats.format import CLASS_FILE, ROOT, Format, ImageFormat, ImageRecord, Options, number_option
from shardkit.sources.formats.registry import FORMATS, IMAGE_FORMATS, settings_of
from shardkit.sources.formats.yolo import class_files_in, read_class_file
from shardkit.sources.readings.values import Annotation, Listed
from shardkit.sources.walking import file_or_folder, is_within, join, parent_of, stem_of
from shardkit.storage import Folder

_FIRST = 1000  # records that decide how all are read
_SHOWN = 3  # names in a message
FIELD = "field"  # the option that names what gives classes of whole images
SPLITS = "splits"  # the option that says that folders give the splits, for any format
_SPLIT = "split"  # the option that names the column of splits
EACH = "each"  # the option that has the options of each file, if they differ


def annotation_driver(at: Binding, origin: Annotation, paths: Sequence[str]) -> AnnotationDriver:
    """Return what enumerates the records."""
    reading = at.reading
    kind = FORMATS[origin.format]
    stated = _options_of_files(at, origin, len(paths))
    each = [kind.completed(at.tree, *one) for one in zip(paths, stated, strict=True)]
    plain = [_file(at, origin, path, options) for path, options in zip(paths, each, strict=True)]
    files = tuple(_named(at, kind, origin, file) for file in plain)
    each = [_stated(options, file, kind) for options, file in zip(each, files, strict=True)]
    origin = _complete(at, origin, files, each)
    classes = _classes(at, kind, files)
    if kind.gives_masks:
        completed, files, masks = with_masks(at.tree, at.folder, kind, origin, files)
        at.images = replace(at.images, masks=masks)
        at.complete(origin, completed)
        check_classes(at.tree, classes, reading.without_annotation)
    driver = (MaskDriver if kind.gives_masks else AnnotationDriver)(
        at.tree,
        kind,
        files,
        at.images,
        splits_of_folders=origin.options.get(SPLITS) == "folders",
        policy=reading.without_annotation,
        unnamed_images=reading.images.unnamed,
        class_names=classes,
        owns_images=_own_images(at, kind, files),
    )
    return driver if reading.boxes is not None or kind.gives_masks else _with_field(at, driver, origin)


def _options_of_files(at: Binding, origin: Annotation, num: int) -> list[Options]:
    if EACH not in origin.options:
        return [origin.options] * num
    try:
        each = [{name: str(value) for name, value in one.items()} for one in json.loads(origin.options[EACH])]
    except (AttributeError, TypeError, ValueError):
        each = []
    if len(each) != num:
        msg = f"{at.tree.url}: the reading has options for {len(each)} files of {origin.format}, and names {num}"
        raise CallError(msg)
    return [*each]


def options_of_reading(each: Sequence[Options]) -> dict[str, str]:
    """Return the options of several files as those of one reading."""
    return dict(each[0]) if all(one == each[0] for one in each) else {EACH: json.dumps([dict(one) for one in each])}


def _complete(at: Binding, origin: Annotation, files: Sequence[NamingFile], each: Sequence[Options]) -> Annotation:
    """Return the origin with options and how its files name images, if all do alike, and put it into the reading."""
    complete = replace(origin, options=options_of_reading(each))
    way, *others = {file.matching for file in files}
    if way is None and not others:
        complete = complete.placed({file.path: file.paths.place for file in files}, "path")
    elif way is not None and not others:
        complete = replace(complete, match=way.match, fold=way.fold, images=way.base)
    at.complete(origin, complete)
    if at.reading.split is None and any(_SPLIT in options for options in each):
        at.reading = replace(at.reading, split=complete)
    return complete


def _file(at: Binding, origin: Annotation, path: str, options: Options) -> NamingFile:
    split, base = at.reading.split, origin.bases.get(path, origin.images)
    base = parent_of(path) if base == "." else base
    paths = PathRule(base, number_option(options, DROP), options.get(ENDING, ""))
    own = {**options, ROOT: join(at.folder.url, base), CLASS_FILE: origin.names}
    if at.reading.boxes is None:
        own["boxes"] = "none"
    if split is not None and split != origin:
        own.pop(_SPLIT, None)
    return NamingFile(path, paths, None, split.lists.get(path) if isinstance(split, Listed) else None, own)


def _named(at: Binding, kind: Format, origin: Annotation, file: NamingFile) -> NamingFile:
    """Return a file with how it names images, if the reading does not say it is by paths."""
    if origin.match == "path" and not origin.fold:
        return file
    ways = [replace(file, options={**way, **file.options}) for way in kind.ways]
    names = [[*islice(one.read(at.tree, kind, kind.names), _FIRST)] for one in ways]
    root = named("root")
    if not any(names):
        remedy = f"; {kind.missing}" if kind.missing else f", or give the folder that its paths start at with {root}"
        msg = f"{at.tree.url}/{file.path}: its first records name no image{_why(at, kind, file)}{remedy}"
        raise DataError(msg)
    if origin.match is None and not origin.fold:
        places = _places(at, origin, file.path)
        for one, texts in zip(ways, names, strict=True):
            if found := find_paths(texts, places, stem_of(file.path)):
                place = join(at.folder.url, found[1].place)
                return replace(one, paths=found[1], options={**one.options, ROOT: place})
    bases = dict.fromkeys([file.paths.place, parent_of(file.path)])
    for one, texts in zip(reversed(ways), reversed(names), strict=True):
        plain = {"": [*map(file.paths.without_folders, texts)]}
        way = find_matching(plain, lambda: at.images.paths(at.folder), bases, origin.match, fold=origin.fold)[""]
        if way.count and way.matching.is_plain:
            return replace(one, paths=replace(one.paths, place=way.matching.base))
        if way.count:
            return replace(one, matching=way.matching)
    shown = first_of([*map(repr, map(printable, dict.fromkeys(names[0])))], _SHOWN)
    remedy = f", or {kind.missing}" * bool(kind.missing)
    msg = f"{at.tree.url}/{file.path}: none of the images that it names is in {at.folder.url}, such as {shown}"
    raise DataError(f"{msg}; give the folder that the images are in with {root}{remedy}")


def _why(at: Binding, kind: Format, file: NamingFile) -> str:
    """Return why the first records name no image, beginning with ';'; '' if they do not say it."""
    for record in islice(file.read(at.tree, kind, kind.records), _FIRST):
        if why := record.bad or next((one.message for one in record.problems), ""):
            return f"; {why}"
    return ""


def _stated(options: Options, file: NamingFile, kind: Format) -> Options:
    """Return the options of a file with what was found out of how it names images."""
    found = {name: file.options[name] for way in kind.ways for name in way if name in file.options}
    return {**options, **found, **file.paths.options}


def _places(at: Binding, origin: Annotation, path: str) -> list[tuple[Folder, str]]:
    """Return where the images of a file may be: where the reading says, else near the file."""
    if origin.images or path in origin.bases:
        return [(at.folder, origin.bases.get(path, origin.images))]
    return [(at.folder, place) for place in places_below(at.folder, at.tree, path)]


def _classes(at: Binding, kind: Format, files: Iterable[NamingFile]) -> tuple[str, ...] | None:
    """Return the class names in the order of the files' numbers; None if files give none, or disagree."""
    names: dict[int, str] = {}
    if type(kind).tables is not Format.tables:
        return None  # tables have them, and are not read twice
    for file in files:
        with at.tree.open(file.path) as opened:
            for number, name in kind.classes(opened, f"{at.tree.url}/{file.path}", file.options).items():
                if names.setdefault(number, name) != name:
                    return None
    return tuple(dict.fromkeys(name for _, name in sorted(names.items()))) or None


def _with_field(at: Binding, driver: AnnotationDriver, origin: Annotation) -> AnnotationDriver:
    label = at.reading.label
    if FIELD in origin.options and label is not None and label.kind is not None:
        return replace(driver, attribute=origin.options[FIELD], has_several=label.kind == "classes")
    first: list[ImageRecord] = []
    for file in driver.files:
        first += islice(driver.records(file), _FIRST)
    url = f"{at.tree.url}/{driver.files[0].path}"
    chosen, has_several = field_of_images(at, origin, first, url)
    return replace(driver, attribute=chosen, has_several=has_several)


def _own_images(at: Binding, kind: Format, files: Sequence[NamingFile]) -> bool:
    """Return whether the images of each file are below a folder that has no image of another file."""
    if any(len(file.slices(at.tree, kind)) > 1 for file in files):
        return False
    if len(files) == 1:
        return True
    places = [file.paths.place for file in files]
    shared = sum(is_within(one, other) for one in places for other in places) > len(places)
    may_lead_out = any(places) and not kind.names_are_below
    return not shared and not may_lead_out and all(file.matching is None for file in files)


def field_of_images(at: Binding, origin: Annotation, first: Sequence[ImageRecord], url: str) -> tuple[str, bool]:
    """Return the field that gives the classes of whole images, and whether it has several; put it into the reading."""
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
    kind = at.reading.label.kind if at.reading.label else None
    at.complete(origin, complete)
    return chosen, several or kind == "classes"


def check_options(origin: Annotation) -> None:
    """Refuse options that a format does not have, such as misspelt ones."""
    known = settings_of(origin.format)
    if unknown := origin.options.keys() - known:
        name = printable(min(unknown))
        msg = f"{origin.format}: there is no option {name!r}; the format has {', '.join(sorted(known))}"
        raise CallError(msg)


_KEYPOINTS, _NUMBERS = "keypoints", "numbers"  # options of formats whose classes are numbers
_BOXED = "boxed"  # the option that says what happens to images with boxes where classes of images are read


def image_file_driver(at: Binding, origin: Annotation) -> ImageFileDriver:
    """Return what enumerates the images."""
    kind = IMAGE_FORMATS[origin.format]
    url = f"{at.folder.url.rstrip('/')}/"
    is_elsewhere = all(glob.startswith(url) for glob in origin.files)  # SOURCE is a file that names other folders
    tree = at.folder if is_elsewhere else at.tree
    globs = tuple(glob.removeprefix(url) for glob in origin.files)
    if next(matching_files(tree, globs, kind.side_files), None) is None:
        glob = printable(globs[0])
        msg = (
            f"{tree.url}: no file matches {glob}, which the reading names; without a single "
            f"{kind.ending} file of {kind.title}, no image has an annotation"
        )
        raise CallError(msg)
    complete = origin if origin.match else _with_images(at, tree, kind, origin, globs)
    names, complete = _with_names(at, kind, complete, globs)
    at.complete(origin, complete)
    splits = at.reading.split.lists if isinstance(at.reading.split, Listed) else {}
    groups: tuple[FileGroup, ...] = (FileGroup(globs, None, complete.images),)
    if complete.match == "path":
        pairs = zip(origin.files, globs, strict=True)
        of_globs = ((glob, complete.bases.get(one, complete.images), splits.get(one)) for one, glob in pairs)
        groups = tuple(FileGroup((glob,), images, split=split) for glob, images, split in of_globs)
    named = "\n".join(names.get(number, "") for number in range(max(names, default=-1) + 1))
    driver = ImageFileDriver(
        tree,
        kind,
        {**complete.options, "names": named} if kind.numbers_classes else complete.options,
        groups,
        at.images,
        policy=at.reading.without_annotation,
        splits_of_folders=complete.options.get(SPLITS) == "folders",
        split_of_globs=tuple(splits.items()) if complete.match == "end" else (),
        class_names=tuple(names.values()) or None,
        named_by=_named_by(complete.names, names) if kind.numbers_classes else "",
    )
    return driver if at.reading.boxes is not None else _with_field_of_files(at, driver, complete)


def _with_images(
    at: Binding, tree: Folder, kind: ImageFormat, origin: Annotation, globs: tuple[str, ...]
) -> Annotation:
    """Return an origin with where the images of its files are: in one folder by the same paths, or the nearest."""
    files = scan_group(tree, at.folder, FileGroup(globs), at.images, kind.side_files)
    nearest = cast("NearestImages", files.nearest)
    bases: dict[str, str] = {}
    for one, glob in zip(origin.files, globs, strict=True):
        place, found = place_of(glob), Counter[str | None]()
        for path, _ in islice(matching_files(tree, (glob,), kind.side_files), _FIRST):
            if key := nearest.find(path, ""):
                found[_base_of(parent_of(key), parent_of(path)[len(place) :].strip("/"))] += 1
        if len(found) != 1 or None in found:
            return replace(origin, match="end")
        bases[one] = str(next(iter(found)))
    if len({*bases.values()}) < len(bases):
        return replace(origin, match="end")  # the images of one folder are those of several kinds of files
    return origin.placed(bases, "path")


def _with_names(
    at: Binding, kind: ImageFormat, origin: Annotation, globs: tuple[str, ...]
) -> tuple[Mapping[int, str], Annotation]:
    """Return the names of classes by their numbers, and the origin with the file that gives them."""
    classes = at.reading.classes
    if not kind.numbers_classes:
        return {}, origin
    numbers = map(int, origin.options[_NUMBERS].split()) if _NUMBERS in origin.options else range(len(classes))
    named = dict(zip(numbers, classes, strict=False))
    places = [place for glob in globs for place in (place_of(glob), parent_of(place_of(glob)))]
    path = origin.names or (None if classes else next(class_files_in(at.tree, iter(["", *places])), None))
    if not path or file_or_folder(at.tree, path) is None:
        if path and not classes:
            msg = f"{at.tree.url}: there is no file {printable(path)}, which the reading names"
            raise CallError(msg)
        return named, origin
    found, num_keypoints = read_class_file(at.tree, path)
    if classes and found != named:
        raise at.other_classes(path, found.values())
    options = {**origin.options, **({_KEYPOINTS: str(num_keypoints)} if num_keypoints else {})}
    if [*found] != [*range(len(found))]:
        options[_NUMBERS] = " ".join(map(str, found))
    at.reading = replace(at.reading, classes=tuple(found.values()))
    return found, replace(origin, names=path, options=options)


def _with_field_of_files(at: Binding, driver: ImageFileDriver, origin: Annotation) -> ImageFileDriver:
    globs = [glob for group in driver.groups for glob in group.globs]
    files = matching_files(driver.tree, globs, driver.format.side_files)
    first = [driver.read(path, entry) for path, entry in islice(files, _FIRST)]
    chosen, has_several = field_of_images(at, origin, first, driver.tree.url)
    keeps_boxed = origin.options.get(_BOXED) == "keep"
    return replace(driver, attribute=chosen, has_several=has_several, keeps_boxed=keeps_boxed)


def _named_by(path: str, names: Mapping[int, str]) -> str:
    if not names:
        return ", classes called by their numbers"
    return f", classes of {printable(path)}" if path else ", classes as the reading names them"


def _base_of(above: str, below: str) -> str | None:
    """Return the folder in which an image's folder is below the same folders as its file; None if it is not."""
    if below and not f"/{above}".endswith(f"/{below}"):
        return None
    return above.removesuffix(below).rstrip("/")
