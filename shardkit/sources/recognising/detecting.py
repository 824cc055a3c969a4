"""Detect the layouts whose files a folder has, in the order of the registry, and that of a file that is SOURCE."""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from shardkit.errors import CallError, DataError
from shardkit.layouts import LAYOUTS, Layout
from shardkit.options.words import named
from shardkit.record_sources.hf_parquet_columns import has_embedded_images
from shardkit.record_sources.tfrecord.files import is_tfrecord_file
from shardkit.sources.formats.tables.json_files import json_kind
from shardkit.sources.options import Opening
from shardkit.sources.recognising.detection.box_tables import holds_boxes
from shardkit.sources.recognising.detection.of_many_images import is_box_json, is_export, refuse_other_export
from shardkit.sources.recognising.folders.data_formats import refuse_data_file
from shardkit.storage import Folder


def recognising_layouts(folder: Folder) -> Iterator[Layout]:
    """Yield the layouts that recognise a folder by its files, the one that reads it first."""
    tried = [(row.name, row.recognise) for row in LAYOUTS.values()]
    tried += [(row.name, row.recognise_last) for row in LAYOUTS.values()]
    return (name for name, function in tried if function and function_of(function)(folder))


def function_of(name: str) -> Callable[..., Any]:
    """Return a function that a row of the layouts names."""
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(import_module(f"shardkit.{module}"), function)
    return found


def layout_of_file(opening: Opening, name: str) -> Layout:
    """Return the layout of a file that is the source: by its ending, unless its content is another layout's."""
    folder, options, kind = opening.folder, opening.options, name.lower()
    by_ending = next((row.name for row in LAYOUTS.values() if kind.endswith(row.endings or ())), None)
    if options.layout is None and kind.endswith(".json") and json_kind(folder, name) is not None:
        by_ending = "table"
    layout = options.layout or by_ending
    if layout == "table" and kind.endswith(".parquet") and has_embedded_images(folder, name, options.image_column):
        layout = "hf-parquet"
    if layout == "table" and options.layout is None and holds_boxes(folder, name):
        layout = "box-table"
    if kind.endswith(".json") and options.layout is None and is_export(folder, name):
        layout = "label-studio"
    if options.layout is None and is_box_json(folder, name):
        layout = "box-json"
    if options.layout is None:
        refuse_other_export(folder, name)
        refuse_data_file(folder, name)
    if layout is None and is_tfrecord_file(folder, name):
        layout = "tfrecord"
    if layout is None:
        msg = (
            f"{folder.url}/{name}: shardkit does not know how to read this file; SOURCE is a folder, a table "
            f"({', '.join(LAYOUTS['table'].endings or ())}), a list (.txt), a label file (COCO or Label Studio .json, "
            "CVAT .xml, YOLO .yaml), a TFRecord file or an archive (.zip, .tar, .tar.gz, .7z, …); `shardkit help "
            "layouts` describes all layouts"
        )
        raise DataError(msg)
    if LAYOUTS[layout].endings is None:
        msg = f"{folder.url}/{name}: this is a file; with {named('layout', layout)}, SOURCE is a folder"
        raise CallError(msg)
    return layout
