"""Boxes in files whose format nobody entered: JSON, JSON Lines, YAML, XML, and texts of one image.

What was inferred is said; where it is not certain, the source is refused.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.naming import printable
from shardkit.refusals import RefusalError
from shardkit.sources.context import Opening
from shardkit.sources.engine.box_table_opening import box_records
from shardkit.sources.formats.inferred.format import IMAGE_BOXES, options_of
from shardkit.sources.formats.inferred.reading import Reading, name_of
from shardkit.sources.formats.inferred.trees import records
from shardkit.sources.formats.record import ONE_CLASS, encodable
from shardkit.sources.formats.registry import BOX_RECORDS
from shardkit.sources.formats.vendors.formats import JsonFormat
from shardkit.sources.listing import Source
from shardkit.sources.name_index import NameIndex
from shardkit.sources.recognising.detection.box_json.layout import open_files
from shardkit.sources.recognising.detection.box_tables.layout import open_tables
from shardkit.sources.recognising.detection.box_tables.tables import open_records
from shardkit.sources.recognising.detection.found_files import open_image_files
from shardkit.sources.recognising.detection.inferred.finding import Inferred, find_inferred
from shardkit.sources.recognising.folders.source_place import SourcePlace
from shardkit.sources.walking import join


def open_found(opening: Opening, only: Sequence[str] | None = None, without: str = "") -> Source | None:
    """Return the source of files of boxes below a folder; None if there are none whose boxes fit the images."""
    found = find_inferred(opening.folder, opening.excluded, only, without)
    if found is None:
        return None
    where = f"{opening.folder.url}: the boxes in {found.paths[0] if found.paths else f'*{found.kind}'}"
    _refuse_uncertain(where, found)
    reading, column = _with_class(where, found.readings[0], opening)
    if not found.paths:
        return _open_files_of_images(opening, found, reading, column)
    if found.has_box_each:
        return _open_table(opening, found, reading, column)
    kind = JsonFormat(
        f"{found.kind[1:].upper()} of boxes",
        (found.kind,),
        b"",
        (),
        partial(records, kind=found.kind, inside=found.inside),
        reading.parse,
        reading.describe(),
    )
    options = options_of(reading, found.kind, found.inside)
    return open_files(opening, found.paths, kind, LAYOUTS["boxes"].title, options)


def _open_files_of_images(opening: Opening, found: Inferred, reading: Reading, column: str | None) -> Source:
    """Return the source of files of one image each."""
    options = {**options_of(reading, found.kind, None), "splits": "folders"} | ({"class": column} if column else {})
    of_class = f"class: {printable(column)}" if column else f"all of the class {ONE_CLASS!r}"
    remark = f"; {reading.describe()}; {of_class}"
    globs = [join(place, f"*{found.kind}") for place in found.places]
    return open_image_files(opening, IMAGE_BOXES.name, LAYOUTS["boxes"].title, globs, options, remark=remark)


def _open_table(opening: Opening, found: Inferred, reading: Reading, column: str | None) -> Source:
    """Return the source of files with a record for each box."""
    folder, options = opening.folder, opening.options
    names = NameIndex(folder)
    told = {**options_of(reading, found.kind, found.inside), **({"class": column} if column else {})}
    opened = []
    for path in found.paths:
        file = box_records(folder, path, told)
        root, table = open_records(folder, file, file.box_columns, options, names, may_leave=False)
        opened.append((root, replace(table, options={**told, **table.options})))
    return open_tables(opening, BOX_RECORDS, LAYOUTS["boxes"].title, opened)


def open_boxes(opening: Opening) -> Source:
    """Open a folder whose layout the user names."""
    source = open_found(opening)
    if source is None:
        msg = (
            f"{opening.folder.url}: there is no file of boxes (.json, .jsonl, .yaml, .xml, or a .txt for each image) "
            "whose records name images and whose boxes lie within them"
        )
        raise DataError(msg)
    return source


def _refuse_uncertain(where: str, found: Inferred) -> None:
    """Refuse boxes that are guesses, or that can be read in several ways."""
    if found.guesses:
        msg = f"{where} are guesses of a model, not labels: {printable(found.guesses)!r} says how sure it is"
        raise DataError(msg)
    if found.scale is not None:
        msg = (
            f"{where} may be in pixels or in fractions of the sides times {found.scale:g}: no number is larger, and "
            "all images are; write them in pixels"
        )
        raise DataError(msg)
    if len(found.readings) > 1:
        ways = " or ".join(dict.fromkeys(f"{one.box.name} as {one.unit}" for one in found.readings))
        msg = f"{where} can be read in {len(found.readings)} ways that fit the images: {ways}"
        remedy = "write them as xmin, ymin, xmax, ymax of a table with a row for each box, or remove the other fields"
        raise DataError(f"{msg}; {remedy}")


def _with_class(where: str, reading: Reading, opening: Opening) -> tuple[Reading, str | None]:
    """Return a reading with the one field that gives the class, and its name; None if all are of one class."""
    names = {encodable(name_of(way)): way for way in reading.classes}
    if chosen := opening.options.label_columns:
        if chosen[0] not in names:
            given = ", ".join(map(repr, names)) or "none"
            msg = f"{where} have no class by the name {chosen[0]!r}; there are {given}"
            raise DataError(msg)
        return replace(reading, classes=(names[chosen[0]],)), chosen[0]
    if not reading.is_usual and opening.options.layout is not None:
        return replace(reading, classes=()), None  # what the command below says
    if len(names) > 1 or (names and not reading.is_usual):
        place = SourcePlace(opening.url, in_archive=opening.is_in_archive, ignored=opening.options.ignore)
        commands = [
            place.whole({"layout": "boxes", "label_columns": (name,)}, f"{printable(name)} is the class")
            for name in names
        ]
        if not reading.is_usual:
            commands.append(place.whole({"layout": "boxes"}, f"all boxes are of the class {ONE_CLASS!r}"))
        fields = "a field" if len(names) == 1 else f"{len(names)} fields"
        raise RefusalError(f"{where} have {fields} that may give the class", commands)
    return reading, next(iter(names), None)
