"""Open the tables of a folder that no layout recognises, if they say what the images are.

A table does if it names images and has a column of labels that does not repeat the folders. Next to folders that may be
classes, the column must have a usual name for labels: others say which camera took an image.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from shardkit.errors import CallError, DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import printable
from shardkit.refusals import UnrecognisedError
from shardkit.sources.engine.labels.reading import INDICATORS, word_of
from shardkit.sources.engine.opening import open_reading
from shardkit.sources.engine.paths import shared_folder
from shardkit.sources.engine.splits import split_of_file
from shardkit.sources.formats.column_names import LABEL_COLUMNS, LIKELY_LABEL_COLUMNS, named_like
from shardkit.sources.formats.tables.opening import open_list_files, read_prefix
from shardkit.sources.formats.tables.text_files import TEXT_ENDINGS, open_names
from shardkit.sources.known.finding import find_known, open_known, refusal_of_known
from shardkit.sources.listing import Source
from shardkit.sources.name_index import written_path
from shardkit.sources.options import Opening
from shardkit.sources.readings.values import Column, Images, Labels, Reading
from shardkit.sources.recognising.claims.collecting import NamingFile, naming_files
from shardkit.sources.recognising.claims.image_names import ImageNames
from shardkit.sources.recognising.class_names import names_file_of
from shardkit.sources.recognising.folders.class_folders import label_folders, open_class_folders
from shardkit.sources.recognising.folders.split_folders import splits_of
from shardkit.sources.recognising.split_lists import own_columns, several_lists, without_whole
from shardkit.sources.recognising.tables.layout import FoundTables, open_tables_in, relative
from shardkit.sources.walking import folders_in, is_image
from shardkit.storage import Folder, open_folder

_USUAL_LABELS = (*LABEL_COLUMNS, *LIKELY_LABEL_COLUMNS)
_MAX_SHOWN = 3


class IsReadWithout(Exception):  # noqa: N818 - no error: the source is opened again without them
    """A tree is read without some of its folders and files.

    Attributes:
        globs: What hides them, as for `ignore`.
        why: Why, as the end of a sentence with them.
    """

    def __init__(self, globs: tuple[str, ...], why: str) -> None:
        """Keep the globs and the reason."""
        super().__init__(globs, why)
        self.globs = globs
        self.why = why


def open_table(opening: Opening) -> Source:
    """Open a table; or that in a folder or archive, whatever the folders may mean."""
    return _open_table(opening, ("",))


def _open_table(opening: Opening, endings: tuple[str, ...]) -> Source:
    folder, options = opening.folder, opening.options
    if opening.file is not None:
        found = open_tables_in(folder, [opening.file], options, is_file=True)
        if opening.file.lower().endswith(TEXT_ENDINGS):  # lists have numbers, and the names are beside them
            found = _with_names(opening, found)
        return source_of(opening, found)
    tables = [one for one in tables_of(folder, opening.excluded, is_explicit=True) if one.path.endswith(endings)]
    if not tables:
        msg = f"{folder.url}: there is no table in it that names images below it; give the table's file as SOURCE"
        raise CallError(msg)
    return open_tables(opening, tables)


def is_well_known(folder: Folder) -> bool:
    """Return whether a folder is a dataset that this package knows by its files."""
    return find_known(folder) is not None or refusal_of_known(folder) is not None


def open_lists(opening: Opening) -> Source:
    """Open a well-known dataset, the lists of a folder, or one list: tables whose lines name an image and its class.

    The classes of a list of names are folders of their paths; lists of names divide class folders.
    """
    folder = opening.folder
    if opening.file is not None:
        return _of_names(opening, opening.file) or open_table(opening)
    if known := find_known(folder):
        return open_known(opening, known)
    if refusal := refusal_of_known(folder):
        raise refusal
    files = naming_files(folder, opening.excluded, ImageNames(folder, opening.excluded))
    lists = [one for one in files if one.file is not None and one.path.lower().endswith(TEXT_ENDINGS)]
    if not lists:
        msg = (
            f"{folder.url}: there is no list that names its images; a list is a .txt file with lines such as "
            "'cats/1.jpg 0' or 'cats/1.jpg', called train.txt and test.txt if there are several"
        )
        raise DataError(msg)
    has_labels = any(one.others for one in lists)
    return _open_table(opening, TEXT_ENDINGS) if has_labels else open_class_folders(opening)


def _of_names(opening: Opening, path: str) -> Source | None:
    """Return the source of a list of names, whose classes are the first folders that differ; None for another file."""
    file = open_names(opening.folder, path)
    names = [written_path(record.values[0]) for record in read_prefix(file)]
    if not all(map(is_image, names)) or any(len(one.columns) > 1 for one in open_list_files(opening.folder, path)):
        return None
    every = (written_path(record.values[0]) for record in file.all_records() if record.problem is None)
    shared = len(shared_folder(every))
    parts = [name.split("/")[shared:] for name in names]
    has_letters = all(len(one) > 1 and one[0].lower() == one[1][:1].lower() for one in parts)  # SUN397's a/abbey/
    if has_letters or not any(len(one) > 1 for one in parts):
        what = "it contains no labels, and the folders of the images are no classes"
        raise DataError(f"{file.url}: {what}; write a CSV file with the header image,label")
    titles = "".join(f"{re.escape(title.strip())}|" for title in file.titles())
    higher, part = r"(?:\.?[/\\])*", r"[^/\\]+"
    expression = rf"{titles}(?P<image>(?:{higher}(?:{part}[/\\]){{{shared}}}(?P<label>{part})[/\\])?.+)"
    folder = opening.folder if opening.options.root is None else open_folder(opening.options.root)
    origin = Column(("label",), (path,), ("image",), lines={"*": expression})
    reading = Reading(Images(relative(opening.folder, folder), unnamed="ignore"), Labels(origin, "class"))
    remark = "; the class is a folder of the path"
    return open_reading(opening, reading, name=LAYOUTS["list"].title, is_strict=False, remark=remark)


def _with_names(opening: Opening, found: FoundTables) -> FoundTables:
    """Return tables with the file that names their numbers, unless the user does."""
    if opening.options.classes is not None:
        return found
    names, unused = names_file_of(opening.folder, found.files, found.columns.labels)
    return replace(found, names=names, unused_names=unused)


def tables_of(folder: Folder, excluded: str | None, *, is_explicit: bool = False) -> list[NamingFile]:
    """Return the tables in a folder that say what its images are; those in folders below if it has none itself."""
    names = ImageNames(folder, excluded)
    files = [one for one in naming_files(folder, excluded, names) if one.file is not None]
    folders = label_folders(folder, "", excluded)
    are_splits = len(splits_of(folders)) == len(folders)
    found = [
        one
        for one in files
        if (one.others if is_explicit else _has_labels(one, may_be_classes=len(folders) > 1, are_splits=are_splits))
    ]
    # A list of one split may repeat folders, and that of another one says more.
    alike = {tuple(one.titles) for one in found if split_of_file(one.path)}
    rest = [one for one in files if split_of_file(one.path) and tuple(one.titles) in alike and not _is_form(one)]
    found = [one for one in files if one in found or (one in rest and one.may_be_labels(one.others))]
    here = [one for one in found if "/" not in one.path]
    return here or (found if is_explicit or len(folders_in(folder)) > 1 else [])  # the only folder is opened alone


def _has_labels(one: NamingFile, *, may_be_classes: bool, are_splits: bool) -> bool:
    labels = own_columns(one)
    if _is_form(one) or not one.may_be_labels(labels):
        return False
    # Roboflow's _classes.csv in each folder of a split has a column of 0 and 1 for each class.
    words = {word_of(row[i]) for row in one.rows for i in labels}
    are_marks = are_splits and len(labels) > 1 and words <= INDICATORS.keys()
    return not may_be_classes or are_marks or bool(named_like([one.titles[i] for i in labels], _USUAL_LABELS))


def _is_form(one: NamingFile) -> bool:
    """Return whether a table is that of a competition, to be filled in."""
    return "submission" in one.path.lower()


def source_of(opening: Opening, found: FoundTables) -> Source:
    """Return the source that reads found tables."""
    reading = replace(found.reading(opening.folder), classes=opening.options.classes or ())
    return open_reading(opening, reading, name=found.layout, is_strict=False, remark=found.remark)


def open_tables(opening: Opening, tables: Sequence[NamingFile]) -> Source:
    """Open the tables that are the source: one, or several with the same columns for different images."""
    folder, options, first = opening.folder, opening.options, tables[0]
    # Where several images have the name, another column may have their folder.
    if options.image_column is None and all(len(found.paths) == 1 for found in first.found.values()):
        options = replace(options, image_column=first.titles[first.column])
    if not options.label_columns and len(first.others) == 1:
        options = replace(options, label_columns=(first.titles[first.others[0]],))
    splits = _splits_of([one.path for one in tables]) if len(tables) > 1 else {}
    tables = [one for one in tables if one.path in without_whole(splits)] if splits else tables
    if len({*splits.values()} - {None}) > 1:  # all.txt next to train.txt and val.txt
        tables = [one for one in tables if splits[one.path]]
    paths = [one.path for one in tables]
    splits = {path: splits[path] for path in paths if path in splits}
    images = [path for one in tables for found in one.found.values() for path in found.paths]
    are_alike = len({tuple(one.titles) for one in tables}) == 1
    are_of_splits = None not in splits.values() and len({*splits.values()}) == len(paths)
    are_apart = are_of_splits or len({*images}) == len(images)
    if splits and are_alike and not are_apart and None not in splits.values():
        raise several_lists(opening, splits)
    if len(tables) > 1 and not (are_alike and are_apart):
        shown = " and ".join(map(printable, paths[:_MAX_SHOWN]))
        raise UnrecognisedError(f"{opening.url}: {shown} all name images, and differ in what they say")
    found = open_tables_in(folder, paths, options, splits=[*splits.values()])
    return source_of(opening, _with_names(opening, found))


def _splits_of(paths: Sequence[str]) -> dict[str, str | None]:
    by_folder = splits_of([path.rpartition("/")[0].rpartition("/")[2] for path in paths])
    return {path: split_of_file(path) or by_folder.get(path.rpartition("/")[0].rpartition("/")[2]) for path in paths}
