"""Open annotations with a file for each image: where the images of the files are, and the names of their classes."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import cast

from shardkit.errors import CallError, DataError
from shardkit.naming import printable
from shardkit.sources.engine.annotation_opening import SPLITS, field_of_images
from shardkit.sources.engine.file_groups import (
    FileGroup,
    NearestImages,
    matching_files,
    place_of,
    scan_group,
)
from shardkit.sources.engine.image_files import ImageFileDriver
from shardkit.sources.engine.images import Binding
from shardkit.sources.formats.format import ImageFormat
from shardkit.sources.formats.registry import IMAGE_FORMATS
from shardkit.sources.formats.yolo import class_files_in, read_class_file
from shardkit.sources.readings.values import Annotation, Listed
from shardkit.sources.walking import file_or_folder, join, parent_of
from shardkit.storage import Folder

_FIRST = 1000  # files that tell where images are, and what gives their classes
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
    return driver if at.reading.boxes is not None else _with_field(at, driver, complete)


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
    first = next(iter(bases.values()))
    others = {one: base for one, base in bases.items() if base != first}
    return replace(origin, match="path", images=first, bases=others)


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
        msg = (
            f"{join(at.tree.url, path)}: it names other classes ({', '.join(map(printable, found.values()))}) "
            f"than the reading ({', '.join(map(printable, classes))}); make them agree"
        )
        raise DataError(msg)
    options = {**origin.options, **({_KEYPOINTS: str(num_keypoints)} if num_keypoints else {})}
    if [*found] != [*range(len(found))]:
        options[_NUMBERS] = " ".join(map(str, found))
    at.reading = replace(at.reading, classes=tuple(found.values()))
    return found, replace(origin, names=path, options=options)


def _with_field(at: Binding, driver: ImageFileDriver, origin: Annotation) -> ImageFileDriver:
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
