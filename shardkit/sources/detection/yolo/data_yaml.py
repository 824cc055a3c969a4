"""Read YOLO's data.yaml: class names, and the paths of each split's images."""

import os
import posixpath
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml

from shardkit.errors import DataError
from shardkit.sources.formats.record import encodable
from shardkit.sources.walking import join, parent_of
from shardkit.storage import Folder, os_errors_as

_MAX_BYTES = 16 << 20  # 16 MiB
_SHOWN = 80  # characters of a wrong value in a message
_SPLITS = {"train": "train", "val": "validation", "valid": "validation", "test": "test"}


@dataclass(frozen=True, slots=True)
class YoloData:
    """Content of the file.

    Attributes:
        names: (index, name) of the classes, by index.
        entries: (split, path as written), in the order train, validation, test.
        base: `path` as written; '' if the file has none.
        num_keypoint_fields: Number of keypoint fields that follow each box.
    """

    names: tuple[tuple[int, str], ...]
    entries: tuple[tuple[str, str], ...]
    base: str
    num_keypoint_fields: int


def read_yaml(folder: Folder, path: str) -> YoloData:
    """Read the file. All values are text, because a class may be called ``no`` or ``1.0``.

    Raises:
        DataError: The file is not YAML, or has no class names or no folders.
    """
    url = f"{folder.url}/{path}"
    with os_errors_as("read", url), folder.open(path) as file:
        data: bytes = file.read(_MAX_BYTES + 1)
    try:
        if len(data) > _MAX_BYTES:
            msg = f"{url}: the file has more than {_MAX_BYTES:,} bytes; is it YOLO's data.yaml?"
            raise DataError(msg)
        # BaseLoader makes text, lists and mappings only; SafeLoader would turn some names into booleans.
        loaded = yaml.load(data.decode("utf-8-sig"), Loader=yaml.BaseLoader)  # noqa: S506
    except UnicodeDecodeError as error:
        msg = f"{url}: byte {error.start + 1:,} is not UTF-8; save the file as UTF-8"
        raise DataError(msg) from None
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        what = getattr(error, "problem", None) or "it is nested too deeply, or holds characters that YAML forbids"
        msg = f"{url}{where}: this is not YAML: {what}; correct the file"
        raise DataError(msg) from None
    if not isinstance(loaded, dict):
        msg = f"{url}: this is not a data.yaml of YOLO: expected a mapping with `names` and `train`"
        raise DataError(msg)
    entries = [(split, entry) for key, split in _SPLITS.items() for entry in _texts(loaded.get(key))]
    if not entries:
        msg = f"{url}: it names no images: `train`, `val` and `test` are missing; add the folders of images"
        raise DataError(msg)
    base = loaded.get("path")
    return YoloData(
        _names(loaded.get("names"), url),
        tuple(entries),
        base if isinstance(base, str) else "",
        _keypoint_fields(loaded.get("kpt_shape"), url),
    )


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [one for one in values if isinstance(one, str) and one not in {"", "~", "null"}]


def _names(value: Any, url: str) -> tuple[tuple[int, str], ...]:
    pairs = list(enumerate(value)) if isinstance(value, list) else []
    if isinstance(value, dict) and all(isinstance(key, str) and key.isascii() and key.isdecimal() for key in value):
        pairs = sorted((int(key), name) for key, name in value.items())
    if not pairs or not all(isinstance(name, str) for _, name in pairs):
        msg = f"{url}: `names` must be a list of the names of classes, or map their indexes to them"
        raise DataError(msg)
    return checked_names([(index, name) for index, name in pairs], url)


def checked_names(pairs: list[tuple[int, str]], url: str) -> tuple[tuple[int, str], ...]:
    """Return the class names by index.

    Raises:
        DataError: A name occurs twice.
    """
    names = [name for _, name in pairs]
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        msg = f"{url}: two classes are called {twice!r}; give each class a different name"
        raise DataError(msg)
    return tuple((index, encodable(name)) for index, name in pairs)


def _keypoint_fields(value: Any, url: str) -> int:
    if value is None:
        return 0
    if isinstance(value, list) and len(value) == 2 and all(isinstance(one, str) and one.isdecimal() for one in value):
        return int(value[0]) * int(value[1])
    # With YAML aliases, a value of a few bytes can print as a billion.
    found = repr(value[:_SHOWN]) if isinstance(value, str) else f"a {type(value).__name__} of {len(value):,}"
    msg = f"{url}: `kpt_shape` must be two numbers, keypoints and values of each, such as [17, 3]; found {found}"
    raise DataError(msg)


def resolve(root: str, at: str, entry: str, exists: Callable[[str], bool]) -> str | None:
    """Return the path below the source that an entry means; None if there is none.

    A relative entry starts at `at`; leading ``../`` are dropped if nothing is there, because Roboflow writes too many.
    An absolute entry is below the source, or the dataset was moved: then its longest end that exists counts.

    Args:
        root: The source's folder, absolute.
        at: Path below it that relative entries start at.
        entry: The entry as written.
        exists: Returns whether a path exists below the source.
    """
    entry = entry.strip().replace("\\", "/")
    if entry.startswith("/") or entry[1:3] == ":/":
        if entry.startswith(f"{root}/"):
            ends = [entry[len(root) + 1 :]]
        else:
            parts = [part for part in entry.split("/") if part not in {"", ".", ".."}]
            ends = ["/".join(parts[start:]) for start in range(len(parts))]
        tried = [posixpath.normpath(end) for end in ends]
    else:
        below = posixpath.normpath(join(at, entry))
        kept = posixpath.normpath(entry)
        while kept.startswith("../"):
            kept = kept[3:]
        tried = [below, posixpath.normpath(join(at, kept)), kept]
    tried = ["" if path == "." else path for path in tried]
    return next((path for path in tried if path.split("/")[0] != ".." and exists(path)), None)


def base_of(root: str, yaml_path: str, base: str, exists: Callable[[str], bool]) -> str:
    """Return the folder below the source that entries start at: `path` if it exists, else the YAML's folder.

    A `path` that leads out of the source is not followed; see base_outside.
    """
    own = parent_of(yaml_path)
    if not base or base == ".":
        return own
    if base.startswith("/"):
        # A path of another machine means nothing here.
        return (
            base[len(root) + 1 :].rstrip("/") if base.startswith(f"{root}/") and exists(base[len(root) + 1 :]) else own
        )
    found = resolve(root, own, base, exists)
    return own if found is None else found


def base_outside(url: str, base: str) -> str | None:
    """Return the folder that the `path` of a YAML in the local folder `url` means, if it exists; else None.

    The folder may be anywhere. It is only shown to the user, because a file that comes with the data must not lead
    shardkit out of its folder.
    """
    place = os.path.normpath(os.path.join(url, base))
    return place if base and "://" not in url and os.path.isdir(place) else None
