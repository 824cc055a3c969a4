"""Open a table by its ending, and read its first records."""

import os
from itertools import islice

from shardkit.errors import DataError, UnknownNameError
from shardkit.layouts import LAYOUTS
from shardkit.naming import first_of
from shardkit.sources.formats.column_names import IMAGE_COLUMNS, LIKELY_IMAGE_COLUMNS, plain
from shardkit.sources.formats.tables.csv_opening import open_csv
from shardkit.sources.formats.tables.json_files import open_json
from shardkit.sources.formats.tables.parquet_files import open_parquet
from shardkit.sources.formats.tables.records import PREFIX_RECORDS, Record, TableFile
from shardkit.sources.formats.tables.text_files import TEXT_ENDINGS, TextFile, open_text
from shardkit.sources.formats.tables.workbooks import WORKBOOK_ENDINGS, open_workbook
from shardkit.sources.options import SourceOptions
from shardkit.storage import Folder, os_errors_as

TABLE_ENDINGS = LAYOUTS["table"].endings or ()
_OTHER_WORKBOOKS = {".xls", ".xlsb", ".numbers"}


def open_table_file(folder: Folder, path: str, options: SourceOptions) -> TableFile:
    """Open a table by its ending."""
    url = f"{folder.url}/{path}"
    kind = os.path.splitext(path)[1].lower()
    if kind in TEXT_ENDINGS:
        columns = {*filter(None, [options.image_column]), *options.label_columns}
        ways = [one for one in open_list_files(folder, path, options) if len(one.columns) > 1]
        chosen = [one for one in ways if columns and columns <= {*one.columns}] or [one for one in ways if one.is_table]
        if not (chosen := chosen or ways):
            msg = f"{url}: its lines are no records of a table, such as 'cats/1.jpg 0', with the same number of fields"
            raise DataError(msg)
        return chosen[0]
    if kind not in {*TABLE_ENDINGS, ".json"}:
        instead = "; save the workbook as .xlsx" if kind in _OTHER_WORKBOOKS else ""
        msg = f"{url}: tables that shardkit reads end in {', '.join(TABLE_ENDINGS)} or .json{instead}"
        raise DataError(msg)
    with os_errors_as("read the table", url):
        found = folder.stat(path)
    if found is None or found.is_folder:
        msg = f"{url}: {'there is no such file' if found is None else 'this is a folder'}; SOURCE is the table's file"
        raise DataError(msg)
    if kind == ".parquet":
        return open_parquet(folder, path)
    if kind in WORKBOOK_ENDINGS:
        return open_workbook(folder, path, _known(options))
    if kind == ".json":
        return open_json(folder, path)
    if kind in {".jsonl", ".ndjson"}:
        return open_json(folder, path, "lines")
    return open_csv(folder, path, tabs=kind == ".tsv", known=_known(options))


def column_index(file: TableFile, name: str) -> int:
    """Return the index of a column."""
    if name not in file.columns:
        columns = first_of([*map(repr, file.columns)], 20)
        msg = f"{file.url}: there is no column {name!r}; its columns are {columns}"
        raise UnknownNameError(msg)
    return file.columns.index(name)


def open_list_files(
    folder: Folder,
    path: str,
    options: SourceOptions = SourceOptions(),  # noqa: B008 - frozen
) -> list[TextFile]:
    """Return the ways to read a text file as a table of names; see open_text."""
    return open_text(folder, path, _known(options))


def _known(options: SourceOptions) -> frozenset[str]:
    named = [options.image_column] if options.image_column else []
    return frozenset(map(plain, [*IMAGE_COLUMNS, *LIKELY_IMAGE_COLUMNS, *named]))


def read_prefix(file: TableFile) -> list[Record]:
    """Return the good records among the first 1,000."""
    first = list(islice(file.all_records(), PREFIX_RECORDS))
    good = [record for record in first if record.problem is None]
    if not good:
        why = f"line {first[0].line}: {first[0].problem}" if first else "only columns"
        msg = f"{file.url}: the table has no records that can be read; {why}"
        raise DataError(msg)
    return good
