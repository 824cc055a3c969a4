"""Read the values of options that have a notation: shares, numbers of shards, sizes in bytes, sizes of images.

Each function reads the text that a user writes on the command line, and has an inverse that writes it again.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from numbers import Integral

from shardkit.errors import CallError
from shardkit.naming import check_split_name
from shardkit.options.words import named

# Keeps ratio * count exact in 64 bits for up to 9e9 examples.
MAX_RATIO_DECIMALS = 9
MAX_RATIO_DENOMINATOR = 10**MAX_RATIO_DECIMALS

# The splits of shares without names, by their number.
UNNAMED_SPLITS = {2: ("train", "validation"), 3: ("train", "validation", "test")}

_DECIMAL = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)", re.IGNORECASE | re.ASCII)
_BYTES_PER_UNIT = {
    "": 1,
    "b": 1,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
}
_WRITTEN_UNITS = {"TiB": 1 << 40, "GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10}
_TWO_SIDES = re.compile(r"\s*(\d+)\s*[xX×*,]\s*(\d+)\s*")


def parse_split_values(text: str, *, option: str) -> dict[str, str]:
    """Parse ``name=value,name=value``, keeping order and names.

    Args:
        text: The option's value; blanks around names and values are ignored.
        option: Name of the option, for errors.
    """
    values: dict[str, str] = {}
    given: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            found = f"{named(option)} {text!r} has the part {part.strip()!r}"
            raise CallError(f"{found}, which is not of the form name=value.")
        split = check_split_name(name)
        if split in given:
            found = f"{named(option)} {text!r} names the split {split} twice"
            raise CallError(f"{found}, as {given[split]!r} and {name!r}.")
        given[split] = name
        values[name] = value
    return values


def parse_ratios(text: str) -> dict[str, Fraction]:
    """Parse the value of `--splits` as exact fractions, keeping order and names.

    ``train=0.8,validation=0.1,test=0.1``, ``train=80%,val=20%`` and, without names, ``80/10/10`` or ``0.8,0.2``: two
    numbers are train and validation, three are train, validation and test.
    """
    values = parse_split_values(text, option="splits") if "=" in text else _unnamed_values(text)
    what = f"{named('splits')} {text!r}"
    numbers = {}
    for name, value in values.items():
        number = value.removesuffix("%").strip()
        if not _DECIMAL.fullmatch(number):
            raise CallError(f"{what} gives {name} the share {value!r}: write a number such as 0.8 or 80.")
        numbers[name] = Fraction(number)
        if numbers[name] == 0:
            raise CallError(f"{what} gives {name} the share {value}: it must be above 0, or left out.")
    total, in_percent = sum(numbers.values()), any(value.endswith("%") for value in values.values())
    if total != 100 and (total != 1 or in_percent):
        wanted = "100 %" if in_percent else "1 or 100"
        raise CallError(f"{what} adds to {decimal_text(total)}: the shares must add to exactly {wanted}.")
    ratios = {name: number / total for name, number in numbers.items()}
    for name, ratio in ratios.items():
        if MAX_RATIO_DENOMINATOR % ratio.denominator:
            share = decimal_text(ratio)
            raise CallError(f"{what} gives {name} the share {share}: write at most {MAX_RATIO_DECIMALS} decimals.")
    return ratios


def _unnamed_values(text: str) -> dict[str, str]:
    """Return the numbers of ``80/10/10`` by the split that each is for."""
    values = [value.strip() for value in re.split("[,/]", text)]
    names = UNNAMED_SPLITS.get(len(values))
    if names is None:
        raise CallError(
            f"{named('splits')} {text!r} is neither two numbers (80/20: train, validation) nor three (80/10/10: train, "
            "validation, test); for other splits write names, such as train=0.7,a=0.2,b=0.1."
        )
    return dict(zip(names, values, strict=True))


def decimal_text(number: Fraction | int) -> str:
    """Return a decimal fraction as text without superfluous zeros."""
    return f"{(Decimal(number.numerator) / Decimal(number.denominator)).normalize():f}"


def shares_text(shares: Mapping[str, Fraction]) -> str:
    """Return shares as a value of `--splits`, such as ``train=0.8,test=0.2``."""
    return ",".join(f"{name}={decimal_text(share)}" for name, share in shares.items())


def parse_shards(text: str) -> int | dict[str, int]:
    """Parse ``64`` (shards of every split) or ``train=64,validation=8``."""
    if "=" not in text and "," not in text:
        return _number_of_shards(text.strip(), text)
    return {name: _number_of_shards(value, text) for name, value in parse_split_values(text, option="shards").items()}


def _number_of_shards(value: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]+", value, re.ASCII) or int(value) < 1:
        raise CallError(
            f"{named('shards')} {text!r} has the number {value!r}: write whole numbers of at least 1, "
            "like 64 or train=64,validation=8."
        )
    return int(value)


def parse_size(text: str) -> int:
    """Parse ``128MiB``, ``1.5 GB`` or ``4096`` as bytes: KiB, MiB, GiB are powers of 1024, KB, MB, GB of 1000.

    Case does not matter; a fraction of a byte is dropped.
    """
    match = _SIZE.fullmatch(text.strip())
    if not match or match[2].lower() not in _BYTES_PER_UNIT:
        raise CallError(
            f"the size {text!r} is not a number followed by KiB, MiB, GiB, KB, MB, GB or nothing (bytes): "
            "write it like 128MiB."
        )
    num_bytes = int(Fraction(match[1]) * _BYTES_PER_UNIT[match[2].lower()])
    if num_bytes < 1:
        raise CallError(f"the size {text!r} is {num_bytes} bytes: it must be at least 1.")
    return num_bytes


def size_as_option(num_bytes: int) -> str:
    """Return a size as a user writes it in an option: ``128MiB``; in bytes if it is not a whole number of a unit."""
    for unit, size in _WRITTEN_UNITS.items():
        if num_bytes and num_bytes % size == 0:
            return f"{num_bytes // size}{unit}"
    return str(num_bytes)


def within(option: str, value: object, low: int, high: int) -> None:
    """Check the range of an option's value."""
    if not isinstance(value, Integral):
        raise CallError(f"{named(option)} must be a whole number from {low} to {high}; found {value!r}")
    if not low <= int(value) <= high:
        raise CallError(f"{named(option)} must be from {low} to {high}; found {value}")


def parse_side(option: str, value: object) -> int:
    """Read the length of one side in pixels for `resize` or `max_side`: a whole number, or its digits."""
    if isinstance(value, Integral):
        return int(value)
    text = "x".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    if text.strip().isascii() and text.strip().removeprefix("-").isdecimal():
        return int(text)
    both = _TWO_SIDES.fullmatch(text)
    remedy = (
        f"{named('size', f'{both[1]}x{both[2]}')} gives every image this height and width"
        if both
        else "write a number like 256"
    )
    raise CallError(f"{named(option)} is one number, the length of a side in pixels; found {value!r}; {remedy}")


def image_size_text(size: tuple[int, int]) -> str:
    """Return height and width in pixels as `parse_image_size` reads them."""
    return "x".join(map(str, size))


def parse_image_size(text: str) -> tuple[int, int]:
    """Read ``256x320``: height and width in pixels."""
    height, by, width = text.strip().lower().replace("×", "x").partition("x")
    if height.isascii() and height.isdecimal() and not by:
        raise CallError(
            f"{named('size')} is HEIGHTxWIDTH; found {text!r}; write {named('size', f'{height}x{height}')} for a "
            f"square, or {named('resize', int(height))} to reduce the shorter side and keep the shape"
        )
    if not (height + width).isascii() or not height.isdecimal() or not width.isdecimal():
        raise CallError(f"{named('size')} is HEIGHTxWIDTH in pixels, such as 256x320; found {text!r}")
    return int(height), int(width)
