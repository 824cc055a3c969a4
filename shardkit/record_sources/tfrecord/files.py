"""Find the TFRecord files of a source: a file, a folder, or several of both as one source."""

from collections.abc import Iterator, Sequence

from shardkit.dataset.foreign.compression import compression_of, empty_compression
from shardkit.dataset.foreign.file_names import is_tfrecord_name
from shardkit.dataset.foreign.files import ForeignFiles, read_head
from shardkit.errors import CallError, DataError
from shardkit.naming import printable, split_of_folder
from shardkit.options.words import named
from shardkit.sources.listing import count_skipped, unicode_problem
from shardkit.sources.walking import children, ending, folders_in, is_image, join
from shardkit.storage import Entry, Folder, open_folder, os_errors_as
from shardkit.storage.opening import shared_folder


def is_tfrecord_folder(folder: Folder) -> bool:
    """Return whether a folder has TFRecord files, itself or in split folders, and no images next to them."""
    first = next((path for path, entry in _files(folder) if is_tfrecord_name(entry.name)), None)
    if first is None:
        return False
    head = read_head(folder, first)
    if compression_of(head) is None and empty_compression(head) is None:
        return False
    places = ["", *(name for name in folders_in(folder) if not split_of_folder(name))]
    return not any(is_image(one.name) for place in places for one in children(folder, place) if not one.is_folder)


def is_tfrecord_file(folder: Folder, name: str) -> bool:
    """Return whether a file has the name of TFRecord files, or their content."""
    return is_tfrecord_name(name) or compression_of(read_head(folder, name)) is not None


def is_tfrecords(url: str) -> bool:
    """Return whether a URL is a TFRecord file, or a folder with TFRecord files and no images."""
    folder = open_folder(url)
    with os_errors_as("read the source", folder.url):
        entry = folder.stat("")
        if entry is None:
            return False
        if entry.is_folder:
            return is_tfrecord_folder(folder)
        above, _, name = folder.url.rpartition("/")
        return is_tfrecord_file(open_folder(above or "/"), name)


def find_files(
    folder: Folder, excluded: str | None, paths: Sequence[str] = ()
) -> tuple[ForeignFiles, tuple[tuple[str, int], ...]]:
    """Find the TFRecord files of a source."""
    found, skipped = list[tuple[str, Entry]](), dict[str, int]()
    for one in paths or [""]:
        whole = folder.stat(one) if one else None
        if whole is not None and not whole.is_folder:
            found.append((one, whole))
            continue
        for path, entry in _files(folder, one):
            if excluded and path.startswith(f"{excluded}/"):
                continue
            if is_tfrecord_name(entry.name):
                found.append((path, entry))
            else:
                count_skipped(skipped, ending(entry.name))
    if not found:
        msg = (
            f"{folder.url}: there is no TFRecord file in it or in its split folders, such as train-00000-of-00010 or "
            "train.tfrecord; give the folder that has them"
        )
        raise DataError(msg)
    if bad := next((problem for path, _ in found if (problem := unicode_problem(path))), None):
        msg = f"{folder.url}/{bad.key}: {bad.message}"
        raise DataError(msg)
    return ForeignFiles.of(folder, found, f"leave it out with {named('ignore')}"), tuple(sorted(skipped.items()))


def _files(folder: Folder, above: str = "") -> Iterator[tuple[str, Entry]]:
    """Yield path and entry of the files in a folder of a source, and in the split folders in it."""
    for place in [above, *(join(above, name) for name in folders_in(folder, above) if split_of_folder(name))]:
        yield from ((join(place, one.name), one) for one in children(folder, place) if not one.is_folder)


def place_together(urls: Sequence[str]) -> tuple[Folder, tuple[str, ...]]:
    """Return the folder that all of several files and folders are in, and their paths below it."""
    places = [open_folder(url).url.rstrip("/") for url in urls]
    for i, place in enumerate(places):
        others = [other for j, other in enumerate(places) if j != i]
        if place in others or any(place.startswith(f"{other}/") for other in others):
            msg = f"{printable(place)}: its TFRecords are given twice; give each file or folder once"
            raise CallError(msg)
    for place in places:
        if not is_tfrecords(place):
            msg = (
                f"{printable(place)}: several sources are converted together if all are datasets that shardkit wrote, "
                "or all are TFRecord files or folders of them, and this is none; convert it alone"
            )
            raise DataError(msg)
    shared = shared_folder([place.rpartition("/")[0] for place in places])
    return open_folder(shared), tuple(place.removeprefix(f"{shared.rstrip('/')}/") for place in places)
