"""Walk the folders of a source, and tell files by their names."""

import contextlib
import errno
import os
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator
from contextvars import ContextVar

from shardkit.errors import DataError, MachineError, MemberError, SpecialFileError
from shardkit.naming import DATASET_FILES, IMAGE_ENDINGS
from shardkit.storage import Entry, Folder, is_of_machine, os_errors_as, unreadable

_JUNK = frozenset(
    {
        *("thumbs.db", "desktop.ini", "__macosx", "icon\r", "@eadir", "#recycle", "$recycle.bin"),
        *("venv", "site-packages", "node_modules", "__pycache__"),  # they hold pictures, too
    }
)
# Next to a document that is open in Word, Excel or PowerPoint.
_OFFICE_LOCK = re.compile(r"~\$.*[.](?:doc|xls|ppt)[a-z]?", re.IGNORECASE)


def is_ignored(name: str) -> bool:
    """Return whether a file or folder is one that operating systems and tools leave behind, and not data."""
    return name.startswith(".") or name.lower() in _JUNK or _OFFICE_LOCK.fullmatch(name) is not None


def ending(name: str) -> str:
    """Return the lower-case ending of a file name with its dot; '(none)' if the name has none."""
    kind = os.path.splitext(name)[1].lower()
    return encodable_path(kind) or "(none)"  # it is printed, and stored in the manifest


def stem_of(path: str) -> str:
    """Return the name of a file without its ending."""
    return posixpath.splitext(posixpath.basename(path))[0]


def encodable_path(path: str) -> str:
    """Return a path that can be stored in a table: bytes that are not UTF-8 are escaped."""
    if path.isascii():
        return path
    try:
        path.encode()
    except UnicodeEncodeError:
        return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return path


HEAD_BYTES = 1 << 16  # 64 KiB: in JSON the arrays of a format begin there; images in the file follow
MIN_SLICE = 2_000  # label files: reading fewer takes less time than starting a worker for them
MAX_SLICES = 16  # each worker walks the folder again: about 5 µs per file, where parsing its labels takes 100
_MAX_KEPT = 100_000  # entries that `listing_once` keeps: some 20 MB
# Errors of a path that cannot exist, as label files may contain.
_NOWHERE = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL}


class _Kept:
    """The entries of the folders that were asked for last."""

    def __init__(self) -> None:
        self._entries: dict[tuple[int, str], tuple[Folder, list[Entry]]] = {}
        self._num_entries = 0
        self.datasets: dict[tuple[int, str], tuple[Folder, bool]] = {}  # what `is_dataset` has found

    def find(self, folder: Folder, path: str) -> list[Entry] | None:
        found = self._entries.pop((id(folder), path), None)
        if found is None:
            return None
        self._entries[id(folder), path] = found
        return found[1].copy()

    def keep(self, folder: Folder, path: str, entries: list[Entry]) -> None:
        """Keep a folder's entries, if there is room. The folder is kept too, so that no other one gets its id."""
        if len(entries) > _MAX_KEPT:
            return
        self._num_entries += len(entries)
        self._entries[id(folder), path] = folder, entries.copy()
        while self._num_entries > _MAX_KEPT:
            _, oldest = self._entries.pop(next(iter(self._entries)))
            self._num_entries -= len(oldest)


_kept: ContextVar[_Kept | None] = ContextVar("_kept", default=None)


@contextlib.contextmanager
def listing_once() -> Iterator[None]:
    """Let `children` list a folder once while this lasts: layouts look at the same folders one after another."""
    token = _kept.set(_Kept())
    try:
        yield
    finally:
        _kept.reset(token)


def is_image(name: str) -> bool:
    """Return whether a file has the ending of an image."""
    return ending(name) in IMAGE_ENDINGS


def join(*parts: str) -> str:
    """Join the parts of a path; '' is the root."""
    return "/".join(part for part in parts if part)


def is_within(path: str, folder: str) -> bool:
    """Return whether a path is the folder or below it."""
    return not folder or path == folder or path.startswith(f"{folder}/")


def parent_of(path: str) -> str:
    """Return the folder of a path."""
    return path.rpartition("/")[0]


def is_dataset(folder: Folder, path: str) -> bool:
    """Return whether a folder is a dataset that shardkit wrote into the source: it holds no labels and no splits."""
    kept, key = _kept.get(), (id(folder), path)
    if kept is not None and key in kept.datasets:
        return kept.datasets[key][1]
    found = all(folder.stat(join(path, name)) is not None for name in sorted(DATASET_FILES))
    if kept is not None:
        kept.datasets[key] = folder, found
    return found


def are_of_dataset(entries: Iterable[Entry]) -> bool:
    """Return whether the entries of a folder are those of a dataset that shardkit wrote into the source."""
    return {entry.name for entry in entries} >= DATASET_FILES


def children(folder: Folder, path: str = "") -> list[Entry]:
    """Return a folder's entries, without files that systems leave behind; none if the folder does not exist."""
    kept = _kept.get()
    if kept is None:
        return _children(folder, path)
    entries = kept.find(folder, path)
    if entries is None:
        entries = _children(folder, path)
        kept.keep(folder, path, entries)
    return entries


def _children(folder: Folder, path: str) -> list[Entry]:
    with os_errors_as("list the folder", folder.url_of(path)):
        try:
            return [entry for entry in folder.scan(path) if not is_ignored(entry.name)]
        except OSError as error:
            if error.errno in _NOWHERE:
                return []
            raise


def folders_in(folder: Folder, path: str = "") -> list[str]:
    """Return the names of the folders in a folder."""
    return [entry.name for entry in children(folder, path) if entry.is_folder]


def files_in(folder: Folder, path: str, *endings: str) -> list[str]:
    """Return the paths of the files in a folder with one of some endings, in any case."""
    entries = children(folder, path)
    return [join(path, one.name) for one in entries if one.name.lower().endswith(endings) and not one.is_folder]


def is_folder(folder: Folder, path: str) -> bool:
    """Return whether a folder exists."""
    found = file_or_folder(folder, path)
    return found is not None and found.is_folder


def file_or_folder(folder: Folder, path: str) -> Entry | None:
    """Return the entry at a path; None if it does not exist."""
    with os_errors_as("read", folder.url_of(path)):
        try:
            return folder.stat(path)
        except OSError as error:
            if error.errno in _NOWHERE:
                return None
            raise


def read_head(folder: Folder, path: str) -> bytes | None:
    """Return the first 64 KiB of a file, to recognise its format; None for a special file, which has no content."""
    try:
        with os_errors_as("read", folder.url_of(path)), folder.open(path) as file:
            head: bytes = file.read(HEAD_BYTES)
    except SpecialFileError:
        return None
    return head


def read_sample(folder: Folder, path: str, max_bytes: int) -> bytes | None:
    """Return the bytes of a file that a source is recognised by; None if it cannot be used, as listing it reports."""
    try:
        return folder.read_at_most(path, max_bytes)
    except DataError:
        return None
    except OSError as error:
        if is_of_machine(error):
            raise unreadable(folder.url_of(path), error) from error
        return None


def looks_like(head: bytes | None, *patterns: bytes, start: bytes = b"") -> bool:
    """Return whether the beginning of a file is that of a format."""
    if head is None or not head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(start):
        return False
    return all(re.search(pattern, head, re.MULTILINE) for pattern in patterns)


def read_label_file(folder: Folder, path: str, num_bytes: int, max_bytes: int) -> bytes | str:
    """Read the label file of one image, or return why it cannot be used."""
    if num_bytes > max_bytes:
        return f"it has {num_bytes:,} bytes, more than {max_bytes:,}"
    with os_errors_as("read", folder.url_of(path)):
        try:
            data = folder.read(path)
        except (PermissionError, SpecialFileError, MemberError) as error:
            return f"it cannot be read: {error.strerror or error}"
        except OSError as error:
            if error.errno in _NOWHERE:
                return "it cannot be read: is it a link that leads nowhere?"
            raise
    return data if len(data) <= max_bytes else f"it has {len(data):,} bytes, more than {max_bytes:,}"


def files_below(
    folder: Folder, path: str, left_out: Collection[str] = (), *, recursive: bool = True
) -> Iterator[tuple[str, Entry]]:
    """Yield path and entry of every file below a folder, or only of those in it, sorted by name, folder by folder.

    Links that lead to a folder above, and datasets that were written into the source, are skipped.
    """
    if path in left_out or _leads_above(folder, path):
        return
    entries = children(folder, path)
    if are_of_dataset(entries):
        return
    start = f"{path}/" if path else ""
    for entry in entries:
        if not entry.is_folder:
            yield start + entry.name, entry
    for entry in entries if recursive else ():
        if entry.is_folder:
            yield from files_below(folder, join(path, entry.name), left_out)


def _leads_above(folder: Folder, path: str) -> bool:
    """Return whether a folder is a link to one above it, whose files are listed already."""
    return folder.is_link(path) and folder.resolve(path) in map(folder.resolve, ancestors(path))


def ancestors(path: str) -> Iterator[str]:
    """Return the folders above a path, the root first."""
    parts = path.split("/") if path else []
    return ("/".join(parts[:depth]) for depth in range(len(parts)))


def num_slices(num_files: int) -> int:
    """Return the number of parts in which to list label files."""
    return max(1, min(MAX_SLICES, num_files // MIN_SLICE))


def slice_bounds(num_files: int, index: int, num: int) -> slice:
    """Return slice `index` of `num`; they cover all files once, and their lengths differ by at most one."""
    return slice(num_files * index // num, num_files * (index + 1) // num)


def list_if_allowed(folder: Folder, path: str) -> list[Entry]:
    """Return the entries of a folder; none if listing is refused, as for users who may only read a bucket's objects."""
    try:
        return children(folder, path)
    except MachineError as error:
        if isinstance(error.__cause__, PermissionError) or "ACCESS_DENIED" in str(error):
            return []
        raise
