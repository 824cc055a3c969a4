"""Write small images, folders and archives, and read folders back."""

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shardkit.hashing import sha256_hex
from shardkit.storage import Folder, open_folder

if TYPE_CHECKING:
    from PIL.Image import Image

# Content of a file: bytes, text, or values that are written as JSON Lines.
Content = bytes | str | list[Any]
_MTIME = 1_700_000_000  # of all members of an archive


def picture(seed: int, *, width: int = 8, height: int = 8, kind: str = "PNG") -> bytes:
    """Return an image file of coloured noise.

    Args:
        seed: Another seed gives another image.
        width: Width in pixels.
        height: Height in pixels.
        kind: Pillow's name of the format.
    """
    from PIL import Image

    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    return encoded(Image.fromarray(pixels), kind)


def encoded(image: "Image", kind: str = "PNG", **options: Any) -> bytes:
    """Return a Pillow image as the bytes of a file.

    Args:
        image: The image.
        kind: Pillow's name of the format.
        options: Further arguments of `Image.save`.
    """
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def write_tree(root: Path, files: Mapping[str, Content] | Iterable[str]) -> Path:
    """Write files below a folder, which is made with all folders in between.

    Args:
        root: The folder.
        files: Contents by POSIX path below the folder; or paths only, of files whose content does not matter.
            A path with a final ``/`` is a folder.

    Returns:
        The folder.
    """
    root.mkdir(parents=True, exist_ok=True)
    for path, content in _with_contents(files).items():
        target = root / path
        if path.endswith("/"):
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(_as_bytes(content))
    return root


# By the last ending of a .tar.
_COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".tar": lambda data: data,
    **dict.fromkeys((".gz", ".tgz"), partial(gzip.compress, mtime=0)),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


def write_archive(path: Path, files: Mapping[str, Content] | Iterable[str]) -> Path:
    """Write an archive by the path's ending (.zip, .tar, .tar.gz, …), with members in the order of `files`.

    Args:
        path: The archive; its folder is made.
        files: See `write_tree`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    members = {name: _as_bytes(content) for name, content in _with_contents(files).items()}
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in members.items():
                archive.writestr(name, data)
    else:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for name, data in members.items():
                member = tarfile.TarInfo(name)
                member.mtime, member.size = _MTIME, len(data)
                tar.addfile(member, io.BytesIO(data))
        path.write_bytes(_COMPRESS[path.suffix](packed.getvalue()))
    return path


def upload(url: str, files: Mapping[str, Content] | Iterable[str] | Path) -> Folder:
    """Write files below a folder of any storage and return the folder.

    Args:
        url: The folder: s3://, gs:// or local.
        files: As for `write_tree`; or a local folder, all files of which are copied.
    """
    folder = open_folder(url)
    contents = files_of(files) if isinstance(files, Path) else _with_contents(files)
    for path, content in contents.items():
        with folder.atomic_write(path) as file:
            file.write(_as_bytes(content))
    return folder


def _with_contents(files: Mapping[str, Content] | Iterable[str]) -> Mapping[str, Content]:
    return files if isinstance(files, Mapping) else dict.fromkeys(files, b"content")


def _as_bytes(content: Content) -> bytes:
    if isinstance(content, list):
        content = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in content)
    return content.encode() if isinstance(content, str) else content


def write_class_folders(root: Path, counts: Mapping[str, int], **picture_options: Any) -> Path:
    """Write a source with the given number of different images for each folder, such as ``cat`` or ``train/cat``."""
    names = [f"{folder}/{i:03d}.png" for folder, count in counts.items() for i in range(count)]
    return write_tree(root, {name: picture(seed, **picture_options) for seed, name in enumerate(names)})


def files_of(folder: Folder | Path | str) -> dict[str, bytes]:
    """Return the bytes of every file below a folder, local or in an object store, by path."""
    opened = folder if isinstance(folder, Folder) else open_folder(str(folder))
    return dict(_files_below(opened, ""))


def _files_below(folder: Folder, path: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.scan(path):
        below = f"{path}/{entry.name}" if path else entry.name
        if entry.is_folder:
            yield from _files_below(folder, below)
        else:
            yield below, folder.read(below)


def digests_of(folder: Folder | Path | str, *, but: Collection[str] = ("run-log.jsonl",)) -> dict[str, str]:
    """Return the sha256 of every file below a folder, by path: equal for two conversions of the same source.

    Args:
        folder: The folder, local or in an object store.
        but: Paths that are left out; by default the log, which tells times.
    """
    return {path: sha256_hex(data) for path, data in files_of(folder).items() if path not in but}
