"""Find files of boxes whose format is not known, and infer how they are read: each about one image, or about many."""

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shardkit.errors import DataError
from shardkit.naming import printable
from shardkit.sources.file_names import stem_of
from shardkit.sources.formats.inferred.class_names import class_names_in
from shardkit.sources.formats.inferred.reading import BoxField, Reading, name_of, values_at
from shardkit.sources.formats.inferred.roles import Way, words_of
from shardkit.sources.formats.inferred.trees import LINES, TABLES, kind_of, tree_of
from shardkit.sources.name_index import NameIndex
from shardkit.sources.recognising.claims.searching import files_by_kind
from shardkit.sources.recognising.detection.box_json.files import format_of
from shardkit.sources.recognising.detection.box_json.single_files import format_of_image
from shardkit.sources.recognising.detection.files_of_images import files_with, nearest_images
from shardkit.sources.recognising.detection.inferred.class_fields import CLASS_WORDS, is_number
from shardkit.sources.recognising.detection.inferred.first_records import NUM_RECORDS, other_members, record_lists
from shardkit.sources.recognising.detection.inferred.fitting import Sample, fits, other_scale, sample_images
from shardkit.sources.recognising.detection.inferred.inference import Candidate, Fields, candidates
from shardkit.sources.recognising.detection.label_studio.layout import is_export
from shardkit.sources.recognising.detection.labelme import is_labelme_file
from shardkit.sources.walking import is_image, join, parent_of, read_head
from shardkit.storage import Folder

_ENDINGS = frozenset({*TABLES, ".json", ".geojson", ".xml", ".txt", ".yaml", ".yml", *LINES})
_NUMBER = re.compile(rb"(?<![\w.])[0-9]+(?:\.[0-9]+)?(?![\w.])")
_NUM_SIDES = 4
_TRIED = 4  # files of a folder that are tested
_LOOKED_UP = 24  # records whose images are looked up to find the field that names them
_MIN_SHARE = 0.9  # of the records that have a member
_MAX_FILE = 16 << 20  # 16 MiB of a file of one image
_MAX_FILES = 20  # of a folder that may each be about many images
_OF_IMAGES = {"file", "filename", "path", "image", "img", "name", "photo", "picture", "url", "uri", "frame", "id"}


@dataclass(frozen=True, slots=True)
class Inferred:
    """How some files are read.

    Attributes:
        kind: Their ending.
        readings: What the images allow; one of them is certain, several are not.
        paths: The files about many images; () if each file is about one.
        places: The folders of the files that are each about one image.
        inside: Where the records of a file are; see `trees.records`.
        has_box_each: Whether a record is a box, and several are of one image.
        guesses: The field that says how sure a model is of its guesses; '' for none.
        scale: 100 or 1000 if numbers may be percent or thousandths of the sides; None if they are not.
    """

    kind: str
    readings: tuple[Reading, ...]
    paths: tuple[str, ...] = ()
    inside: str | None = None
    places: tuple[str, ...] = ()
    has_box_each: bool = False
    guesses: str = ""
    scale: float | None = None


def find_inferred(
    folder: Folder, excluded: str | None, only: Sequence[str] | None = None, without: str = ""
) -> Inferred | None:
    """Return how the files of boxes below a folder are read; None if there are none whose boxes fit the images.

    Only the files in `only` may hold the boxes, unless it is None; those in the folder `without` do not count.
    """
    index = NameIndex(folder)
    for path, names in files_by_kind(folder, excluded, _ENDINGS):
        if only is not None and not (names := [name for name in names if join(path, name) in only]):
            continue
        if without and f"{path}/".startswith(f"{without}/"):
            continue
        some = [join(path, name) for name in names[:: max(1, len(names) // _TRIED)]][:_TRIED]
        if not any(_may_be_boxes(folder, one) for one in some):
            continue
        kind = kind_of(some[0])
        found = _of_single_images(folder, kind) if kind not in LINES and _are_of_images(some, index) else None
        if found is None and len(names) <= _MAX_FILES:
            found = _of_many_images(folder, [join(path, name) for name in names], index)
        if found is not None:
            return found
        _refuse_sequences(folder, some, index)
    return None


def _refuse_sequences(folder: Folder, paths: Sequence[str], index: NameIndex) -> None:
    """Refuse files of boxes that are called like folders of images: each is about the frames in one."""
    stems = [stem_of(path) for path in paths]
    if kind_of(paths[0]) not in {".xml", ".json"} or not set(stems) <= index.folders():
        return
    try:
        lists = list(record_lists(folder, paths[0]))
    except DataError:
        return
    if any(candidates([record for record in some if isinstance(record, dict)]) for _, some in lists):
        msg = (
            f"{folder.url}: {printable(paths[0])} holds boxes of the frames in {printable(stems[0])}/ and names no "
            "images; write the boxes as a table with the image's path, xmin, ymin, xmax, ymax and class in each row"
        )
        raise DataError(msg)


def _may_be_boxes(folder: Folder, path: str) -> bool:
    """Return whether the beginning of a file has the numbers of a box, and looks like no format that is known."""
    if kind_of(path) == ".json" and (is_labelme_file(folder, path) or is_export(folder, path)):
        return False
    if format_of(folder, path) is not None or format_of_image(folder, path) is not None:
        return False
    return len(_NUMBER.findall(read_head(folder, path) or b"")) >= _NUM_SIDES


def _are_of_images(paths: Sequence[str], index: NameIndex) -> bool:
    """Return whether most of some files are called like an image."""
    return 2 * sum(bool(index.of_file(path)) for path in paths) > len(paths)


def _of_single_images(folder: Folder, kind: str) -> Inferred | None:
    files, nearest = files_with(folder, kind), nearest_images(folder)
    trees = dict[str, Any]()
    for path, entry in files[:: 1 + len(files) // NUM_RECORDS]:
        tree = tree_of(folder.read(path), kind) if entry.num_bytes <= _MAX_FILE else ""
        if isinstance(tree, dict):
            trees[path] = tree
    fields = Fields.of([*trees.values()])
    names = {way: [*values_at([*trees.values()], way)] for way in fields.of_owner(()) if way}
    image = _naming_images(names, len(trees), nearest.names)
    said = {
        path: next(map(str, values_at([tree], image)), "") if image is not None else "" for path, tree in trees.items()
    }
    images = {path: key for path in trees if (key := nearest.find(path, said[path]))}
    if not images and candidates([*trees.values()]):
        _refuse_rivals(folder, [*trees], nearest.names)
    made = Inferred(kind, (), places=tuple(dict.fromkeys(map(parent_of, images))))
    return _fitting(folder, made, image, [(key, trees[path]) for path, key in images.items()], class_names_in)


def _refuse_rivals(folder: Folder, paths: Sequence[str], index: NameIndex) -> None:
    """Refuse files that may belong to several images each."""
    rivals = next(((path, found) for path in paths if len(found := index.of_file(path)) > 1), None)
    if rivals is not None:
        path, found = rivals
        shown = " and ".join(map(printable, found[:2]))
        msg = f"{folder.url}: {printable(path)} holds boxes, and may be of {shown}; rename or remove one of the images"
        raise DataError(msg)


def _naming_images(names: Mapping[Way, Sequence[Any]], num_records: int, index: NameIndex) -> Way | None:
    """Return the field that names the images of most records; None if there is none.

    Of several, it is one with the endings of images, or that names the most images.
    """
    ranks = {}
    for way, values in names.items():
        some = [value for value in values[:_LOOKED_UP] if isinstance(value, str) and value.strip()]
        found = [paths for value in some if (paths := index.find_all(value))]
        num_images = len({paths[0] for paths in found})
        wanted = min(num_records, _LOOKED_UP)
        words = words_of(way[-1])
        if all(map(is_number, some)) and not _OF_IMAGES.intersection(words):
            continue  # sides of boxes, too, are called like 10.png
        if 2 * len(found) > wanted and (num_images > 1 or wanted == 1) and not CLASS_WORDS.intersection(words):
            have_endings = all(map(is_image, some))
            ranks[way] = (not have_endings, -num_images, not _OF_IMAGES.intersection(words), len(way), way)
    return min(ranks, key=ranks.__getitem__, default=None)


def _of_many_images(folder: Folder, paths: Sequence[str], index: NameIndex) -> Inferred | None:
    """Return how files are read as the first one is that can be, with those of the same fields."""
    for path in paths:
        try:
            lists = list(record_lists(folder, path))
        except DataError:  # it is another kind of file, or damaged
            continue
        for inside, some in lists:
            if found := _of_records(folder, path, inside, some, index):
                alike = [one for one in paths if one == path or _is_alike(folder, one, found)]
                return replace(found, paths=tuple(alike))
    return None


def _is_alike(folder: Folder, path: str, found: Inferred) -> bool:
    """Return whether the first records of another file have such boxes."""
    try:
        lists = dict(record_lists(folder, path))
    except DataError:
        return False
    return any(any(found.readings[0].boxes(record)) for record in lists.get(found.inside, []))


def _of_records(
    folder: Folder, path: str, inside: str | None, some: Sequence[Any], index: NameIndex
) -> Inferred | None:
    some = [record for record in some if isinstance(record, dict)]
    fields = Fields.of(some)
    names = {way: [*values_at(some, way)] for way in fields.of_owner(()) if way}
    image = _naming_images(names, len(some), index)
    if image is None:
        return None
    keys = [(index.find_all(str(value)), record) for record in some for value in values_at([record], image)]
    pairs = [(found[0], record) for found, record in keys if len(found) == 1]
    has_box_each = len({key for key, _ in pairs}) < len(pairs)
    made = Inferred(kind_of(path), (), (path,), inside, has_box_each=has_box_each)
    return _fitting(folder, made, image, pairs, lambda _: class_names_in(other_members(folder, path, inside)))


def _fitting(
    folder: Folder,
    made: Inferred,
    image: Way | None,
    pairs: Sequence[tuple[str, Any]],
    class_names: Callable[[Any], dict[str, str]],
) -> Inferred | None:
    """Return what the images of some records allow; None if nothing fits them."""
    found, guesses, scale = list[Reading](), "", None
    members = _common([tree for _, tree in pairs])
    for one in candidates([tree for _, tree in pairs], image):
        is_flat = not one.objects and all(len(way) == 1 for way in one.box.ways)
        if made.paths and is_flat and not made.has_box_each:
            continue  # a table of classes may have a box for each image
        samples = list[Sample]()
        for key, tree in _some_with_boxes(one, pairs):
            samples += sample_images(folder, key, [*one.boxes(tree)], one.annotated_size(tree))
        ways = fits(samples, one.box.form.may_be)
        if not ways:
            continue
        if (
            made.kind == ".txt"
            and not made.paths
            and one.guesses is None
            and any(is_fraction for _, is_fraction in ways)
        ):
            return None  # YOLO's, whose classes have no names
        guesses = guesses or (name_of(one.guesses) if one.guesses else "")
        names = _names_of_numbers(one, pairs, class_names)
        for form, is_fraction in ways:
            scale = scale or (None if is_fraction else other_scale(samples))
            box, size = BoxField(one.box.ways, form), () if is_fraction else one.size
            more = one.flags, members, one.is_usual
            found.append(Reading(image, one.objects, box, is_fraction, one.classes, size, names, *more))
    return replace(made, readings=tuple(found), guesses=guesses, scale=scale) if found else None


def _some_with_boxes(one: Candidate, pairs: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield a few records with boxes, taken evenly from all."""
    with_boxes = [(key, tree) for key, tree in pairs if any(one.boxes(tree))]
    return itertools.islice(with_boxes[:: 1 + len(with_boxes) // 48], 48)


def _names_of_numbers(
    one: Candidate, pairs: Sequence[tuple[str, Any]], class_names: Callable[[Any], dict[str, str]]
) -> dict[str, str]:
    """Return the names of an object's classes, if they are numbers and the file names all of them."""
    trees = [tree for _, tree in pairs]
    way = one.classes[0] if len(one.classes) == 1 else None
    labels = {str(value) for value in values_at(trees, (*one.objects, *way))} if way else set()
    if not labels or not all(map(is_number, labels)):
        return {}
    names = class_names(trees[0])
    return names if labels <= names.keys() else {}


def _common(trees: Sequence[Any]) -> frozenset[str]:
    """Return the names of the members that all but a few records have."""
    counts = Counter(name for tree in trees for name in tree)
    return frozenset(name for name, count in counts.items() if count >= _MIN_SHARE * len(trees))
