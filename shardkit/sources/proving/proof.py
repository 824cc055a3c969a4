"""Doubts about a reading that was recognised: why it may not be what the user means."""

import itertools
import posixpath
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator

from shardkit.naming import counted, first_of, printable, split_of_folder
from shardkit.reject_reasons import NO_LABEL
from shardkit.sources.claim import Claim
from shardkit.sources.engine.file_groups import files_of_globs
from shardkit.sources.engine.splits import split_of_name
from shardkit.sources.formats.box_tables.records import BOX_TABLES
from shardkit.sources.formats.registry import FORMATS, IMAGE_FORMATS
from shardkit.sources.formats.xml_files import CVAT, TAGS
from shardkit.sources.known.finding import find_known
from shardkit.sources.listing import NEGATIVES
from shardkit.sources.proving.class_names import doubts_about_names, doubts_about_objects, is_unsaid
from shardkit.sources.proving.class_trees import doubts_about_trees
from shardkit.sources.proving.evidence import Evidence, kinds_of
from shardkit.sources.proving.image_contents import copies, scaled_boxes
from shardkit.sources.proving.label_columns import doubts_about_columns
from shardkit.sources.readings.values import Annotation, Column, Listed, Paired, PathPart, PathRegex
from shardkit.sources.recognising.folders.folder_names import parts_of_data
from shardkit.sources.recognising.folders.masks.pairs import SAYS_MASKS
from shardkit.sources.recognising.folders.split_folders import is_of_project, mentioned_split, mentions_split
from shardkit.sources.walking import ending, file_or_folder, is_image, parent_of, read_head, read_sample

_MAX_LOOSE = 3  # images beside folders of classes, such as a contact sheet
_MAX_UNLABELLED = 0.2  # of the images: more than a conversion may ever reject without a word
_SPLITS = {"train", "validation", "test"}
_NOTE = "; note: "
_ATTRIBUTE = re.compile(rb'<attribute name="([^"]+)">([^<]*)</attribute>')
_OF_IMAGES = re.compile(r"images? (?:in (?P<folder>.*?)/ )?(?:that|which) .*")
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


def doubts(found: Evidence, left_out: tuple[str, ...]) -> Iterator[str]:
    """Yield why a reading may not be what the user means, as clauses; none if it is proved."""
    if find_known(found.tree) is not None or not (found.keys or found.rejected):  # without an image no answer helps
        return
    notes = [*_liberties(found)]
    yield from notes
    yield from _left_over(found, left_out, " ".join(notes))
    label = found.reading.label.origin if found.reading.label else None
    if isinstance(label, PathRegex):
        yield f"labels in the {'names' if label.of == 'name' else 'paths'} of files are a guess"
    elif isinstance(label, PathPart):
        yield from doubts_about_trees(found, label)
    elif isinstance(label, Column):
        yield from doubts_about_columns(found, label)
    else:
        yield from _doubts_about_folders(found)
    if found.counts:
        yield from doubts_about_names(found)
    if found.objects and not found.options.classes:
        yield from doubts_about_objects(found)
        if sizes := scaled_boxes(found):
            yield f"images have another size than their annotations say, such as {sizes}: their boxes would be scaled"
        if len(found.objects) == 1:
            yield from _attributes(found)


def _liberties(found: Evidence) -> Iterator[str]:
    """Yield what the reading assumes."""
    used = [one.format for _, one in found.reading.facts() if isinstance(one, Annotation)]
    usual = [formats[name].note for formats in (FORMATS, IMAGE_FORMATS) for name in used if name in formats]
    if found.is_partly_in_archives:
        yield "some files lie in archives and others beside them"
    mask = found.reading.mask
    if isinstance(mask, Paired) and not (SAYS_MASKS.search(mask.pair) or parent_of(mask.pair) == parent_of(mask.image)):
        yield f"{printable(mask.pair)} is not called like masks"
    odd = sorted({one for one in found.splits if one} - _SPLITS)
    if odd and found.options.split_column is None:
        yield f"{first_of([*map(printable, odd)], 3)} {'is no usual split' if len(odd) == 1 else 'are no usual splits'}"
    if any(
        isinstance(one, Annotation) and one.format == BOX_TABLES.name and "label" not in one.options
        for _, one in found.reading.facts()
    ):
        yield "its boxes have no class"
    if found.has_no_header:
        yield "its boxes have no header, so their numbers may be corners or sizes"
    _, *notes = found.source.describe().split(_NOTE)
    yield from (one for one in notes if not one.startswith(tuple(filter(None, usual))))
    split = found.reading.split
    for path, name in split.lists.items() if isinstance(split, Listed) else ():
        if rivals := [one for one in path.split("/")[:-1] if split_of_folder(one) not in {None, name}]:
            yield f"{printable(path)} would be {name}, and {printable(rivals[0])}/ is called like another split"
    excluded = [glob.strip("/") for glob in found.reading.images.exclude]
    if lost := [path for path in excluded if {*map(mentioned_split, path.split("/"))} & {"train", "validation"}]:
        yield f"{first_of([f'{printable(path)}/' for path in lost], 3)} would be left out, as images without labels"
    # Beside the images for testing, which have labels, another folder is hardly images without any.
    tests = [path for path in excluded if mentioned_split(path) == "test" and split_of_name(path) is None]
    if tests and "test" in found.splits:
        yield f"{first_of([f'{printable(path)}/' for path in tests], 3)} may be more images for testing"


def _attributes(found: Evidence) -> Iterator[str]:
    """Yield that boxes of one class differ in an attribute, which is not read: in CVAT's files."""
    boxes, values = found.reading.boxes, defaultdict[bytes, set[bytes]](set)
    if not isinstance(boxes, Annotation) or boxes.format != CVAT.name:
        return
    for path in files_of_globs(found.tree, boxes.files):
        for name, value in _ATTRIBUTE.findall(read_head(found.tree, path) or b""):
            values[name].add(value)
    if differing := sorted(name.decode("utf-8", "replace") for name, some in values.items() if len(some) > 1):
        [label] = found.objects
        yield f"its objects are all {printable(label)!r}, and differ in {first_of(differing, 3)}"


def _left_over(found: Evidence, left_out: tuple[str, ...], noted: str) -> Iterator[str]:
    """Yield images and files that nothing explains."""
    silent = {one.strip("/") for one in left_out}
    loose = sorted(filter(is_image, silent))
    if loose and (len(loose) > _MAX_LOOSE or not all(is_unsaid(one.rpartition("/")[2]) for one in loose)):
        yield f"{first_of([*map(printable, loose)], 3)} would not be read"
    unnamed = sum(num for phrase, num in found.skipped.items() if phrase.endswith("does not name"))
    of_tests = {one.num_named for one in found.source.claims if _is_called_test(one)}
    for phrase, num in found.skipped.items() if not found.is_file else ():
        if phrase.startswith("image") and phrase != NEGATIVES and not _has_no_labels(phrase, silent):
            if phrase.endswith("does not name") and unnamed in of_tests:
                continue
            yield f"{num:,} {phrase}"
    if len({*found.keys}) < len(found.keys) and found.has_several_files:
        yield "several files say something about the same images"
    if TAGS in found.skipped:
        yield f"its images have {TAGS}, which are not read with the boxes"
    label = found.reading.label.origin if found.reading.label else None
    num, total = found.rejected[NO_LABEL], len(found.keys) + found.rejected.total()
    if num > _MAX_UNLABELLED * total:
        yield f"{num:,} of {counted(total, 'image')} have no label"
    for claim in found.source.claims if not found.is_file else ():
        if claim.is_used and claim.gives == "labels" and isinstance(label, PathPart):
            yield f"{printable(claim.path)} gives splits, and its other columns may be labels"
        if not claim.is_used and not _repeats_folders(claim) and not _is_of_others(claim, found):
            yield claim.sentence
    claimed = {one.path for one in found.source.claims}
    others = (path for path in found.files if path not in claimed and path.rpartition("/")[2] not in noted)
    if files := [path for path in others if _may_say(found, path)]:
        yield f"files are left over: {kinds_of(files)}"


def _has_no_labels(phrase: str, left_out: set[str]) -> bool:
    """Return whether images that are not read lie in a folder that is called like one without labels."""
    match = _OF_IMAGES.fullmatch(phrase)
    folder = (match["folder"] or "") if match else ""
    name = folder.rpartition("/")[2]
    return bool(folder) and (folder in left_out or mentioned_split(name) == "test" or is_of_project(name))


def _repeats_folders(claim: Claim) -> bool:
    """Return whether a file says of all images what folders say."""
    return claim.gives == "nothing" and "repeats" in claim.why and not mentions_split(claim.path)


def _is_called_test(claim: Claim) -> bool:
    name = claim.path.rpartition("/")[2]
    return mentioned_split(name) == "test" or "submission" in name.lower()


def _is_of_others(claim: Claim, found: Evidence) -> bool:
    """Return whether a file is about images without labels, results of a program, or one of the lists of VOC."""
    *folders, name = claim.path.split("/")
    images = found.reading.images
    has_tests = any(phrase.startswith("image") for phrase in found.skipped) or bool(images.exclude or images.unlabelled)
    is_of_voc = "ImageSets" in folders and any(
        isinstance(one, Annotation) and one.format == "voc" for _, one in found.reading.facts()
    )
    return (
        (has_tests and _is_called_test(claim) and claim.gives != "labels")
        or "sample_submission" in name.lower()
        or is_of_voc
        or any(map(is_of_project, folders))
    )


def _doubts_about_folders(found: Evidence) -> Iterator[str]:
    for first, second in itertools.islice(copies(found), 1):
        yield f"{printable(first)} and {printable(second)} are one picture"
    for _, names in found.unused_levels():
        some = sorted({*names})
        if not parts_of_data(some):
            yield f"the folders {first_of([*map(printable, some)], 3)} mean something, or nothing"
            return


def _may_say(found: Evidence, path: str) -> bool:
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
        # Numbers are classes already, or a folder is none of those that somebody has listed.
        has_numbers = found.reading.label is not None and bool(found.reading.label.names)
        return has_numbers or (len(lines) > 1 and not found.counts.keys() <= {*lines})
    names_images = any(posixpath.splitext(word)[0] in found.stems for line in lines for word in _WORD.findall(line)[:2])
    are_sentences = sum(len(_WORD.findall(line)) >= _WORDS_OF_PROSE for line in lines) * 2 >= len(lines)
    # A table has as many tabs in each line.
    tabs = {line.count("\t") for line in lines}
    return bool(lines) and (names_images or not are_sentences or (len(tabs) == 1 and tabs != {0}))


def _names_something(found: Evidence, path: str) -> bool:
    """Return whether a table has the name of an image, folder, class or split, or a line for each image.

    One that names all classes describes them, unless they are numbers or codes that it explains, or it groups them.
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
        return not all(map(_NAME.search, classes)) or _groups(lines, classes)
    names = folders | classes
    return not names.isdisjoint(cells) or any(map(split_of_folder, cells))


def _groups(lines: list[str], classes: set[str]) -> bool:
    """Return whether each class has a line, and some of these have a word in common, as those of coarser classes."""
    rows = [{cell.strip().lower() for cell in _BETWEEN_CELLS.split(line)} for line in lines]
    rows = [row for row in rows if not row.isdisjoint(classes)]
    counts = Counter(itertools.chain.from_iterable(rows))
    shared = (cell for cell, num in counts.items() if num > 1 and cell not in classes)
    return len(rows) == len(classes) and any(map(_NAME.search, shared))


def _repeats_images(found: Evidence, path: str) -> bool:
    """Return whether an archive has no image that is not also beside it, by name and size."""
    try:
        with found.tree.open(path) as file, zipfile.ZipFile(file) as archive:
            inside = Counter((posixpath.basename(one.filename), one.file_size) for one in archive.infolist())
    except (OSError, zipfile.BadZipFile, NotImplementedError):
        return False
    images = {one for one in inside if is_image(one[0])}
    return bool(images) and images <= {*found.sizes}
