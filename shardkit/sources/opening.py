"""Open SOURCE: choose the layout that reads it."""

from collections.abc import Callable
from dataclasses import fields

from shardkit.archives.member_tree import archive_root
from shardkit.archives.tar_folder import TarFolder
from shardkit.archives.zip_folder import ZipFolder
from shardkit.errors import CallError, DataError
from shardkit.option_values import Layout
from shardkit.sources.archive_problems import with_archive_problems
from shardkit.sources.detection.coco.layout import is_coco, open_coco
from shardkit.sources.detection.voc.layout import is_voc, open_voc
from shardkit.sources.detection.yolo.layout import is_yolo, open_yolo
from shardkit.sources.folders.class_folders import open_class_folders
from shardkit.sources.folders.file_names import open_file_names
from shardkit.sources.folders.masks import is_masks, open_masks
from shardkit.sources.folders.metadata import has_metadata, open_metadata
from shardkit.sources.listing import Source
from shardkit.sources.lists.finding import LIST_ENDINGS
from shardkit.sources.lists.opening_lists import is_lists, is_well_known, open_list_file, open_lists
from shardkit.sources.options import SourceOptions
from shardkit.sources.packed.hf_parquet import is_hf_parquet, open_hf_parquet
from shardkit.sources.packed.hf_parquet_columns import has_embedded_images
from shardkit.sources.packed.webdataset import holds_samples, is_webdataset, open_webdataset
from shardkit.sources.tables.layout import TABLE_ENDINGS, open_table
from shardkit.storage import Folder, open_folder, os_errors_as

# The order in which they are tried: layouts with unique files before layouts with common ones.
_RECOGNISERS: tuple[tuple[Layout, Callable[[Folder], bool]], ...] = (
    ("list", is_well_known),
    ("metadata", has_metadata),
    ("yolo", is_yolo),
    ("coco", is_coco),
    ("voc", is_voc),
    ("masks", is_masks),
    ("webdataset", is_webdataset),
    ("hf-parquet", is_hf_parquet),
    ("list", is_lists),
)

_OF_TABLES = {"image_column", "label_columns", "label_separator", "label_type", "split_column"}
# The options that each layout accepts, besides `layout` and `group_by`.
_ACCEPTED: dict[Layout, set[str]] = {
    "file-names": {"label_pattern"},
    "list": {"root", "label_columns"},
    "table": {"root", *_OF_TABLES},
    "metadata": _OF_TABLES,
    "coco": {"root"},
    "yolo": {"root"},
    "webdataset": {"label_columns"},
    "hf-parquet": {"image_column", *_OF_TABLES},
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
        url: A folder, a table, a COCO file, a tar, zip or Parquet file; local, s3:// or gs://.
        options: Options of the source.
        output: The output folder, which is not listed if it is inside the source.
        work: Folder for images that listing has to unpack; required for Parquet files that contain images.

    Raises:
        CallError: The options do not fit the layout.
        DataError: The source does not exist, or has nothing that shardkit can read.
        MachineError: The disk or the network failed.
    """
    above, _, name = url.rstrip("/").rpartition("/")
    folder = open_folder(url)
    with os_errors_as("read the source", folder.url):
        found = folder.stat("")
        if found is None:
            msg = f"{folder.url}: there is no such file or folder"
            raise DataError(msg)
        if not found.is_folder:
            return _open_file(url, open_folder(above or ("/" if url.startswith("/") else ".")), name, options, work)
        return _open_folder(folder, options, _path_below(folder, output), work)


def _open_file(url: str, folder: Folder, name: str, options: SourceOptions, work: Folder | None) -> Source:
    kind = name.lower()
    is_tree = kind.endswith(".tar") and options.layout != "webdataset" and not holds_samples(folder, name)
    if is_tree or kind.endswith(".zip"):
        archive = archive_root(TarFolder(url) if is_tree else ZipFolder(url))
        return with_archive_problems(_open_folder(archive, options, None, work), archive)
    openers: dict[Layout, tuple[tuple[str, ...], Callable[[], Source]]] = {
        "table": (TABLE_ENDINGS, lambda: open_table(url, options)),
        "hf-parquet": ((), lambda: open_hf_parquet(folder, options, _needed(work), name)),
        "coco": ((".json",), lambda: open_coco(folder, options, name)),
        "yolo": ((".yaml", ".yml"), lambda: open_yolo(folder, options, name)),
        "list": (LIST_ENDINGS, lambda: open_list_file(folder, name, options)),
        "webdataset": ((".tar", ".tar.gz", ".tgz"), lambda: open_webdataset(folder, None, options, name)),
    }
    layout = options.layout or next((layout for layout, (ends, _) in openers.items() if kind.endswith(ends)), None)
    if layout == "table" and kind.endswith(".parquet") and has_embedded_images(folder, name, options.image_column):
        layout = "hf-parquet"
    if layout is None:
        msg = (
            f"{folder.url}/{name}: shardkit does not know how to read this file; SOURCE is a folder of images, a table "
            f"({', '.join(TABLE_ENDINGS)}), a list .txt, a COCO .json, a YOLO .yaml, a .tar or a .zip"
        )
        raise DataError(msg)
    if layout not in openers:
        msg = f"{folder.url}/{name}: this is a file; with --layout {layout}, SOURCE is a folder"
        raise CallError(msg)
    _refuse_unaccepted(layout, options)
    return openers[layout][1]()


def _open_folder(folder: Folder, options: SourceOptions, excluded: str | None, work: Folder | None) -> Source:
    layout: Layout | None = options.layout
    if layout is None:
        if options.label_pattern is not None:
            layout = "file-names"
        else:
            layout = next((name for name, recognises in _RECOGNISERS if recognises(folder)), "class-folders")
    openers: dict[Layout, Callable[[], Source]] = {
        "class-folders": lambda: open_class_folders(folder, excluded, is_explicit=options.layout is not None),
        "file-names": lambda: open_file_names(folder, excluded, options),
        "list": lambda: open_lists(folder, excluded, options),
        "metadata": lambda: open_metadata(folder, options, excluded),
        "coco": lambda: open_coco(folder, options),
        "voc": lambda: open_voc(folder, options),
        "yolo": lambda: open_yolo(folder, options),
        "masks": lambda: open_masks(folder, excluded, options),
        "webdataset": lambda: open_webdataset(folder, excluded, options),
        "hf-parquet": lambda: open_hf_parquet(folder, options, _needed(work)),
    }
    if layout not in openers:
        msg = f"{folder.url}: this is a folder; with --layout {layout}, SOURCE is the file itself"
        raise CallError(msg)
    _refuse_unaccepted(layout, options)
    return openers[layout]()


def _refuse_unaccepted(layout: Layout, options: SourceOptions) -> None:
    """Refuse options that the layout would ignore.

    Raises:
        CallError: The first such option.
    """
    for field in fields(options):
        accepts = field.name in _ACCEPTED.get(layout, ()) or field.name in {"layout", "group_by"}
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
