"""Decide the role of each column of a table, from its name, the first records and the user's options."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from shardkit.errors import DataError, UnknownNameError
from shardkit.options.words import named
from shardkit.sources.engine.columns import Columns
from shardkit.sources.engine.labels.kinds import ReadAll, decide_labels
from shardkit.sources.engine.splits import assigns_splits, is_split_column, numbers_of_splits
from shardkit.sources.engine.table_names import JoinedNames, refuse_lost_zeros
from shardkit.sources.formats.box_tables.columns import is_box_table
from shardkit.sources.formats.column_names import (
    IMAGE_COLUMNS,
    LABEL_COLUMNS,
    LIKELY_IMAGE_COLUMNS,
    LIKELY_SPLIT_COLUMNS,
    SPLIT_COLUMNS,
    named_like,
    plain,
)
from shardkit.sources.formats.tables.opening import Choice, refuse
from shardkit.sources.formats.tables.records import Record, TableFile, enumerated
from shardkit.sources.options import SourceOptions
from shardkit.sources.recognising.claims.collecting import Head, NamingFile, best_column, look_up
from shardkit.sources.recognising.claims.image_names import ImageNames
from shardkit.sources.recognising.tables.label_columns import find_labels
from shardkit.sources.recognising.tables.places import are_relative
from shardkit.sources.walking import files_below, is_image

_BOX_COLUMNS = (("xmin", "ymin", "xmax", "ymax"), ("x1", "y1", "x2", "y2"))  # '_' and case are ignored
USUAL_OBJECTS = {"objects", "bbox", "bboxes", "boxes"}
_NUM_LOOKED_UP = 100  # records whose values are looked up among the names of images


def find_columns(
    file: TableFile,
    prefix: Sequence[Record],
    options: SourceOptions,
    read_all: ReadAll,
    *,
    near: Callable[[], Iterable[ImageNames]],
    source: str | None = None,
) -> Columns:
    """Decide the role of each column from its name and the first records, and types of features from all records.

    `near` yields the images that the table may name.
    """
    if not options.label_columns:
        _refuse_boxes(file, options)
    if options.image_column:
        image = _named(file, options.image_column)
    else:
        image = _find_image(file, prefix, near, source or file.url)
    return find_other_columns(image, file, prefix, options, read_all, source=source, is_asked=True)


def find_other_columns(
    image: int,
    file: TableFile,
    prefix: Sequence[Record],
    options: SourceOptions,
    read_all: ReadAll,
    *,
    usual_splits: bool = True,
    source: str | None = None,
    is_asked: bool = False,
) -> Columns:
    """Decide the roles of the columns other than the column of images; see `find_labels`."""
    chosen = tuple(_named(file, name) for name in options.label_columns)
    if not chosen and not named_like(file.columns, LABEL_COLUMNS) and USUAL_OBJECTS & {*map(plain, file.columns)}:
        msg = (
            f"{file.url}: none of the columns {_listed(file)} has a usual name for labels; name it with "
            f"{named('label_columns')}"
        )
        raise DataError(f"{msg}; {_no_boxes()}")
    if options.split_column:
        split: int | None = _named(file, options.split_column)
    else:
        split = _split(file, prefix) if usual_splits else None
    group = file.columns.index(options.group_by) if options.group_by in file.columns else None
    where = source or file.url
    if chosen:
        labels = decide_labels(file, prefix, chosen, options, read_all, where)
    else:
        of_name = file.joined if isinstance(file, JoinedNames) else ()
        taken = {split, group, *of_name}
        labels = find_labels(file, prefix, image, taken, options, read_all, where, is_asked=is_asked)
    if split in {image, *labels.columns}:
        split = None
    roles = {image, *labels.columns, split, group}
    others = [i for i, name in enumerate(file.columns) if i not in roles and name]
    types = file.types(prefix, others)
    if open_ := frozenset(i for i in others if file.may_widen(types[i])):
        types |= file.types(read_all(open_), open_)
    return Columns(
        names=file.columns,
        image=image,
        labels=labels,
        split=split if split is None or assigns_splits(file, prefix, split) else None,
        discards=split,
        group=group,
        features=tuple((i, type_) for i in others if (type_ := types[i]) is not None),
        left_out=tuple(i for i in others if types[i] is None),
        holds_text=file.holds_text,
        split_numbers={} if split is None else numbers_of_splits(file, split, _values(prefix, split)),
    )


def _find_image(
    file: TableFile, prefix: Sequence[Record], near: Callable[[], Iterable[ImageNames]], source: str
) -> int:
    """Return the column of images: the one that names most of them, or one of a usual name."""
    rows = [record.values for record in prefix[:_NUM_LOOKED_UP]]
    usual = named_like(file.columns, IMAGE_COLUMNS)
    likely = named_like(file.columns, LIKELY_IMAGE_COLUMNS)
    if len(usual) == 1 and not [i for i in likely if i not in usual]:
        return usual[0]
    for names in near():
        for one in look_up([Head(file.path, file.columns, file, rows, is_whole=False)], names):
            if one.column in usual:
                _refuse_rivals(file, one, [i for i in usual if i != one.column], names, source)
            return one.column
    others = [i for i, name in enumerate(file.columns) if name]
    for i in (*usual, *likely, *others):
        texts = [str(row[i]) for row in rows]
        if i in usual or (all(map(is_image, texts)) and not are_relative(texts)):  # paths of another machine
            return i
    named_files = (path for path, entry in files_below(file.folder, "") if is_image(entry.name))
    refuse_lost_zeros(file, others, named_files)
    why = "has a usual name for image paths"
    if likely:
        listed = enumerated([repr(file.columns[i]) for i in likely])
        why += f", and values of {listed} name no files in {file.folder.url} or near it"
    msg = (
        f"{file.url}: none of the columns {_listed(file)} {why}; name the column with {named('image_column')}, and the "
        f"folder of its images with {named('root')}"
    )
    raise DataError(msg)


def _refuse_rivals(file: TableFile, one: NamingFile, others: Sequence[int], names: ImageNames, source: str) -> None:
    """Refuse a table with two columns of usual names that name as many images, and not the same ones."""
    for i in others:
        rival = best_column([file.columns[i]], [[row[i]] for row in one.rows], names)
        if rival and len(rival[1]) == len(one.found) and rival[1] != one.found:
            columns = [file.columns[one.column], file.columns[i]]
            problem = f"{file.url}: {' or '.join(map(repr, columns))} may be the image column"
            choices = [Choice({"image_column": name}, f"the image is in column {name!r}") for name in columns]
            raise refuse(problem, source, choices)


def _no_boxes() -> str:
    wanted = named("layout", "box-table")
    return f"boxes are not read here; use COCO JSON, or a table with one row per box ({wanted})"


def _refuse_boxes(file: TableFile, options: SourceOptions) -> None:
    """Refuse a table with one record per box: all records of an image but the first would be rejected."""
    names = {plain(name): name for name in file.columns}
    if found := next((sides for sides in _BOX_COLUMNS if names.keys() >= set(sides)), None):
        sides = ", ".join(repr(names[side]) for side in found)
        of_table = f"to read them, add {named('boxes', f'box-table:{file.path}')}"
        boxes = of_table if is_box_table(file.columns) else _no_boxes()
        if options.layout == "table":
            boxes = f"this looks like a table of boxes; leave out {named('layout', 'table')} to read the boxes"
        msg = (
            f"{file.url}: {sides} are boxes; {boxes}, or name the column of the image's class with "
            f"{named('label_columns')}"
        )
        raise DataError(msg)


def _split(file: TableFile, prefix: Sequence[Record]) -> int | None:
    """Return the column with a usual name of splits, or one that holds nothing but splits."""
    if usual := named_like(file.columns, SPLIT_COLUMNS):
        return usual[0]
    likely = named_like(file.columns, LIKELY_SPLIT_COLUMNS)
    others = [i for i, name in enumerate(file.columns) if name and i not in likely]
    return next((i for i in (*likely, *others) if is_split_column(file, i, _values(prefix, i))), None)


def _values(prefix: Sequence[Record], column: int) -> list[Any]:
    return [record.values[column] for record in prefix]


def _named(file: TableFile, name: str) -> int:
    if name not in file.columns:
        msg = f"{file.url}: there is no column {name!r}; there are {_listed(file)}"
        raise UnknownNameError(msg)
    return file.columns.index(name)


def _listed(file: TableFile) -> str:
    return enumerated([repr(name) for name in file.columns if name])
