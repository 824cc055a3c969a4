"""WebDataset: the class or classes of a sample, from the members next to its image.

The label is the text of ``.cls`` (``.cls.txt``, ``.label``, ``.label.txt``), else ``label``, ``class`` or
``label_name`` of the ``.json``, else the image's first folder.
"""

import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from shardkit.archives.tar_members import TarMember
from shardkit.naming import printable
from shardkit.reject_reasons import BAD_LABEL, NO_LABEL
from shardkit.sources.formats.format import encodable
from shardkit.sources.listing import BadRecord

TEXT_SUFFIXES = ("cls", "cls.txt", "label", "label.txt")  # the first that exists counts
SUFFIXES = frozenset({*TEXT_SUFFIXES, "json"})
JSON_KEYS = ("label", "class", "label_name")
_MAX_LABEL_BYTES = 4 << 10  # 4 KiB: no class name is longer
_MAX_JSON_BYTES = 16 << 20  # 16 MiB


@dataclass(frozen=True, slots=True)
class LabelReader:
    """Reads the label of a sample from its members."""

    file: BinaryIO  # the open .tar
    json_keys: tuple[str, ...]  # keys of a .json that may have the class; the first that exists counts
    is_multi_label: bool  # samples have any number of classes

    def read(self, image: TarMember, labels: Mapping[str, TarMember]) -> list[str]:
        """Return the class of a sample; in multi-label sources any number of classes."""
        for suffix in TEXT_SUFFIXES:
            if suffix in labels:
                return [self._name(labels[suffix])]
        if "json" in labels and (found := self._names(labels["json"])) is not None:
            return found
        above, separator, _ = image.name.partition("/")
        if not separator:
            raise BadRecord(NO_LABEL, "the sample has no .cls, no label in a .json, and lies in no folder; add one")
        return [above]

    def is_list(self, labels: Mapping[str, TarMember]) -> bool:
        """Return whether a sample's label is a list in its .json."""
        if "json" not in labels or not labels.keys().isdisjoint(TEXT_SUFFIXES):
            return False
        try:
            return isinstance(self._value(labels["json"])[1], list)
        except BadRecord:
            return False

    def is_missing(self, labels: Mapping[str, TarMember]) -> bool:
        """Return whether no member of a sample has a label; a damaged one counts as if it had."""
        if not labels.keys().isdisjoint(TEXT_SUFFIXES):
            return False
        try:
            return "json" not in labels or self._value(labels["json"])[1] is None
        except BadRecord:
            return False

    def _name(self, member: TarMember) -> str:
        text = self._text(member, _MAX_LABEL_BYTES).strip(" \t\r\n")
        if not text:
            raise BadRecord(NO_LABEL, f"{printable(member.name)} is empty; write the class into it")
        if not text.isprintable() and any(unicodedata.category(char) == "Cc" for char in text):
            message = (
                f"{printable(member.name)} holds {text[:8].encode()!r}, not a line of text; write the class as text"
            )
            raise BadRecord(BAD_LABEL, f"{message}, such as 5 or cat")
        return text

    def _names(self, member: TarMember) -> list[str] | None:
        key, value = self._value(member)
        where = f"{key!r} in {printable(member.name)}"
        if value is None:
            return None
        if not isinstance(value, list):
            return [_class_name(value, where)]
        if not self.is_multi_label:
            message = (
                f"{where} is a list, and the first samples have one class each; give each one class, or each a list"
            )
            raise BadRecord(BAD_LABEL, message)
        names = [_class_name(one, where) for one in value]
        if len(set(names)) < len(names):
            message = f"{where} holds a class twice; write each class once, by name or number, not a 0 or 1 for each"
            raise BadRecord(BAD_LABEL, message)
        return names

    def _value(self, member: TarMember) -> tuple[str, Any]:
        """Return the key of the label and its value; None as value if there is none."""
        text = self._text(member, _MAX_JSON_BYTES)
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadRecord(BAD_LABEL, f"{printable(member.name)} is not JSON ({error}); correct it") from error
        for key in self.json_keys:
            value = content.get(key) if isinstance(content, dict) else None
            if value is not None and not (isinstance(value, str) and not value.strip()):
                return key, value
        return "", None

    def _text(self, member: TarMember, max_bytes: int) -> str:
        if member.num_bytes > max_bytes:
            message = f"{printable(member.name)} has {member.num_bytes} bytes, too many for a label"
            raise BadRecord(BAD_LABEL, message)
        self.file.seek(member.offset)
        try:
            return self.file.read(member.num_bytes).decode("utf-8-sig")
        except UnicodeDecodeError:
            message = f"{printable(member.name)} is not text in UTF-8; write the class as text, such as 5 or cat"
            raise BadRecord(BAD_LABEL, message) from None


def _class_name(value: Any, where: str) -> str:
    if isinstance(value, str) and value.strip():
        return encodable(value.strip())
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise BadRecord(BAD_LABEL, f"{where} is neither text nor a whole number, nor a list of these; write the class")
