"""From what the user typed as SOURCE to the layout that reads it."""

from collections.abc import Callable

ZipFolder = None  # TODO
archive_root = None  # TODO
from shardkit.errors import CallError, DataError
from shardkit.sources.class_folders import open_class_folders
from shardkit.sources.coco import is_coco, open_coco
open_file_names = None  # TODO
has_embedded_images = None  # TODO
is_hf_parquet = None  # TODO
open_hf_parquet = None  # TODO
from shardkit.sources.listing import Source
is_masks = None  # TODO
open_masks = None  # TODO
from shardkit.sources.metadata import has_metadata, open_metadata
from shardkit.sources.options import SourceOptions
from shardkit.sources.tables import TABLE_ENDINGS, open_table
from shardkit.sources.voc import is_voc, open_voc
is_webdataset = None  # TODO
open_webdataset = None  # TODO
from shardkit.sources.yolo import is_yolo, open_yolo
from shardkit.storage import Folder, explained, open_folder

# In the order in which a folder is tried: what only one layout has before what many have.
_RECOGNISERS: tuple[tuple[str, Callable[[Folder], bool]], ...] = (
    ("metadata", has_metadata),
    ("yolo", is_yolo),
    ("coco", is_coco),
    ("voc", is_voc),
    ("masks", is_masks),
    ("webdataset", is_webdataset),
    ("hf-parquet", is_hf_parquet),
)


def open_source(
    url: str,
    options: SourceOptions = SourceOptions(),  # noqa: B008 - frozen
    *,
    output: Folder | None = None,
    work: Folder | None = None,
) -> Source:
    """Find out how a source is laid out.

    Args:
        url: a folder, a table, a COCO file, a tar, zip or Parquet file; local, s3:// or gs://.
        options: what the user says about it.
        output: the folder converted into; left out of the listing where it lies inside the source.
        work: where images that can only be read in bulk are unpacked; needed for Parquet files that hold images.

    Raises:
        CallError: the options do not fit.
        DataError: there is no such source, or nothing in it that shardkit knows how to read.
        MachineError: it cannot be read.
    """
    above, _, name = url.rstrip("/").rpartition("/")
    folder = open_folder(url)
    with explained("read the source", folder.url):
        found = folder.stat("")
        if found is None:
            msg = f"{folder.url}: there is no such file or folder"
            raise DataError(msg)
        if not found.is_folder:
            return _open_file(url, open_folder(above or ("/" if url.startswith("/") else ".")), name, options, work)
        return _open_folder(folder, options, _path_below(folder, output), work)


def _open_file(url: str, folder: Folder, name: str, options: SourceOptions, work: Folder | None) -> Source:
    kind = name.lower()
    if kind.endswith(".zip"):
        archive = ZipFolder(url)
        return _open_folder(archive_root(archive), options, None, work)
    if kind.endswith(".parquet") and has_embedded_images and has_embedded_images(folder, name):
        return open_hf_parquet(folder, options, _needed(work), name)
    if kind.endswith(TABLE_ENDINGS):
        return open_table(url, options)
    if kind.endswith(".json"):
        return open_coco(folder, options, name)
    if kind.endswith((".yaml", ".yml")):
        return open_yolo(folder, options, name)
    if kind.endswith((".tar", ".tar.gz", ".tgz")):
        return open_webdataset(folder, None, options, name)
    msg = (
        f"{folder.url}/{name}: shardkit does not know how to read this file; SOURCE is a folder of images, a table "
        f"({', '.join(TABLE_ENDINGS)}), a COCO .json, a YOLO .yaml, a .tar or a .zip"
    )
    raise DataError(msg)


def _open_folder(folder: Folder, options: SourceOptions, excluded: str | None, work: Folder | None) -> Source:
    layout = options.layout
    if layout is None:
        if options.label_pattern is not None:
            layout = "file-names"
        else:
            layout = next((name for name, recognises in _RECOGNISERS if recognises and recognises(folder)), "class-folders")
    openers: dict[str, Callable[[], Source]] = {
        "class-folders": lambda: open_class_folders(folder, excluded),
        "file-names": lambda: open_file_names(folder, excluded, options),
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
    return openers[layout]()


def _needed(work: Folder | None) -> Folder:
    if work is None:
        msg = "images inside Parquet files are unpacked while they are listed, and open_source got no work folder"
        raise CallError(msg)
    return work


def _path_below(folder: Folder, inner: Folder | None) -> str | None:
    if inner is None:
        return None
    above, below = folder.real(""), inner.real("")
    return below[len(above) + 1 :] if below.startswith(above.rstrip("/") + "/") else None
