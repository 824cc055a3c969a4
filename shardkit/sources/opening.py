"""Open SOURCE: choose the layout that reads it."""

import re
from collections.abc import Callable
from dataclasses import fields, replace
from importlib import import_module
from typing import Any

from shardkit.archives.member_tree import ArchiveFolder, archive_root
from shardkit.archives.tar_folder import TarFolder
from shardkit.archives.zip_folder import ZipFolder
from shardkit.dataset.manifest import find_dataset
from shardkit.errors import CallError, DataError
from shardkit.layouts import LAYOUTS, Layout, layout_of_title
from shardkit.naming import IMAGE_ENDINGS, printable
from shardkit.options.words import named
from shardkit.sources.context import Opening
from shardkit.sources.datasets.opening import refuse_unfinished
from shardkit.sources.detection.box_tables.layout import holds_boxes
from shardkit.sources.detection.label_studio.layout import is_export
from shardkit.sources.detection.other_exports import refuse_other_export
from shardkit.sources.ignoring.filtered_folder import FilteredFolder, IgnoreGlob
from shardkit.sources.ignoring.ignoring_source import IgnoringSource
from shardkit.sources.listing import Source, ending
from shardkit.sources.options import SourceOptions
from shardkit.sources.packed.hf_parquet_columns import has_embedded_images
from shardkit.sources.packed.tfrecord.files import is_tfrecord_file, place_together
from shardkit.sources.packed.webdataset import holds_samples
from shardkit.sources.recognising.accounting import accounted
from shardkit.sources.recognising.unmarked_folders import HasCopies, open_unmarked_folder
from shardkit.sources.recognising.wrapped_source import NotedSource, with_archive_problems
from shardkit.sources.tables.formats.json_files import json_kind
from shardkit.sources.walking import children, join
from shardkit.storage import Folder, open_folder, os_errors_as

_TEXT = re.compile(r"(?:readme|licen[cs]e|citation)[^/]*|.*\.(?:md|pdf|rst|html)", re.IGNORECASE)  # beside an archive
_OF_ALL_LAYOUTS = {"layout", "group_by", "classes", "ignore"}  # options


def open_source(
    url: str,
    options: SourceOptions = SourceOptions(),  # noqa: B008 - frozen
    *,
    output: Folder | None = None,
    work: Folder | None = None,
) -> Source:
    """Detect the layout of a source and open it.

    Args:
        url: A folder, table, list, label file or archive; local, s3:// or gs://.
        options: Options of the source.
        output: The output folder, which is not listed if it is inside the source.
        work: Folder for images that listing has to unpack; required for Parquet files that contain images.

    Raises:
        CallError: The options do not fit the layout.
        DataError: The source does not exist, or has nothing that shardkit can read.
        MachineError: The disk or the network failed.
    """
    if options.layout is None and options.class_level > 1:
        options = replace(options, layout="class-folders")
    folder = open_folder(url)
    opening = Opening(folder, options, url, output=output, work=work)
    is_dataset = options.layout is None and find_dataset(url) is not None
    if options.layout == "shardkit" or is_dataset or (options.also and options.layout not in {None, "tfrecord"}):
        return _open("shardkit", opening)
    globs = tuple(IgnoreGlob(text) for text in options.ignore)
    if options.also:
        folder, paths = place_together((url, *options.also))
        source = _open("tfrecord", replace(opening, folder=_hiding(folder, globs), paths=paths))
    else:
        with os_errors_as("read the source", folder.url):
            source, copies = _open_without_copies(opening, globs)
        globs += copies
    return IgnoringSource(source.folder, source, globs) if globs else source


def _open_without_copies(opening: Opening, globs: tuple[IgnoreGlob, ...]) -> tuple[Source, tuple[IgnoreGlob, ...]]:
    """Return the source without folders that repeat what is next to them, and the globs that hide these."""
    copies: tuple[IgnoreGlob, ...] = ()
    while True:
        try:
            source = _open_one(opening, globs + copies)
        except HasCopies as found:
            copies += tuple(map(IgnoreGlob, found.globs))
            continue
        names = ", ".join(printable(one.text.strip("/")) + "/" for one in copies)
        what = (
            "repeats files next to it and is not read"
            if len(copies) == 1
            else "repeat files next to them and are not read"
        )
        remark = f"; note: {names} {what}"
        return (NotedSource(source.folder, source, remark, source.folder) if copies else source), copies


def _open_one(opening: Opening, globs: tuple[IgnoreGlob, ...]) -> Source:
    folder, url = opening.folder, opening.url
    found = folder.stat("")
    if found is None:
        msg = f"{folder.url}: there is no such file or folder"
        raise DataError(msg)
    if found.is_folder and opening.options.layout is None and (archive := _only_archive(folder, globs)):
        url = join(url.rstrip("/"), archive)
        return _open_one(replace(opening, folder=open_folder(url), url=url), globs)
    if found.is_folder:
        return _open_folder(replace(opening, folder=_hiding(folder, globs)))
    above, _, name = url.rstrip("/").rpartition("/")
    parent = open_folder(above or ("/" if url.startswith("/") else "."))
    kind = name.lower()
    layout = opening.options.layout
    is_tree = kind.endswith(".tar") and layout != "webdataset" and not holds_samples(parent, name)
    if is_tree or kind.endswith(".zip"):
        return _open_archive(TarFolder(url) if is_tree else ZipFolder(url), opening, globs)
    opening = replace(opening, folder=parent, paths=(name,))
    return _open(_layout_of_file(opening, name), opening)


def _only_archive(folder: Folder, globs: tuple[IgnoreGlob, ...]) -> str | None:
    """Return the name of an archive that is all that a folder holds, texts such as README aside; None if none is."""
    files = [entry for entry in children(folder) if not any(glob.matches(entry.name) for glob in globs)]
    archives = [one.name for one in files if not one.is_folder and one.name.lower().endswith((".zip", ".tar"))]
    others = [one.name for one in files if one.name not in archives and not _TEXT.fullmatch(one.name)]
    if len(archives) != 1 or others:
        return None
    is_webdataset = archives[0].lower().endswith(".tar") and holds_samples(folder, archives[0])
    return None if is_webdataset else archives[0]


def _hiding(folder: Folder, globs: tuple[IgnoreGlob, ...], above: str = "") -> Folder:
    return FilteredFolder(folder, globs, above) if globs else folder


def _open_archive(whole: TarFolder | ZipFolder, opening: Opening, globs: tuple[IgnoreGlob, ...]) -> Source:
    archive = _archive_root(whole, opening.options)
    source = _open_folder(replace(opening, folder=_hiding(archive, globs, archive.root)))
    inner = source.folder.inner if isinstance(source.folder, FilteredFolder) else source.folder
    return with_archive_problems(source, inner if isinstance(inner, ArchiveFolder) else archive)


def _archive_root(archive: TarFolder | ZipFolder, options: SourceOptions) -> TarFolder | ZipFolder:
    """Return the archive's only top folder if a layout reads it; it may also be a class or a split."""
    root = archive_root(archive)
    if options.layout == "class-folders":
        entries = children(root)
        is_wrapper = all(ending(one.name) not in IMAGE_ENDINGS for one in entries if not one.is_folder)
        return root if is_wrapper and any(one.is_folder for one in entries) else archive
    if options.layout is None and options.label_pattern is None and _recognise(root) is None:
        return archive
    return root


def _layout_of_file(opening: Opening, name: str) -> Layout:
    """Return the layout of a file that is the source: by its ending, unless its content is another layout's.

    Raises:
        CallError: The user's layout reads folders only.
        DataError: No layout reads the file.
    """
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
    if options.layout is None:
        refuse_other_export(folder, name)
    if layout is None and is_tfrecord_file(folder, name):
        layout = "tfrecord"
    if layout is None:
        msg = (
            f"{folder.url}/{name}: shardkit does not know how to read this file; SOURCE is a folder, a table "
            f"({', '.join(LAYOUTS['table'].endings or ())}), a list (.txt), a label file (COCO or Label Studio .json, "
            "CVAT .xml, YOLO .yaml), a TFRecord file or an archive (.tar, .zip); `shardkit help layouts` describes all "
            "layouts"
        )
        raise DataError(msg)
    if LAYOUTS[layout].endings is None:
        msg = f"{folder.url}/{name}: this is a file; with {named('layout', layout)}, SOURCE is a folder"
        raise CallError(msg)
    return layout


def _open_folder(opening: Opening) -> Source:
    options = opening.options
    layout: Layout | None = options.layout
    if layout is None:
        refuse_unfinished(opening.folder)
    if layout is None and options.label_pattern is not None:
        layout = "file-names"
    if layout is None:
        found = open_unmarked_folder(opening, _recognise)
        if isinstance(found, Source):
            _refuse_unaccepted(layout_of_title(found.layout) or "table", options)
            return accounted(found, opening)
        inner, layout = found
        if layout == "tfrecord":
            refuse_unfinished(inner.folder, has_records=True)
        return accounted(_open(layout, inner), opening)
    return accounted(_open(layout, opening), opening)


def _open(layout: Layout, opening: Opening) -> Source:
    _refuse_unaccepted(layout, opening.options)
    open_layout: Callable[[Opening], Source] = _function(LAYOUTS[layout].open)
    return open_layout(opening)


def _recognise(folder: Folder) -> Layout | None:
    tried = [(row.name, row.recognise) for row in LAYOUTS.values()]
    tried += [(row.name, row.recognise_last) for row in LAYOUTS.values()]
    return next((name for name, function in tried if function and _function(function)(folder)), None)


def _function(name: str) -> Callable[..., Any]:
    """Return a function that a row of the layouts names."""
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(import_module(f"shardkit.sources.{module}"), function)
    return found


def _refuse_unaccepted(layout: Layout, options: SourceOptions) -> None:
    """Refuse options that the layout would ignore.

    Raises:
        CallError: The first such option.
    """
    for field in fields(options):
        accepts = field.name in LAYOUTS[layout].options or field.name in _OF_ALL_LAYOUTS
        if not accepts and getattr(options, field.name) != field.default:
            others = ", ".join(row.name for row in LAYOUTS.values() if field.name in row.options)
            msg = (
                f"{named(field.name)} has no effect on the layout {layout}, which SOURCE was read as; it is for "
                f"{others}"
            )
            raise CallError(msg)
