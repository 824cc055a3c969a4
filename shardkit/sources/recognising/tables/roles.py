"""Decide the role of each column of a table, from its name, the first records and the user's options."""

from collections.abc import Callable, Sequence
from typing import Any

from shardkit.errors import CallError, DataError, ShardkitError, UnknownNameError
from shardkit.options.words import named
from shardkit.sources.engine.columns import Columns
from shardkit.sources.engine.joined_names import JoinedNames
from shardkit.sources.engine.labels.kinds import ReadAll, decide_labels
from shardkit.sources.engine.lost_zeros import refuse_lost_zeros
from shardkit.sources.engine.split_columns import assigns_splits, is_split_column, numbers_of_splits
from shardkit.sources.engine.table_refusals import Choice, refuse
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
from shardkit.sources.formats.tables.records import Record, TableFile, enumerated
from shardkit.sources.options import SourceOptions
from shardkit.sources.recognising.tables.label_columns import find_labels
from shardkit.sources.recognising.tables.places import Placement
from shardkit.sources.walking import files_below, is_image

_BOX_COLUMNS = (("xmin", "ymin", "xmax", "ymax"), ("x1", "y1", "x2", "y2"))  # '_' and case are ignored
USUAL_OBJECTS = {"objects", "bbox", "bboxes", "boxes"}
# Returns where the images are that a column names; None if it names none. May raise CallError or DataError.
PlaceColumn = Callable[[int], Placement | None]
_MAX_CHOICES = 4  # commands of a refusal


def find_columns(
    file: TableFile,
    prefix: Sequence[Record],
    options: SourceOptions,
    read_all: ReadAll,
    *,
    place: PlaceColumn,
    source: str | None = None,
) -> Columns:
    """Decide the role of each column from its name and the first records, and types of features from all records.

    `place` returns where the images are that a column names.
    """
    if not options.label_columns:
        _refuse_boxes(file, options)
    if options.image_column:
        image = _named(file, options.image_column)
    else:
        image = _find_image(file, prefix, place, source or file.url)
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


def _find_image(file: TableFile, prefix: Sequence[Record], place: PlaceColumn, source: str) -> int:
    """Return the column of images, by its name and the files that exist."""
    usual = named_like(file.columns, IMAGE_COLUMNS)
    likely = [i for i in named_like(file.columns, LIKELY_IMAGE_COLUMNS) if i not in usual]
    if len(usual) == 1 and not likely:
        return usual[0]
    others = [i for i, name in enumerate(file.columns) if name and i not in [*usual, *likely]]
    others = [i for i in others if _may_be_names([record.values[i] for record in prefix])]
    error: ShardkitError | None = None
    for columns in (usual, likely, others):
        found: dict[int, Placement] = {}
        for i in columns:
            try:
                placement = place(i)
            except (CallError, DataError) as caught:
                error = error or (caught if i not in others else None)
                continue
            if placement and placement.agrees and placement.files not in [one.files for one in found.values()]:
                found[i] = placement
        # A path says which of two files of one name is meant.
        shorter = {i for i in found if any(_ends_with(prefix, other, i) for other in found if other != i)}
        kept = [i for i in found if i not in shorter]
        if len(kept) > 1:
            names = [file.columns[i] for i in kept][:_MAX_CHOICES]
            problem = f"{file.url}: {' or '.join(map(repr, names))} may be the image column"
            choices = [Choice({"image_column": name}, f"the image is in column {name!r}") for name in names]
            raise refuse(problem, source, choices)
        if kept:
            return kept[0]
    if usual:
        return usual[0]
    if error:
        raise error
    named_files = (path for path, entry in files_below(file.folder, "") if is_image(entry.name))
    refuse_lost_zeros(file, [i for i, name in enumerate(file.columns) if name], named_files)
    why = "has a usual name for image paths"
    if likely:
        listed = enumerated([repr(file.columns[i]) for i in likely])
        why += f", and values of {listed} name no files in {file.folder.url} or near it"
    msg = (
        f"{file.url}: none of the columns {_listed(file)} {why}; name the column with {named('image_column')}, and the "
        f"folder of its images with {named('root')}"
    )
    raise DataError(msg)


def _may_be_names(values: Sequence[Any]) -> bool:
    """Return whether values are texts of which few repeat: a class repeats, an image's name does not."""
    return len({value for value in values if isinstance(value, str) and value.strip()}) * 2 >= len(values)


def _ends_with(prefix: Sequence[Record], column: int, other: int) -> bool:
    """Return whether all values of a column are paths that end in the values of another one."""
    pairs = [(str(one.values[column]).replace("\\", "/"), str(one.values[other])) for one in prefix]
    return all(path.endswith(f"/{name}") for path, name in pairs)


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
