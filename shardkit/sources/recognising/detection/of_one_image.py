"""Find files of boxes that are about one image each, and their images: one finder for all such formats.

The beginning of a file tells its format. The images of a folder of files are in the folder of the usual name next to
it, as ``JPEGImages/`` is for ``Annotations/``, in the same folder, or in one that has images of most of the names; else
each file has the nearest image of its name.
"""

import itertools
import posixpath
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS, Layout
from shardkit.naming import split_of_folder
from shardkit.sources.engine.opening import open_reading
from shardkit.sources.engine.source import ReadingSource
from shardkit.sources.engine.splits import split_tokens
from shardkit.sources.formats.box_lines import DOTA, ICDAR, KITTI, VISDRONE, WIDER_PERSON
from shardkit.sources.formats.format import ImageFormat, ImageRecord
from shardkit.sources.formats.image_json import BDD_IMAGE, DARWIN, DEEP_FASHION, FUNSD, LABELME, SUPERVISELY
from shardkit.sources.formats.xml_files import VOC
from shardkit.sources.formats.yolo import YOLO
from shardkit.sources.listing import Source
from shardkit.sources.name_index import nearest, stems_of_file
from shardkit.sources.options import Opening
from shardkit.sources.readings.values import Annotation, Images, Labels, Listed, Reading
from shardkit.sources.recognising.claims.searching import files_by_kind
from shardkit.sources.recognising.detection.image_fields import classes_of
from shardkit.sources.recognising.detection.image_sets import chosen_lists
from shardkit.sources.recognising.detection.other_names import note_of_other_names
from shardkit.sources.walking import (
    children,
    ending,
    files_below,
    files_in,
    folders_in,
    is_folder,
    is_image,
    join,
    looks_like,
    parent_of,
    read_head,
    read_label_file,
    stem_of,
)
from shardkit.storage import Folder

_FORMATS: Mapping[Layout, tuple[ImageFormat, ...]] = {
    "kitti": (KITTI,),
    "box-text": (VISDRONE, DOTA, ICDAR, WIDER_PERSON),
    "voc": (VOC,),
    "labelme": (LABELME,),
    "yolo": (YOLO,),
    "box-json": (SUPERVISELY, BDD_IMAGE, FUNSD, DEEP_FASHION, DARWIN),
}
# Names of the folders of formats whose lines may be those of others.
_NAMES = {VISDRONE.name: "annotations", DOTA.name: "labeltxt"}
_REMEDIES: Mapping[Layout, str] = {
    "kitti": "there are no object labels of KITTI; searched for training/label_2/*.txt next to training/image_2, and "
    "for labels/*.txt next to images, with 15 fields a line",
    "box-text": "there are no text files of VisDrone (annotations/*.txt) or DOTA (labelTxt/*.txt) next to images/, nor "
    "of ICDAR or WIDER Person with images of their names",
    "voc": "there are no Pascal VOC annotations; searched for Annotations/*.xml with JPEGImages/, also below VOC<year>/"
    " and VOCdevkit/VOC<year>/, and for XML files next to the images of split folders",
    "labelme": "there is no file of Labelme: a *.json with `shapes` next to its image",
}
_OF_FILES = re.compile(r"ann|annotations?|jsons?|labels?|labelme|label_2|labeltxt.*", re.IGNORECASE)
_OF_IMAGES = ("images", "jpegimages", "image_2")
_BASE = re.compile(r"VOC[0-9]{4}|default", re.IGNORECASE)  # the second is CVAT's
_DEVKIT = "vocdevkit"
_LISTS = "imagesets"  # the folder of the lists of splits
# Of the archives of KITTI, each unpacked, and of V7 Darwin.
_DEEP = ("data_object_label_2/training/label_2", "releases/latest/annotations")
_MAX_FOLDERS = 12  # next to each other, all of which are searched
_MAX_INNER = 64  # in a folder that is called like one of files
_TRIED = 4  # files of a folder that are tested
_NUM_MATCHED = 8  # files whose images are looked up
_FIRST = 200  # files that decide how all are read
_MAX_GLOBS = 3  # folders that a reading names one by one


@dataclass(frozen=True, slots=True)
class FilesOfFolder:
    """Files with the paths of the images in a folder, and the split that its name gives; None for none."""

    glob: str
    images: str
    split: str | None = None


def _has(folder: Folder, *, layout: Layout) -> bool:
    return find_folders(folder, layout) is not None


is_kitti, is_box_texts, has_labelme, has_files_of_images = (
    partial(_has, layout=layout) for layout in ("kitti", "box-text", "labelme", "box-json")
)


def is_voc(folder: Folder) -> bool:
    """Return whether a folder has Pascal VOC's XML files next to their images, or next to the folder of images."""
    _, found = find_folders(folder, "voc") or (VOC, {})
    return any(
        images in [*_with_usual_names(folder, place)]
        or (images == place and (not place or split_of_folder(posixpath.basename(place))))
        for place, images in found.items()
    )


def has_voc_files(folder: Folder) -> bool:
    """Return whether there are such XML files in the first few folders of a tree, judging by a few of them."""
    found = list(files_by_kind(folder, None, frozenset({".xml"})))
    own = [path for path, _ in found if path and any(_with_usual_names(folder, path))]
    if own and (len(found) == 1 or any(_image_sets(folder, dict.fromkeys(own, ""))[0])):
        return False  # a wrapper, or a source whose lists give the splits
    for path, names in found:
        heads = [read_head(folder, join(path, name)) for name in names[:: max(1, len(names) // _TRIED)]]
        if any(looks_like(head, rb"<annotation[\s>]", b"<bndbox>") for head in heads):
            return not _have_other_classes(heads)
    return False


def _have_other_classes(heads: Sequence[bytes | None]) -> bool:
    """Return whether all objects are of one class and another word of theirs differs, such as people's actions.

    The boxes would lose what the images are about; lists of images have it, too.
    """
    words: dict[bytes, set[bytes]] = {}
    for head in heads:
        for one in re.findall(rb"<object>.*?</object>", head or b"", re.DOTALL):
            for tag, text in re.findall(rb"<(\w+)>\s*([^<>]*[A-Za-z][^<>]*?)\s*</\1>", one):
                words.setdefault(tag, set()).add(text)
    names = words.pop(b"name", set())
    words.pop(b"pose", None)  # Pascal VOC's own: where an object looks to
    return len(names) == 1 and any(len(texts) > 1 for texts in words.values())


def format_of_image(folder: Folder, path: str) -> str | None:
    """Return the title of the format of a JSON file that is about one image; None if it is another one."""
    head = (read_head(folder, path) or b"") if path.lower().endswith(".json") else b""
    kinds = (*_FORMATS["labelme"], *_FORMATS["box-json"])
    return next((kind.title for kind in kinds if kind.sniff(head)), None)


def find_folders(
    folder: Folder, layout: Layout, *, is_stated: bool = False
) -> tuple[ImageFormat, dict[str, str | None]] | None:
    """Return the format of a layout's files, and the folders that have some, with the folder of the images of each."""
    places = list(dict.fromkeys(_places(folder, is_deep=_FORMATS[layout][0].ending == ".json")))
    for kind in _FORMATS[layout]:
        having = (place for place in places if _has_files(folder, place, kind, is_stated=is_stated))
        found = {place: _images_of(folder, place, kind, places) for place in having}
        if kind.ending == ".txt":  # any text may have such lines
            found = {place: images for place, images in found.items() if images is not None}
        if found:
            return kind, found
    return None


def _places(folder: Folder, *, is_deep: bool) -> Iterator[str]:
    """Yield the folders that may have such files; others are not listed, because they may hold many images.

    With `is_deep`, folders of other names may be around them, such as those of a project's datasets.
    """
    names = folders_in(folder)
    bases = ["", *(name for name in names if split_tokens(name) or _BASE.fullmatch(name))]
    for name in names[:_MAX_FOLDERS]:
        below = folders_in(folder, name)
        bases += [name] if _LISTS in map(str.lower, below) and name not in bases else []
        inner = [name] if name.lower() == _DEVKIT else []
        inner += [join(name, one) for one in below if one.lower() == _DEVKIT]
        bases += [join(path, year) for path in inner for year in folders_in(folder, path) if _BASE.fullmatch(year)]
    for base in bases:
        yield base
        for name in _likely(folder, base):
            yield join(base, name)
            is_likely = _OF_FILES.fullmatch(name) is not None
            most = _MAX_INNER if is_likely else _MAX_FOLDERS
            if not (is_likely or is_deep or split_of_folder(name)):
                continue
            yield from (join(base, name, inner) for inner in _likely(folder, join(base, name), most))
    yield from (path for path in _DEEP if is_folder(folder, path))


def _likely(folder: Folder, path: str, most: int = _MAX_FOLDERS) -> list[str]:
    names = folders_in(folder, path)
    usual = [name for name in names if _OF_FILES.fullmatch(name) or split_of_folder(name)]
    return names if len(names) <= most else list(dict.fromkeys([*usual, *names[:1]]))


def _has_files(folder: Folder, place: str, kind: ImageFormat, *, is_stated: bool) -> bool:
    if not posixpath.basename(place).lower().startswith(_NAMES.get(kind.name, "")):
        return False
    paths = files_in(folder, place, kind.ending)[:_TRIED]
    if (kind is YOLO or (kind is VOC and is_stated)) and any(_with_usual_names(folder, place)):
        # Known by the folders' names, unless these are lists of images.
        own = [path for path in paths if posixpath.basename(path) not in kind.side_files]
        return bool(own) and not any(map(is_image, (read_head(folder, own[0]) or b"").decode("latin-1").split()[:2]))
    return any(kind.sniff(head) for path in paths if (head := read_head(folder, path) or b"").strip())


def _images_of(folder: Folder, place: str, kind: ImageFormat, places: Collection[str]) -> str | None:
    """Return the folder of the images of the files in a folder; None if it is not known."""
    for path in (*_with_usual_names(folder, place), place):
        if _image_stems(folder, path) or (path != place and not children(folder, path)):
            return path
    stems = [stem_of(path) for path in files_in(folder, place, kind.ending)[:_NUM_MATCHED]]
    wanted = [{stem, *stems_of_file(stem)} for stem in stems]
    names = {path: _image_stems(folder, path) for path in places}
    having = [path for path, own in names.items() if 2 * sum(not own.isdisjoint(one) for one in wanted) > len(wanted)]
    best = nearest([f"{path}/" for path in having], f"{place}/")
    return best[0].rstrip("/") if len(best) == 1 else None


def _with_usual_names(folder: Folder, place: str) -> Iterator[str]:
    """Yield the folders of images of usual names for a folder: of labels, or of labels/train."""
    if is_folder(folder, path := place.replace("label_2", "image_2")) and path != place:
        yield path
    parts = place.split("/")
    for i in range(len(parts) - 1, -1, -1):
        above, below = "/".join(parts[:i]), "/".join(parts[i + 1 :])
        names = {name.lower(): name for name in folders_in(folder, above)}
        if _OF_FILES.fullmatch(parts[i]):
            paths = (join(above, names[name], below) for name in _OF_IMAGES if name in names)
            yield from (path for path in paths if is_folder(folder, path))


def _image_stems(folder: Folder, path: str) -> set[str]:
    names = (one.name for one in children(folder, path) if not one.is_folder and is_image(one.name))
    return {posixpath.splitext(name)[0] for name in names}


def split_of_paths(*paths: str) -> str | None:
    """Return the split of the last folder of some paths that is called like one, else that has it in its name."""
    names = [name for path in paths for name in reversed(path.split("/"))]
    in_names = (split for name in names for _, split in split_tokens(name)[:1])
    return next(itertools.chain(filter(None, map(split_of_folder, names)), in_names), None)


def _open(opening: Opening, *, layout: Layout) -> Source:
    folder, title = opening.folder, LAYOUTS[layout].title
    is_stated = opening.options.layout is not None
    kind, found = find_folders(folder, layout, is_stated=is_stated) or (_FORMATS[layout][0], {})
    if not found and not (layout == "voc" and has_voc_files(folder)):
        raise DataError(f"{folder.url}: {_REMEDIES[layout]}")
    remark = f"; {'texts of ' if layout == 'box-text' else ''}{kind.title}" if layout.startswith("box-") else ""
    of_folders = {place: images for place, images in found.items() if images is not None}
    lists, bases = _image_sets(folder, of_folders)
    paths = [path for path, entry in files_below(folder, "") if ending(entry.name) == kind.ending]
    remark += "" if kind.ending == ".txt" else note_of_other_names(folder, kind, paths)
    inside = list(dict.fromkeys(map(parent_of, paths)))
    if kind is VOC:
        having = (place for place in inside[:_MAX_INNER] if _has_files(folder, place, kind, is_stated=is_stated))
        inside = [*having, *inside[_MAX_INNER:]]
    is_whole = kind.ending == ".txt" or set(inside) <= set(of_folders)
    if kind.ending != ".json" and of_folders and (lists or is_whole):
        files = [
            FilesOfFolder(join(place, f"*{kind.ending}"), images, split_of_paths(images, place))
            for place, images in of_folders.items()
        ]
        if len(files) == 1 and kind is KITTI:  # it has labels for training/ only; others make no validation split
            files = [FilesOfFolder(files[0].glob, files[0].images)]
        by_lists = Listed(lists, match="stem", bases=bases) if lists else None
        return open_image_files(opening, kind.name, title, files, lists=by_lists, remark=remark)
    globs = [join(place, f"*{kind.ending}") for place in inside]
    options = {"splits": "folders"}
    field, has_several = None, False
    if kind.ending == ".json":
        first, chosen = _first_records(folder, kind, paths), opening.options.label_columns
        if chosen or (any(one.attributes for one in first) and not any(map(_has_shapes, first))):
            field, _ = classes_of(folder.url, first, chosen)
        has_several = any(len(one.attributes.get(field or "", ())) > 1 for one in first)
        options |= {"boxed": "keep"} if chosen else {}
    globs = globs if len(globs) <= _MAX_GLOBS else [f"**/*{kind.ending}"]
    return open_image_files(
        opening, kind.name, title, globs, options, field=field, has_several=has_several, remark=remark
    )


open_kitti, open_box_texts, open_voc, open_labelme, open_files_of_images = (
    partial(_open, layout=layout) for layout in ("kitti", "box-text", "voc", "labelme", "box-json")
)


def _image_sets(folder: Folder, found: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the splits of Pascal VOC's lists by their paths, and the folder of the images of each."""
    lists, bases = dict[str, str](), dict[str, str]()
    for place, images in found.items():
        above = parent_of(place)
        sets = next((name for name in folders_in(folder, above) if name.lower() == _LISTS), "ImageSets")
        for name, split in chosen_lists(folder, join(above, sets, "Main")).items():
            path = join(above, sets, "Main", name)
            lists[path], bases[path] = split, images
    return lists, bases


def _first_records(folder: Folder, kind: ImageFormat, paths: Sequence[str]) -> list[ImageRecord]:
    """Return what some files say, taken evenly from all; only one with shapes, if there is one."""
    records = []
    for path in paths[:: 1 + len(paths) // _FIRST]:
        data = read_label_file(folder, path, 0, kind.max_bytes)
        record = ImageRecord(bad=data) if isinstance(data, str) else kind.parse(data, {})
        if _has_shapes(record):
            return [record]
        if not record.bad:
            records.append(record)
    return records


def _has_shapes(record: ImageRecord) -> bool:
    """Return whether a file has shapes, good, bad or left out."""
    return bool(record.objects or record.problems or record.left_out)


def open_image_files(
    opening: Opening,
    name: str,
    title: str,
    files: Sequence[FilesOfFolder] | Sequence[str],
    options: Mapping[str, str] | None = None,
    *,
    root: Folder | None = None,
    names: str = "",
    classes: Sequence[str] = (),
    lists: Listed | None = None,
    field: str | None = None,
    has_several: bool = False,
    remark: str = "",
) -> ReadingSource:
    """Return the source of files of one image each; they are globs if the image of each is in the nearest folder.

    `names` is a file with the names of classes, and `field` what gives the classes of images, if no boxes are read.
    """
    is_elsewhere = root is not None and root.url != opening.folder.url
    above = root.url if root is not None and is_elsewhere else ""
    of_folders = [one for one in files if isinstance(one, FilesOfFolder)]
    globs = tuple(join(above, one if isinstance(one, str) else one.glob) for one in files)
    given = dict(options or {}) | ({"field": field} if field is not None else {})
    first = of_folders[0].images if of_folders else ""
    bases = {glob: one.images for glob, one in zip(globs, of_folders, strict=False) if one.images != first}
    origin = Annotation(name, globs, first, bases, "path" if of_folders else "end", names=names, options=given)
    splits = {glob: one.split for glob, one in zip(globs, of_folders, strict=False) if one.split is not None}
    by_folders = origin if given.get("splits") == "folders" else None
    reading = Reading(
        images=Images(above, unnamed="ignore" if lists is not None else "near"),
        label=None if field is None else Labels(origin, kind="classes" if has_several else None),
        boxes=origin if field is None else None,
        split=lists or (Listed(splits) if splits else by_folders),
        classes=tuple(classes),
        without_annotation=opening.options.without_annotation or "reject",
    )
    return open_reading(opening, reading, name=title, is_strict=False, remark=remark)
