"""Open SOURCE: choose the layout that reads it."""

from collections.abc import Callable
from dataclasses import fields, replace

from shardkit.archives.member_tree import ArchiveFolder, archive_root
from shardkit.archives.tar_folder import TarFolder
from shardkit.archives.zip_folder import ZipFolder
from shardkit.dataset.manifest import find_dataset
from shardkit.errors import CallError, DataError
from shardkit.option_values import Layout
from shardkit.sources.datasets.opening import open_dataset, refuse_unfinished
from shardkit.sources.detection.box_tables.layout import has_box_tables, holds_boxes, open_box_tables
from shardkit.sources.detection.coco.layout import is_coco, open_coco
from shardkit.sources.detection.cvat.layout import is_cvat, open_cvat
from shardkit.sources.detection.kitti.layout import is_kitti, open_kitti
from shardkit.sources.detection.label_studio.layout import has_label_studio, is_export, open_label_studio
from shardkit.sources.detection.labelme.layout import has_labelme, open_labelme
from shardkit.sources.detection.other_exports import holds_other_export, refuse_other_export
from shardkit.sources.detection.voc.layout import is_voc, open_voc
from shardkit.sources.detection.wider_face.layout import is_wider_face, open_wider_face
from shardkit.sources.detection.yolo.layout import is_yolo, open_yolo
from shardkit.sources.folders.class_folders import ClassFolders
from shardkit.sources.folders.file_names import FileNames, open_file_names
from shardkit.sources.folders.given_class_folders import open_class_folders
from shardkit.sources.folders.masks import is_masks, open_masks
from shardkit.sources.folders.metadata import has_metadata, open_metadata
from shardkit.sources.folders.unlabelled import open_unlabelled
from shardkit.sources.ignoring.filtered_folder import FilteredFolder
from shardkit.sources.ignoring.globs import IgnoreGlob
from shardkit.sources.ignoring.ignoring_source import IgnoringSource
from shardkit.sources.listing import IMAGE_ENDINGS, Source, ending
from shardkit.sources.lists.finding import LIST_ENDINGS
from shardkit.sources.lists.opening_lists import is_lists, is_well_known, open_list_file, open_lists
from shardkit.sources.options import SourceOptions
from shardkit.sources.packed.hf_parquet import is_hf_parquet, open_hf_parquet
from shardkit.sources.packed.hf_parquet_columns import has_embedded_images
from shardkit.sources.packed.tfrecord.files import is_tfrecord_file, is_tfrecord_folder
from shardkit.sources.packed.tfrecord.opening import open_tfrecord
from shardkit.sources.packed.tfrecord.several import place_together
from shardkit.sources.packed.webdataset import holds_samples, is_webdataset, open_webdataset
from shardkit.sources.recognising.archive_problems import with_archive_problems
from shardkit.sources.recognising.unmarked_folders import open_only_table, open_unmarked_folder
from shardkit.sources.recognising.wrapped_source import NotedSource
from shardkit.sources.tables.extracted import is_extracted, open_extracted
from shardkit.sources.tables.formats.json_files import json_kind
from shardkit.sources.tables.layout import TABLE_ENDINGS, open_table
from shardkit.sources.walking import children
from shardkit.storage import Folder, open_folder, os_errors_as

# The order in which they are tried: layouts with unique files before layouts with common ones.
_RECOGNISERS: tuple[tuple[Layout, Callable[[Folder], bool]], ...] = (
    ("extracted", is_extracted),
    ("list", is_well_known),
    ("metadata", has_metadata),
    ("kitti", is_kitti),  # before YOLO, whose folders may have the same names
    ("yolo", is_yolo),
    ("coco", is_coco),
    ("voc", is_voc),
    ("cvat", is_cvat),
    ("labelme", has_labelme),
    ("label-studio", has_label_studio),
    ("wider-face", is_wider_face),
    ("box-table", has_box_tables),
    ("box-table", holds_other_export),  # which refuses it
    ("masks", is_masks),
    ("webdataset", is_webdataset),
    ("hf-parquet", is_hf_parquet),
    ("tfrecord", is_tfrecord_folder),
    ("list", is_lists),
)

_OF_TABLES = {"image_column", "label_columns", "label_separator", "label_type", "split_column"}
# The options that each layout accepts, besides `layout`, `group_by` and `ignore`.
_ACCEPTED: dict[Layout, set[str]] = {
    "class-folders": {"class_level"},
    "file-names": {"label_pattern"},
    "list": {"root", "label_columns"},
    "table": {"root", "path_prefix", *_OF_TABLES},
    "metadata": _OF_TABLES,
    "coco": {"root"},
    "cvat": {"root"},
    "label-studio": {"root", "label_columns"},
    "box-table": {"root", "image_column", "label_columns", "split_column"},
    "yolo": {"root"},
    "webdataset": {"label_columns"},
    "hf-parquet": {"image_column", *_OF_TABLES},
    "shardkit": {"where", "drop", "labels", "also", "key_prefix", "readmit"},
    "tfrecord": {"image_feature", "label_feature", "label_type", "keep_truncated", "also"},
}


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
    is_dataset = options.layout is None and find_dataset(url) is not None
    if options.layout == "shardkit" or is_dataset or (options.also and options.layout not in {None, "tfrecord"}):
        _refuse_unaccepted("shardkit", options)
        return open_dataset(url, options, output)
    globs = tuple(IgnoreGlob(text) for text in options.ignore)
    source = (
        _open_tfrecords((url, *options.also), options, globs, output, work)
        if options.also
        else _open_source(url, options, globs, output, work)
    )
    return IgnoringSource(source.folder, source, globs) if globs else source


def _open_source(
    url: str, options: SourceOptions, globs: tuple[IgnoreGlob, ...], output: Folder | None, work: Folder | None
) -> Source:
    above, _, name = url.rstrip("/").rpartition("/")
    folder = open_folder(url)
    with os_errors_as("read the source", folder.url):
        found = folder.stat("")
        if found is None:
            msg = f"{folder.url}: there is no such file or folder"
            raise DataError(msg)
        if not found.is_folder:
            parent = open_folder(above or ("/" if url.startswith("/") else "."))
            return _open_file(url, parent, name, options, globs, work)
        return _open_folder(_hiding(folder, globs), url, options, _path_below(folder, output), work)


def _open_tfrecords(
    urls: tuple[str, ...],
    options: SourceOptions,
    globs: tuple[IgnoreGlob, ...],
    output: Folder | None,
    work: Folder | None,
) -> Source:
    folder, paths = place_together(urls)
    _refuse_unaccepted("tfrecord", options)
    excluded = _path_below(folder, output)
    return open_tfrecord(_hiding(folder, globs), excluded, options, lambda: _needed(work), paths)


def _hiding(folder: Folder, globs: tuple[IgnoreGlob, ...], above: str = "") -> Folder:
    return FilteredFolder(folder, globs, above) if globs else folder


def _open_file(
    url: str, folder: Folder, name: str, options: SourceOptions, globs: tuple[IgnoreGlob, ...], work: Folder | None
) -> Source:
    kind = name.lower()
    is_tree = kind.endswith(".tar") and options.layout != "webdataset" and not holds_samples(folder, name)
    if is_tree or kind.endswith(".zip"):
        whole: TarFolder | ZipFolder = TarFolder(url) if is_tree else ZipFolder(url)
        archive = _archive_root(whole, options)
        source = _open_folder(_hiding(archive, globs, archive.root), url, options, None, work)
        inner = source.folder.inner if isinstance(source.folder, FilteredFolder) else source.folder
        return with_archive_problems(source, inner if isinstance(inner, ArchiveFolder) else archive)
    openers: dict[Layout, tuple[tuple[str, ...], Callable[[], Source]]] = {
        "table": (TABLE_ENDINGS, lambda: open_table(url, options)),
        "hf-parquet": ((), lambda: open_hf_parquet(folder, options, _needed(work), name)),
        "box-table": ((), lambda: open_box_tables(folder, options, name)),
        "label-studio": ((), lambda: open_label_studio(folder, options, name)),
        "cvat": ((".xml",), lambda: open_cvat(folder, options, name)),
        "coco": ((".json",), lambda: open_coco(folder, options, name)),
        "yolo": ((".yaml", ".yml"), lambda: open_yolo(folder, options, name)),
        "list": (LIST_ENDINGS, lambda: open_list_file(folder, name, options)),
        "webdataset": ((".tar", ".tar.gz", ".tgz"), lambda: open_webdataset(folder, None, options, name)),
        "tfrecord": ((), lambda: open_tfrecord(folder, None, options, lambda: _needed(work), [name])),
    }
    is_table = options.layout is None and kind.endswith(".json") and json_kind(folder, name) is not None
    layout = (
        options.layout
        or ("table" if is_table else None)
        or next((layout for layout, (ends, _) in openers.items() if kind.endswith(ends)), None)
    )
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
            f"({', '.join(TABLE_ENDINGS)}), a list (.txt), a label file (COCO or Label Studio .json, CVAT .xml, YOLO "
            ".yaml), a TFRecord file or an archive (.tar, .zip); `shardkit help layouts` describes all layouts"
        )
        raise DataError(msg)
    if layout not in openers:
        msg = f"{folder.url}/{name}: this is a file; with --layout {layout}, SOURCE is a folder"
        raise CallError(msg)
    _refuse_unaccepted(layout, options)
    return openers[layout][1]()


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


def _open_folder(folder: Folder, url: str, options: SourceOptions, excluded: str | None, work: Folder | None) -> Source:
    layout: Layout | None = options.layout
    if layout is None:
        refuse_unfinished(folder)
    if layout is None and options.label_pattern is not None:
        layout = "file-names"
    if layout is None:
        found = open_unmarked_folder(folder, excluded, url, options, _recognise)
        if isinstance(found, Source):
            _refuse_unaccepted(_layout_of(found), options)
            return found
        folder, excluded, layout = found.folder, found.excluded, found.layout
        if layout == "tfrecord":
            refuse_unfinished(folder, has_records=True)
    openers: dict[Layout, Callable[[], Source]] = {
        "table": lambda: open_only_table(folder, excluded, url, options),
        "class-folders": lambda: open_class_folders(folder, excluded, options.class_level),
        "file-names": lambda: open_file_names(folder, excluded, options),
        "list": lambda: open_lists(folder, excluded, options),
        "unlabelled": lambda: open_unlabelled(folder, excluded),
        "extracted": lambda: open_extracted(folder),
        "metadata": lambda: open_metadata(folder, options, excluded),
        "box-table": lambda: open_box_tables(folder, options),
        "coco": lambda: open_coco(folder, options),
        "voc": lambda: open_voc(folder, options),
        "yolo": lambda: open_yolo(folder, options),
        "kitti": lambda: open_kitti(folder, options),
        "cvat": lambda: open_cvat(folder, options),
        "label-studio": lambda: open_label_studio(folder, options),
        "labelme": lambda: open_labelme(folder, options),
        "wider-face": lambda: open_wider_face(folder, options),
        "masks": lambda: open_masks(folder, excluded, options),
        "webdataset": lambda: open_webdataset(folder, excluded, options),
        "hf-parquet": lambda: open_hf_parquet(folder, options, _needed(work)),
        "tfrecord": lambda: open_tfrecord(folder, excluded, options, lambda: _needed(work)),
    }
    _refuse_unaccepted(layout, options)
    return openers[layout]()


def _recognise(folder: Folder) -> Layout | None:
    return next((name for name, recognises in _RECOGNISERS if recognises(folder)), None)


def _layout_of(source: Source) -> Layout:
    inner = source.inner if isinstance(source, NotedSource) else source
    if isinstance(inner, FileNames):
        return "file-names"
    return "class-folders" if isinstance(inner, ClassFolders) else "table"


def _refuse_unaccepted(layout: Layout, options: SourceOptions) -> None:
    """Refuse options that the layout would ignore.

    Raises:
        CallError: The first such option.
    """
    for field in fields(options):
        accepts = field.name in _ACCEPTED.get(layout, ()) or field.name in {"layout", "group_by", "classes", "ignore"}
        if not accepts and getattr(options, field.name) != field.default:
            option = "--" + field.name.replace("_", "-").replace("columns", "column")
            others = ", ".join(name for name, names in _ACCEPTED.items() if field.name in names)
            msg = f"{option} has no effect on the layout {layout}, which SOURCE was read as; it is for {others}"
            raise CallError(msg)


def _needed(work: Folder | None) -> Folder:
    if work is None:
        msg = "listing unpacks images inside Parquet files, and open_source was called without a work folder"
        raise CallError(msg)
    return work


def _path_below(folder: Folder, inner: Folder | None) -> str | None:
    if inner is None:
        return None
    above, below = folder.resolve(""), inner.resolve("")
    return below[len(above) + 1 :] if below.startswith(above.rstrip("/") + "/") else None
