"""Read the files of `drop` and `labels`: the keys of examples to remove, and corrected labels by key."""

import csv
import hmac
import io
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from shardkit.errors import CallError
from shardkit.hashing import canonical_json
from shardkit.naming import counted
from shardkit.options.words import named
from shardkit.storage import read_text_file

_HEADER = ("key", "label")
_MAX_BYTES = 1 << 30  # 1 GiB: more than the keys of ten million examples


@dataclass(frozen=True, slots=True)
class DropList:
    """The keys of the examples to remove."""

    name: str  # as the user named the file, for messages and commands
    keys: tuple[str, ...]  # sorted

    def __str__(self) -> str:
        return self.name

    def description(self, secret: str) -> str:
        """Return the number of keys and their keyed hash; see `described`."""
        return described(counted(len(self.keys), "key"), self.keys, secret)

    @classmethod
    def of(cls, given: str | os.PathLike[str] | Iterable[str]) -> "DropList":
        """Return the keys of a file with one key a line, or of a list."""
        if isinstance(given, (str, os.PathLike)):
            name = os.fspath(given)
            lines = (
                read_text_file(named("drop", name), name, _MAX_BYTES).replace("\r\n", "\n").split("\n")
            )  # a key may have other separators
            keys = {line for line in lines if line.strip()}
        else:
            name, keys = "FILE", set(given)
            if bad := next((key for key in keys if not isinstance(key, str)), None):
                msg = f"drop must be a path or a list of keys; found {bad!r} in it"
                raise CallError(msg)
        if not keys:
            msg = f"{named('drop', name)}: there is no key; write one key a line, as in the column key of the indexes"
            raise CallError(msg)
        return cls(name, tuple(sorted(keys)))


@dataclass(frozen=True, slots=True)
class Corrections:
    """Corrected labels."""

    name: str  # as the user named the file, for messages and commands
    labels: tuple[tuple[str, str], ...]  # (key, class name) of each corrected example, sorted by key

    def __str__(self) -> str:
        return self.name

    def description(self, secret: str) -> str:
        """Return the number of corrections and their keyed hash; see `described`."""
        return described(counted(len(self.labels), "key"), self.labels, secret)

    @classmethod
    def of(cls, given: str | os.PathLike[str] | Mapping[str, str]) -> "Corrections":
        """Return the labels of a CSV file with the columns key and label, or of a mapping."""
        if isinstance(given, (str, os.PathLike)):
            name = os.fspath(given)
            labels = _read_labels(name)
        else:
            name, labels = "FILE", dict(given)
        if not labels:
            msg = f"{named('labels', name)}: there is no label; write the header key,label and a line for each example"
            raise CallError(msg)
        return cls(name, tuple(sorted(labels.items())))


def described(what: str, value: Any, secret: str) -> str:
    """Return a value of an option for the manifest, which must not name what was removed.

    `secret` has digests of the datasets that are converted: without them nobody can try values until one fits.
    """
    keyed = hmac.new(secret.encode(), canonical_json(value), "sha256")
    return f"{what}, hmac {keyed.hexdigest()}"


def _read_labels(name: str) -> dict[str, str]:
    where = named("labels", name)
    reader = csv.reader(io.StringIO(read_text_file(named("labels", name), name, _MAX_BYTES), newline=""))
    labels: dict[str, str] = {}
    try:
        header = [column.strip() for column in next(reader, [])]
        missing = [column for column in _HEADER if column not in header]
        if missing:
            msg = (
                f"{where}: the first line is {','.join(header)!r} and lacks the column {missing[0]!r}; write the "
                "header key,label and separate fields by commas"
            )
            raise CallError(msg)
        at = [header.index(column) for column in _HEADER]
        for row in reader:
            if not any(field.strip() for field in row):
                continue
            if len(row) != len(header):
                msg = f"{where}, line {reader.line_num}: it has {len(row)} fields, the header {len(header)}; quote a "
                raise CallError(msg + "field with commas")
            key, label = row[at[0]], row[at[1]].strip()
            if not key or not label:
                msg = f"{where}, line {reader.line_num}: the {'label' if key else 'key'} is empty; fill it in, or "
                raise CallError(msg + "remove the line")
            if labels.setdefault(key, label) != label:
                msg = f"{where}, line {reader.line_num}: {key!r} has the label {labels[key]!r} in an earlier line and "
                raise CallError(f"{msg}{label!r} here; keep one of them")
    except csv.Error as error:
        msg = f"{where}, line {reader.line_num}: the line cannot be read ({error}); save the table as CSV in UTF-8"
        raise CallError(msg) from None
    return labels
