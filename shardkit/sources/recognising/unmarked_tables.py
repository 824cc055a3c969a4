"""Open the tables of a folder that no layout recognises, if they say what the images are.

A table does if it names images and has a column of labels that does not repeat the folders. Next to folders that may be
classes, the column must have a usual name for labels: others say which camera took an image.
"""

from collections.abc import Sequence
from dataclasses import replace

from shardkit.errors import CallError
from shardkit.naming import printable
from shardkit.refusals import RefusalError, UnrecognisedError
from shardkit.sources.context import Opening
from shardkit.sources.engine.opening import open_reading
from shardkit.sources.engine.split_columns import split_of_file
from shardkit.sources.formats.column_names import LABEL_COLUMNS, LIKELY_LABEL_COLUMNS, named_like
from shardkit.sources.listing import Source
from shardkit.sources.recognising.claims.collecting import NamingFile, naming_files
from shardkit.sources.recognising.claims.image_names import ImageNames
from shardkit.sources.recognising.folders.class_folders import label_folders
from shardkit.sources.recognising.folders.split_folders import splits_of
from shardkit.sources.recognising.split_lists import own_columns
from shardkit.sources.recognising.split_tables import SplitTables, open_split_tables
from shardkit.sources.recognising.tables.layout import FoundTable, open_table_in
from shardkit.sources.recognising.tables.number_names import names_file_of
from shardkit.sources.recognising.wrapped_source import NotedSource
from shardkit.sources.walking import folders_in
from shardkit.storage import Folder

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
    if opening.file is not None:
        return source_of(opening, open_table_in(opening.folder, opening.file, opening.options))
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


def source_of(opening: Opening, found: FoundTable | SplitTables) -> Source:
    """Return the source that reads found tables."""
    reading = replace(found.reading(opening.folder), classes=opening.options.classes or ())
    remark = found.remark if isinstance(found, FoundTable) else ""
    return open_reading(opening, reading, name=found.layout, is_strict=False, remark=remark)


def open_tables(opening: Opening, tables: Sequence[NamingFile]) -> Source:
    """Open the tables that are the source: one, or several with the same columns for different images."""
    folder, options, first = opening.folder, opening.options, tables[0]
    if options.image_column is None:
        options = replace(options, image_column=first.titles[first.column])
    if not options.label_columns and len(first.others) == 1:
        options = replace(options, label_columns=(first.titles[first.others[0]],))
    if len(tables) == 1:
        found = open_table_in(folder, first.path, options)
        source = source_of(opening, found if options.classes is not None else _with_class_names(found, folder))
        return _counting_others(source, folder, tables, f"that {first.path} does not name")
    paths = [one.path for one in tables]
    splits = _splits_of([*paths])
    images = [path for one in tables for found in one.found.values() for path in found.paths]
    are_alike = len({tuple(one.titles) for one in tables}) == 1
    if not are_alike or not (len({*splits.values()}) == len(paths) or len({*images}) == len(images)):
        shown = " and ".join(map(printable, paths[:_MAX_SHOWN]))
        raise UnrecognisedError(f"{opening.url}: {shown} all name images, and differ in what they say")
    several = open_split_tables(folder, [(path, splits.get(path)) for path in paths], options)
    if options.classes is None:
        named = tuple((split, _with_class_names(one, folder)) for split, one in several.tables)
        several = replace(several, tables=named)
    if None in splits.values() and several.share_images(folder):
        raise RefusalError(f"{opening.url}: {' and '.join(map(printable, paths[:_MAX_SHOWN]))} name the same images")
    return _counting_others(source_of(opening, several), folder, tables, "that no table names")


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


def _with_class_names(table: FoundTable, folder: Folder) -> FoundTable:
    """Return a table whose numbers have the names that a file in a folder gives them, if there is one."""
    names, unused = names_file_of(folder, table.file, table.columns.labels)
    return replace(table, names=names, unused_names=unused)
