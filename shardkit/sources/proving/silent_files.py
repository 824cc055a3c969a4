"""Tell files that may say something about the images from prose, lists of the classes, and copies."""

import posixpath
import re
import zipfile
from collections import Counter

from shardkit.naming import split_of_folder
from shardkit.sources.file_names import ending
from shardkit.sources.proving.evidence import Evidence
from shardkit.sources.recognising.folders.split_folders import is_of_project
from shardkit.sources.walking import file_or_folder, is_image, read_sample

# What may hold labels. Others beside images are of programs.
_MAY_SAY = frozenset(
    {*(".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".xml", ".yaml", ".yml", ".xlsx", ".xls", ".ods", ".zip")}
    | {".parquet", ".mat", ".npy", ".npz", ".pkl", ".sqlite", ".tar", ".tgz", ".gz", ".7z", ".rar", ".geojson"}
)
# Lists of Pascal VOC, and what COCO has besides boxes.
_OF_FORMATS = re.compile(r"(?:^|/)ImageSets/|(?:^|/)(?:captions|person_keypoints|image_info)_\w+\.json$")
_MAX_BYTES = 1 << 18  # 256 KiB of a text
_EMPTY = 3  # bytes of a file that says nothing: {} and a line break
_WORDS_OF_PROSE = 4  # in a line
_TABLES = frozenset({".csv", ".tsv"})
_BETWEEN_CELLS = re.compile(r"""[,;\t|"']+""")
_NAME = re.compile(r"[^\W\d_]{3}")  # a code such as PT0012 has fewer letters in a row
_WORD = re.compile(r"\w[\w.-]*\w|\w")


def may_say(found: Evidence, path: str) -> bool:
    """Return whether a file that nothing explains may say what images are."""
    kind = ending(path)
    *folders, name = path.removeprefix(f"{found.reading.images.root}/").split("/")  # the data may be called plots/
    if kind not in _MAY_SAY or name.startswith("~$") or any(map(is_of_project, folders)) or _OF_FORMATS.search(path):
        return False
    entry = file_or_folder(found.tree, path)
    if entry is not None and entry.num_bytes <= _EMPTY:
        return False
    if kind == ".txt":
        return _is_no_prose(found, path)
    if kind in _TABLES:
        return _names_something(found, path)
    return not (kind == ".zip" and _repeats_images(found, path))


def _lines_of(found: Evidence, path: str) -> list[str] | None:
    """Return the lines of a text that are not blank; None if it cannot be used."""
    data = read_sample(found.tree, path, _MAX_BYTES)
    if data is None:
        return None
    return [line.strip() for line in data.decode("utf-8", "replace").splitlines() if line.strip()]


def _is_no_prose(found: Evidence, path: str) -> bool:
    if (lines := _lines_of(found, path)) is None:
        return True
    # Names of classes in a line each, which the folders have, too, or which the user gave.
    if {*lines} <= {*found.counts, *(found.options.classes or ())}:
        return found.reading.label is not None and bool(found.reading.label.names)
    names_images = any(posixpath.splitext(word)[0] in found.stems for line in lines for word in _WORD.findall(line)[:2])
    are_sentences = sum(len(_WORD.findall(line)) >= _WORDS_OF_PROSE for line in lines) * 2 >= len(lines)
    # A table has as many tabs in each line.
    tabs = {line.count("\t") for line in lines}
    return bool(lines) and (names_images or not are_sentences or (len(tabs) == 1 and tabs != {0}))


def _names_something(found: Evidence, path: str) -> bool:
    """Return whether a table has the name of an image, folder, class or split, or a line for each image.

    One that names all classes describes them, unless they are numbers or codes that it explains.
    """
    if (lines := _lines_of(found, path)) is None:
        return True
    cells = {cell.strip().lower() for line in lines for cell in _BETWEEN_CELLS.split(line)}
    stems = {stem.lower() for stem in found.stems}
    stems |= {str(int(stem)) for stem in stems if stem.isdecimal()}  # 4 in a table may be 004.jpg
    if not stems.isdisjoint(posixpath.splitext(posixpath.basename(cell))[0] for cell in cells):
        return True
    folders = {part.lower() for one in found.images for part in one.split("/")[:-1]}
    classes = {name.lower() for name in found.counts}
    if len(lines) - len([*found.images]) in {0, 1}:
        return True
    if classes and classes <= cells:
        return not all(map(_NAME.search, classes))
    names = folders | classes
    return not names.isdisjoint(cells) or any(map(split_of_folder, cells))


def _repeats_images(found: Evidence, path: str) -> bool:
    """Return whether an archive has no image that is not also beside it, by name and size."""
    try:
        with found.tree.open(path) as file, zipfile.ZipFile(file) as archive:
            inside = Counter((posixpath.basename(one.filename), one.file_size) for one in archive.infolist())
    except (OSError, zipfile.BadZipFile, NotImplementedError):
        return False
    images = {one for one in inside if is_image(one[0])}
    return bool(images) and images <= {*found.sizes}
