"""The forms of options of datasets: splits, shards, and how images are stored."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from shardkit.errors import CallError
from shardkit.naming import check_split_name, split_order
from shardkit.options import parsing
from shardkit.options.forms import Form
from shardkit.options.values import AUTO_SCALE, HIGH_BITS
from shardkit.options.words import named

_MAX_AREA = 1 << 28  # pixels of a stored picture: RGB with more is 1 GiB
_SCALE = re.compile(r"scale=([0-9]{1,5}):([0-9]{1,5})")
_HEX = re.compile(r"#[0-9a-f]{6}")
_COLOURS = {"white": "#ffffff", "black": "#000000", "gray": "#808080"}


@dataclass(frozen=True, slots=True)
class BitDepth(Form):
    """How 16 bits a channel become 8."""

    def _read(self, option: str, given: Any) -> str:
        if given in (HIGH_BITS, AUTO_SCALE):
            return str(given)
        found = _SCALE.fullmatch(str(given))
        low, high = (int(found[1]), int(found[2])) if found else (0, 0)
        if not low < high < 1 << 16:
            raise CallError(
                f"{named(option)} is high, scale=auto, or scale=LOW:HIGH with two samples of 0 to 65535, the least "
                f"first, such as scale=0:4095; found {given!r}"
            )
        return f"scale={low}:{high}"


@dataclass(frozen=True, slots=True)
class Colour(Form):
    """A colour, as ``#rrggbb``."""

    def _read(self, option: str, given: Any) -> str:
        colour = _COLOURS.get(str(given).lower(), str(given).lower())
        if not _HEX.fullmatch(colour):
            raise CallError(f"{named(option)} is {', '.join(_COLOURS)} or #RRGGBB; found {given!r}")
        return colour


@dataclass(frozen=True, slots=True)
class ImageSize(Form):
    """Height and width in pixels."""

    max_side: int = 1 << 16  # greatest permitted height and width

    def _read(self, option: str, given: Any) -> tuple[int, int]:
        size = parsing.parse_image_size("x".join(map(str, given)) if isinstance(given, (list, tuple)) else str(given))
        for side in size:
            parsing.within(option, side, 1, self.max_side)
        if math.prod(size) > _MAX_AREA:
            raise CallError(f"{named(option, size)} has more than {_MAX_AREA:,} pixels; choose a smaller one")
        return size

    def _text(self, value: Any) -> str:
        return parsing.image_size_text(value)

    def as_json(self, value: Any) -> Any:
        """See `Form`: ``256x320``."""
        return None if value is None else parsing.image_size_text(value)

    def from_json(self, written: Any) -> Any:
        return None if written is None else parsing.parse_image_size(written)


class ReadShares(dict[str, Fraction]):
    """Shares that were read before. Those of a dataset may have names that no user could give."""


@dataclass(frozen=True, slots=True)
class Shares(Form):
    """Share of each split; None keeps the source's own splits."""

    def _read(self, option: str, given: Any) -> dict[str, Fraction]:
        del option
        if isinstance(given, ReadShares):
            return given
        is_exact = isinstance(given, Mapping) and all(isinstance(share, Fraction) for share in given.values())
        ratios = given if is_exact and sum(given.values()) == 1 else parsing.parse_ratios(_as_text(given))
        return ReadShares({check_split_name(split): share for split, share in ratios.items()})

    def _text(self, value: Any) -> str:
        return parsing.shares_text(value)

    def _in_python(self, value: Any) -> Any:
        return {split: float(share) for split, share in value.items()}

    def as_json(self, value: Any) -> Any:
        """See `Form`: exact fractions, such as ``4/5``."""
        return None if value is None else {split: str(share) for split, share in value.items()}

    def from_json(self, written: Any) -> Any:
        return None if written is None else ReadShares({name: Fraction(share) for name, share in written.items()})


@dataclass(frozen=True, slots=True)
class SplitNames(Form):
    """One or several splits."""

    def _read(self, option: str, given: Any) -> tuple[str, ...]:
        del option
        names = given.split(",") if isinstance(given, str) else given
        return tuple(split_order({check_split_name(split.strip()) for split in names}))

    def _text(self, value: Any) -> str:
        return ",".join(value)

    def _in_python(self, value: Any) -> Any:
        return list(value)

    def as_json(self, value: Any) -> Any:
        """See `Form`: a list."""
        return list(value)

    def from_json(self, written: Any) -> Any:
        return tuple(written)


@dataclass(frozen=True, slots=True)
class ShardNumbers(Form):
    """Number of shards of every split, or of each."""

    def _read(self, option: str, given: Any) -> int | dict[str, int]:
        del option
        shards = parsing.parse_shards(_as_text(given))
        if isinstance(shards, dict):
            return {check_split_name(split): count for split, count in shards.items()}
        return shards

    def _text(self, value: Any) -> str:
        return _as_text(value)


def _as_text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return ",".join(f"{name}={one}" for name, one in value.items()) if isinstance(value, Mapping) else str(value)
