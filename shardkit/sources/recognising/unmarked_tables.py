"""Open the tables of a folder that no layout recognises, if they say what the images are.

A table does if it names images and has a column of labels that does not repeat the folders. Next to folders that may be
classes, the column must have a usual name for labels: others say which camera took an image.
"""

from collections.abc import Sequence
from dataclasses import replace

from shardkit.errors import CallError, DataError
from shardkit.naming import printable
from shardkit.refusals import UnrecognisedError
from shardkit.sources.context import Opening
from shardkit.sources.engine.opening import open_reading
from shardkit.sources.engine.split_columns import split_of_file
from shardkit.sources.formats.column_names import LABEL_COLUMNS, LIKELY_LABEL_COLUMNS, named_like
from shardkit.sources.formats.tables.opening import open_table_file, read_prefix
from shardkit.sources.listing import Source
from shardkit.sources.options import SourceOptions
from shardkit.sources.recognising.claims.collecting import NamingFile, naming_files
from shardkit.sources.recognising.claims.image_names import ImageNames
from shardkit.sources.recognising.folders.class_folders import label_folders
from shardkit.sources.recognising.folders.split_folders import splits_of
from shardkit.sources.recognising.lists.class_names import names_file_of
from shardkit.sources.recognising.split_lists import own_columns
from shardkit.sources.recognising.tables.layout import FoundTables, open_tables_in
from shardkit.sources.recognising.wrapped_source import NotedSource
from shardkit.sources.walking import file_or_folder, folders_in, join
from shardkit.storage import Folder

_USUAL_LABELS = (*LABEL_COLUMNS, *LIKELY_LABEL_COLUMNS)
_MAX_SHOWN = 3
_ROBOFLOW, _ROBOFLOW_IMAGE = "_classes.csv", "filename"


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
    if opening.file is not None:
        return source_of(opening, open_tables_in(opening.folder, [opening.file], opening.options))
    tables = tables_of(opening.folder, opening.excluded, is_explicit=True)
    if not tables:
        msg = (
            f"{opening.folder.url}: there is no table in it that names images below it; give the table's file as SOURCE"
        )
        raise CallError(msg)
    return open_tables(opening, tables)


def tables_of(folder: Folder, excluded: str | None, *, is_explicit: bool = False) -> list[NamingFile]:
    """Return the tables in a folder that say what its images are; those in folders below if it has none itself."""
    names = ImageNames(folder, excluded)
    files = [one for one in naming_files(folder, excluded, names) if one.file is not None]
    may_be_classes = len(label_folders(folder, "", excluded)) > 1
    found = [one for one in files if (one.others if is_explicit else _has_labels(one, must_be_usual=may_be_classes))]
    here = [one for one in found if "/" not in one.path]
    return here or (found if is_explicit or len(folders_in(folder)) > 1 else [])  # the only folder is opened alone


def _has_labels(one: NamingFile, *, must_be_usual: bool) -> bool:
    labels = own_columns(one)
    titles = [one.titles[i] for i in labels]
    is_form = "submission" in one.path.lower()  # of a competition, to be filled in
    return not is_form and one.may_be_labels(labels) and bool(not must_be_usual or named_like(titles, _USUAL_LABELS))


def source_of(opening: Opening, found: FoundTables) -> Source:
    """Return the source that reads found tables."""
    reading = replace(found.reading(opening.folder), classes=opening.options.classes or ())
    return open_reading(opening, reading, name=found.layout, is_strict=False, remark=found.remark)


def open_tables(opening: Opening, tables: Sequence[NamingFile]) -> Source:
    """Open the tables that are the source: one, or several with the same columns for different images."""
    folder, options, first = opening.folder, opening.options, tables[0]
    if options.image_column is None:
        options = replace(options, image_column=first.titles[first.column])
    if not options.label_columns and len(first.others) == 1:
        options = replace(options, label_columns=(first.titles[first.others[0]],))
    paths = [one.path for one in tables]
    splits = _splits_of(paths) if len(tables) > 1 else {}
    images = [path for one in tables for found in one.found.values() for path in found.paths]
    are_alike = len({tuple(one.titles) for one in tables}) == 1
    are_of_splits = None not in splits.values() and len({*splits.values()}) == len(paths)
    are_apart = are_of_splits or len({*images}) == len(images)
    if len(tables) > 1 and not (are_alike and are_apart):
        shown = " and ".join(map(printable, paths[:_MAX_SHOWN]))
        raise UnrecognisedError(f"{opening.url}: {shown} all name images, and differ in what they say")
    found = open_tables_in(folder, paths, options, splits=[*splits.values()])
    if options.classes is None:
        names, unused = names_file_of(folder, found.files[0], found.columns.labels)
        found = replace(found, names=names, unused_names=unused)
    why = f"that {first.path} does not name" if len(tables) == 1 else "that no table names"
    return _counting_others(source_of(opening, found), folder, tables, why)


def open_roboflow_classes(folder: Folder, options: SourceOptions) -> FoundTables | None:
    """Open Roboflow's multi-label export: ``_classes.csv`` in each split folder, with a column of 0 and 1 a class.

    None if there is no such file.
    """
    splits = {join(name, _ROBOFLOW): split for name, split in splits_of(folders_in(folder)).items()}
    splits = {path: split for path, split in splits.items() if file_or_folder(folder, path) is not None}
    if not splits:
        return None
    columns = open_table_file(folder, next(iter(splits)), options).columns
    if _ROBOFLOW_IMAGE in columns and not options.label_columns:
        labels = tuple(name for name in columns if name not in {_ROBOFLOW_IMAGE, ""})
        options = replace(options, image_column=_ROBOFLOW_IMAGE, label_columns=labels)
    found = open_tables_in(folder, [*splits], options, splits=[*splits.values()])
    for file in found.files:
        for record in read_prefix(file):  # other values would become classes
            for name, value in zip(file.columns, record.values, strict=True):
                if name in options.label_columns and str(value).strip() not in {"0", "1"}:
                    msg = (
                        f"{file.url}: line {record.line} has {value!r} for the class {name!r}; it is 0 or 1: correct it"
                    )
                    raise DataError(msg)
    return found


def _counting_others(source: Source, folder: Folder, tables: Sequence[NamingFile], why: str) -> Source:
    """Return a source that counts the images in folders of which no image is named."""
    used = {
        path.rpartition("/")[0].partition("/")[0]
        for one in tables
        for each in one.found.values()
        for path in each.paths
    }
    unused = () if "" in used else tuple(name for name in folders_in(folder) if name not in used)
    return NotedSource(source.folder, source, "", folder, unused, why) if unused else source


def _splits_of(paths: Sequence[str]) -> dict[str, str | None]:
    by_folder = splits_of([path.rpartition("/")[0].rpartition("/")[2] for path in paths])
    return {path: split_of_file(path) or by_folder.get(path.rpartition("/")[0].rpartition("/")[2]) for path in paths}
