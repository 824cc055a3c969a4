"""Open a folder that no layout recognises by its files: a table next to images, class folders, or a folder around them.

Each folder around the source is opened like SOURCE itself, so dataset/coco/annotations/ is found as well as
dataset/flowers/rose/.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator

from shardkit.errors import DataError, ShardkitError
from shardkit.layouts import Layout
from shardkit.naming import printable, split_of_folder
from shardkit.options.call import Change
from shardkit.refusals import RefusalError, RefusedDataError, UnrecognisedError
from shardkit.sources.claim import Claim
from shardkit.sources.engine.drivers import unsupported_format
from shardkit.sources.engine.table_names import refuse_lost_zeros
from shardkit.sources.formats.tables.lines import first_bad_byte
from shardkit.sources.formats.tables.opening import TABLE_ENDINGS, open_table_file
from shardkit.sources.formats.tables.text_files import TEXT_ENDINGS
from shardkit.sources.listing import Source
from shardkit.sources.options import Opening, SourceOptions
from shardkit.sources.recognising.claims.collecting import naming_files
from shardkit.sources.recognising.claims.files_of_images import claims_of_single_images, may_hold_labels
from shardkit.sources.recognising.claims.image_names import ImageNames
from shardkit.sources.recognising.folders.class_tree import FlatFolders, Without, Wrapper, read_tree
from shardkit.sources.recognising.folders.data_formats import data_format
from shardkit.sources.recognising.folders.first_images import image_names
from shardkit.sources.recognising.only_folders import is_text
from shardkit.sources.recognising.unmarked_tables import (
    IsReadWithout,
    open_tables,
    tables_of,
)
from shardkit.sources.walking import children, ending, files_below, folders_in, is_image, join, stem_of
from shardkit.storage import Folder

_MAX_TABLES = 3  # that are compared with the images' names
_EXAMPLES = 2  # file names shown in a message
_MAX_FILES = 1_000  # that are looked at
_KINDS_SHOWN = 4
_ARCHIVES = (".zip", ".tar")
_PACKED = (".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z", ".rar")
_ARRAYS = (".npy", ".npz", ".pkl", ".pickle", ".h5", ".hdf5", ".mat", ".pt", ".pth", ".mdb", ".lmdb", ".bin")
_RECORDS = (".tfrecord", ".tfrecords", ".tfrec")
# Files that may have labels of the images: no command loses them.
_OF_LABELS = frozenset({*TABLE_ENDINGS, *TEXT_ENDINGS, ".json", ".xml", ".yaml", ".yml", ".mat", ".npy", ".pkl"})
_TEXTS = (".csv", ".tsv", *TEXT_ENDINGS)
_NO_ENDING = "(none)"


def open_unmarked_folder(
    opening: Opening, recognise: Callable[[Folder], Layout | None]
) -> Source | tuple[Opening, Layout]:
    """Open a folder whose layout the user does not name, or find the folder in it that a layout recognises.

    Return the source, or the folder to open and its layout.
    """
    above = ""
    while True:
        folder, excluded = opening.folder, opening.excluded
        shown = opening.url if opening.is_in_archive or not above else join(opening.url.rstrip("/"), above)
        if (layout := recognise(folder)) is not None:
            return opening, layout
        if tables := tables_of(folder, excluded):
            return open_tables(opening, tables)
        if (only := _only_folder(folder, excluded)) and recognise(opening.below(only).folder) is not None:
            opening = opening.below(only)
            continue
        found = read_tree(folder, excluded, shown)
        if isinstance(found, Wrapper):
            above = join(above, found.name)
            opening = opening.below(found.name)
            continue
        if isinstance(found, Without):
            raise IsReadWithout(tuple(f"/{join(above, path)}" for path in found.paths), found.why)
        if isinstance(found, FlatFolders):
            _refuse_lost_zeros(folder)
            raise _refusal_of_flat_folders(opening, found, shown)
        _refuse_data_files(folder, shown)
        return found.source(opening)


def _refuse_lost_zeros(folder: Folder) -> None:
    """Refuse tables whose numbers are names of images without their zeros."""
    tables = [one.name for one in children(folder) if not one.is_folder and ending(one.name) in TABLE_ENDINGS]
    for name in tables[:_MAX_TABLES]:
        try:
            file = open_table_file(folder, name, SourceOptions())
        except DataError:
            continue  # no table
        paths = (path for path, entry in files_below(folder, "") if is_image(entry.name))
        refuse_lost_zeros(file, range(len(file.columns)), paths)


def _refuse_data_files(folder: Folder, shown: str) -> None:
    """Refuse folders that hold no images, but files of a known format with images in them, such as videos."""
    if not any(is_image(path) or unsupported_format(path) for path, _ in files_below(folder, "")):
        error = _refuse_without_images(folder, shown)
        if isinstance(error, RefusedDataError):
            raise error


def _only_folder(folder: Folder, excluded: str | None) -> str | None:
    """Return the folder that holds all images of the source, some of them directly; None if there is none."""
    names = [name for name in folders_in(folder) if name != excluded]
    if len(names) != 1 or any(is_image(entry.name) for entry in children(folder) if not entry.is_folder):
        return None
    return names[0] if any(is_image(entry.name) for entry in children(folder, names[0])) else None


def _refusal_of_flat_folders(opening: Opening, flat: FlatFolders, url: str) -> ShardkitError:
    """Return the refusal of folders of images without label folders."""
    folder, hidden = opening.folder, opening.left_out
    names = {root.path: image_names(folder, root.path) for root in flat.roots}
    every = [name for found in names.values() for name in found]
    if not every:
        return _refuse_without_images(folder, url)
    others = (path for path, entry in files_below(folder, "") if not is_image(path) and not is_text(entry.name))
    has_labels = any(ending(path) in _OF_LABELS and may_hold_labels(folder, path) for path in others)
    without = {"ignore": (*opening.options.ignore, *hidden)} if hidden else {}
    unlabelled = Change("images without labels", {"unlabelled": True, **without}, sources=(opening.url,))
    commands = [] if has_labels else [unlabelled]
    paths = [root.path for root in flat.roots if root.path]
    where = "the top folder"
    if paths:
        shown = " and ".join(f"{printable(path)}/" for path in paths)
        where = shown if len(paths) == len(names) else f"{where} and {shown}"
        # A class alone may be appended to a dataset. Globs begin at SOURCE, which would be another folder.
        if len(paths) == len(names) == 1 and not (url != opening.url and (hidden or opening.options.ignore)):
            forced = {"layout": "class-folders", **without}
            commands.append(Change(f"{shown} is the only class", forced, sources=(url,)))
    examples = " and ".join(map(printable, every[:_EXAMPLES]))
    problem = f"{url}: there are no label folders, only images such as {examples} in {where}"
    if text := next(_not_utf_8(folder), None):
        path, line, byte = text
        problem += f"; {printable(path)} is not UTF-8 (byte 0x{byte:02x} in line {line}), so it is not read"
        remedy = (
            "save it as UTF-8: in a spreadsheet as 'CSV UTF-8', or with iconv, such as "
            "`iconv -f WINDOWS-1250 -t UTF-8 OLD.csv > NEW.csv` for a text of Central Europe"
        )
        return UnrecognisedError(problem, commands, remedy=remedy)
    of_images = ImageNames(folder, opening.excluded)
    if unread := next(_unread(opening, of_images), None):
        problem += f"; {unread.sentence}, in a form that shardkit does not read"
        remedy = "write a table (.csv) with a row for each image: its name, and what the file says of it"
        return UnrecognisedError(problem, commands, remedy=remedy)
    remedy = "" if commands else "arrange the files like one of the layouts in `shardkit help layouts`"
    return UnrecognisedError(problem, commands, remedy=remedy)


def _not_utf_8(folder: Folder) -> Iterator[tuple[str, int, int]]:
    """Yield the texts that may have labels and are in another encoding: the path, the line, and its first bad byte."""
    texts = (path for path, one in files_below(folder, "") if ending(path) in _TEXTS and not is_text(one.name))
    for path in itertools.islice(texts, _MAX_FILES):
        if may_hold_labels(folder, path) and (place := first_bad_byte(folder, path)):
            yield path, *place


def _unread(opening: Opening, names: ImageNames) -> Iterator[Claim]:
    """Yield what files say that name images and give no label that can be read: one of many images, or of one each."""
    for file in naming_files(opening.folder, opening.excluded, names):
        if file.file is None or (file.others and not file.may_be_labels(file.others)):
            yield file.claim(names)
    for claim in claims_of_single_images(opening.folder, opening.excluded, names):
        if claim.may_lose_labels:
            yield claim


def _refuse_without_images(folder: Folder, url: str) -> ShardkitError:
    """Return the error for a tree that holds no image."""
    paths = list(itertools.islice((path for path, _ in files_below(folder, "")), _MAX_FILES))
    kinds = Counter(map(ending, paths))
    shown = ", ".join(f"{count:,} {'without ending' if kind == _NO_ENDING else kind}" for kind, count in _most(kinds))
    found = f"only other files ({shown})" if kinds else "the folder is empty"
    problem = f"{url}: no images found, {found}"
    archives = [path for path in paths if path.lower().endswith(_ARCHIVES)]
    if archives:
        names = archives[:_KINDS_SHOWN]
        splits = {name: split for name in archives if (split := split_of_folder(stem_of(name)))}
        if len({*splits.values()}) == len(splits) > 1 and not Opening(folder).is_in_archive:
            sources = tuple(f"{split}={url}/{name}" for name, split in splits.items())
            change = Change(f"{' and '.join(map(printable, splits))} are the splits", sources=sources)
            return RefusalError(problem, [change])
        commands = [Change(f"the images are in {printable(name)}", sources=(f"{url}/{name}",)) for name in names]
        return RefusalError(problem, commands)
    if form := data_format(folder, paths):
        return form.refusal(problem)
    return DataError(f"{problem}; {_remedy(kinds, paths)}")


def _most(kinds: Counter[str]) -> list[tuple[str, int]]:
    return sorted(kinds.items(), key=lambda one: (-one[1], one[0]))[:_KINDS_SHOWN]


def _remedy(kinds: Counter[str], paths: list[str]) -> str:
    if any(kind in _PACKED for kind in kinds):
        return "unpack them, then give the folder with the images"
    if any(kind in _RECORDS for kind in kinds):
        return "give the folder that has the TFRecord files, itself or in split folders, and no images next to them"
    foreign = next((problem for path in paths if (problem := unsupported_format(path))), None)
    if foreign is not None:
        return f"{foreign.key}: {foreign.message}"
    if any(kind in _ARRAYS for kind in kinds) or kinds[_NO_ENDING]:
        return "images inside arrays or databases are not read; write each image to a file, such as PNG"
    return "give the folder that holds the images"
