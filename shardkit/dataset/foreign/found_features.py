"""Summarise the features of the first records of files: their kinds, numbers of values, and a sample of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from shardkit.dataset.foreign.values import Features, Kind, is_image, kind_of
from shardkit.errors import DataError
from shardkit.naming import printable

_SHOWN_BYTES = 24
_MAX_LISTED = 40


class Sampled(NamedTuple):
    """The features of one of the first records."""

    where: str  # file and number of the record, for messages
    features: Features  # values by name


@dataclass(frozen=True, slots=True)
class FoundFeature:
    """What the sampled records hold of one feature."""

    name: str
    kind: Kind  # kind of its values; "empty" if no record has any
    fewest: int  # smallest number of values of a record; 0 if a record lacks the feature
    most: int
    sample: str  # the first value that there is, for messages
    holds_images: bool  # whether every record that has values has bytes that start like an encoded image
    is_text: bool  # whether all values are short UTF-8 texts

    @property
    def is_single(self) -> bool:
        """Whether every record has exactly one value."""
        return self.fewest == self.most == 1

    def describe(self) -> str:
        """Return one line for the user."""
        lengths = f"{self.fewest}" if self.fewest == self.most else f"{self.fewest} to {self.most}"
        kind = {"bytes": "text" if self.is_text else "bytes", "float": "float32"}.get(self.kind, self.kind)
        sample = f", such as {self.sample}" if self.sample else ""
        return f"{printable(self.name)}: {kind}, {lengths} {'value' if lengths == '1' else 'values'}{sample}"


FoundFeatures = dict[str, FoundFeature]
_MAX_TEXT = 4096  # bytes; longer values are data, not names or captions


def find_features(sampled: Sequence[Sampled]) -> FoundFeatures:
    """Return the features of records by name, sorted; DataError: two records have different kinds of values of one."""
    names = sorted({name for one in sampled for name in one.features})
    return {name: _find_feature(name, sampled) for name in names}


def _find_feature(name: str, sampled: Sequence[Sampled]) -> FoundFeature:
    kind: Kind = "empty"
    first = ""
    for where, features in sampled:
        if values := features.get(name):
            found = kind_of(values[0])
            if kind == "empty":
                kind, first = found, where
            elif kind != found:
                msg = (
                    f"the feature {printable(name)!r} is {kind} in {first} and {found} in {where}: these files were "
                    "not written by one program; convert them apart"
                )
                raise DataError(msg)
    lists = [features.get(name, []) for _, features in sampled]
    present = [value for values in lists for value in values]
    lengths = [len(values) for values in lists]
    are_bytes = [value for value in present if isinstance(value, bytes)]
    return FoundFeature(
        name,
        kind,
        min(lengths),
        max(lengths),
        _shown(present[0]) if present else "",
        bool(are_bytes) and all(map(is_image, are_bytes)),
        bool(are_bytes) and all(map(_is_text, are_bytes)),
    )


def _is_text(value: bytes) -> bool:
    if len(value) > _MAX_TEXT or is_image(value):
        return False
    try:
        return value.decode().isprintable() or "\n" in value.decode()
    except UnicodeDecodeError:
        return False


def _shown(value: bytes | int | float) -> str:  # noqa: PYI041
    if not isinstance(value, bytes):
        return f"{value:g}" if isinstance(value, float) else str(value)
    if _is_text(value):
        text = value.decode()
        return repr(text if len(text) <= 60 else text[:60] + "…")
    if is_image(value):
        return f"an image of {len(value):,} bytes"
    return f"{len(value):,} bytes {value[:_SHOWN_BYTES]!r}" + ("…" if len(value) > _SHOWN_BYTES else "")


def listed(found: FoundFeatures) -> str:
    """Return the features for an error, one a line."""
    lines = [f"\n  {feature.describe()}" for feature in list(found.values())[:_MAX_LISTED]]
    more = len(found) - _MAX_LISTED
    return "".join(lines) + (f"\n  and {more} more" if more > 0 else "")
