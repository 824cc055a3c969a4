"""Decide the keys of adopted records: a feature of theirs if its texts are unique, else file and record number."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from shardkit.dataset.stored_names import record_key
from shardkit.errors import DataError
from shardkit.hashing import hash64
from shardkit.naming import printable
from shardkit.options.words import named


class KeyChoice(NamedTuple):
    """Where the keys come from.

    Attributes:
        feature: Name of the feature in the records; None to number the records.
        why_numbered: Why a feature that looked like a key is none; None if there was none or it is one.
    """

    feature: str | None
    why_numbered: str | None = None


class _File(NamedTuple):
    path: str
    texts: pa.ChunkedArray


def choose_keys(feature: str | None, files: Iterable[tuple[str, pa.ChunkedArray]], *, is_required: bool) -> KeyChoice:
    """Return where the keys come from. Keeps 8 bytes for each record.

    Args:
        feature: Feature that may hold the keys; None for none.
        files: (path of a file, its column key_text), file by file.
        is_required: Whether the user named the feature.

    Raises:
        DataError: The user named the feature, and its texts are not unique or some are missing.
    """
    if feature is None:
        return KeyChoice(None)
    problem = _problem(feature, [_File(*one) for one in files])
    if problem is None:
        return KeyChoice(feature)
    if is_required:
        msg = f"{problem}; name another feature with {named('key_feature')}, or leave it out to number the records"
        raise DataError(msg)
    return KeyChoice(None, problem)


def _problem(feature: str, files: list[_File]) -> str | None:
    name = printable(feature)
    hashes = []
    for path, texts in files:
        values = texts.to_pylist()
        for number, value in enumerate(values):
            if value is None or (text := _text(value)) is None:
                found = "no text" if value is None else "a text that is not UTF-8"
                return f"{printable(path)}, record {number}: there is {found} in {name!r}, so it cannot be the key"
            if not text.isprintable():
                return f"{printable(path)}, record {number}: {name!r} has control characters, so it cannot be the key"
        hashes.append(hash64(values, seed=0, purpose="key"))
    every = np.concatenate([np.zeros(0, np.uint64), *hashes])
    order = np.argsort(every, kind="stable")
    same = np.flatnonzero(every[order][1:] == every[order][:-1])
    if not len(same):
        return None
    ends = np.cumsum([len(one) for one in hashes])
    places = [_place(int(order[same[0] + more]), ends, files) for more in (0, 1)]
    value = printable(places[0][1])
    return f"{name!r} is not unique: {value!r} is in {places[0][0]} and in {places[1][0]}"


def _place(row: int, ends: np.ndarray, files: list[_File]) -> tuple[str, str]:
    at = int(np.searchsorted(ends, row, side="right"))
    number = row - (int(ends[at - 1]) if at else 0)
    return f"{printable(files[at].path)}, record {number}", _text(files[at].texts[number].as_py()) or ""


def _text(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def keys_of(choice: KeyChoice, path: str, texts: pa.ChunkedArray) -> list[str]:
    """Return the keys of the records of a file.

    Args:
        choice: Where the keys come from.
        path: Path of the file in the folder of the records.
        texts: Its column key_text.
    """
    if choice.feature is None:
        return [record_key(path, number) for number in range(len(texts))]
    return [value.decode() for value in texts.to_pylist()]
