"""How many shards a split has: large enough to stream, many enough to share, and the reasons in plain English."""

import re
from dataclasses import dataclass
from fractions import Fraction

from shardkit.errors import CallError
from shardkit.planning.splitting import parse_split_values

TARGET_SHARD_BYTES = 128 << 20  # 128 MiB
# TensorFlow's TFRecord tutorial: at least 10 files per reading host, each 10 MB or more and better 100 MB or more.
MIN_SHARD_BYTES = 10 << 20  # 10 MiB
MAX_SHARD_BYTES = 1 << 30  # 1 GiB
MIN_SHARDS_PER_HOST = 10

_BYTES_OF_DISPLAY_UNIT = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
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


@dataclass(frozen=True, slots=True)
class ShardCount:
    """The number of shards of one split, and the sentences that explain it, in the order of the decisions."""

    num_shards: int
    reasons: tuple[str, ...]


def parse_size(text: str) -> int:
    """Read ``128MiB``, ``1.5 GB`` or ``4096`` as bytes: KiB, MiB, GiB are powers of 1024, KB, MB, GB of 1000.

    Case does not matter; a fraction of a byte is dropped.

    Raises:
        CallError: not a number and a known unit, or less than one byte.
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


def format_size(num_bytes: int) -> str:
    """Bytes for people, in binary units with at most one decimal: ``128 MiB``, ``12.5 KiB``, ``7 bytes``."""
    if num_bytes < 1 << 10:
        return f"{num_bytes} byte{'' if num_bytes == 1 else 's'}"
    # Rounded half up, in tenths, before the unit is chosen, so that nothing prints as 1,024 KiB.
    tenths_in = {
        unit: (num_bytes * 20 + unit_bytes) // (2 * unit_bytes) for unit, unit_bytes in _BYTES_OF_DISPLAY_UNIT.items()
    }
    unit = next((unit for unit, tenths in tenths_in.items() if tenths < 10 << 10), "TiB")
    whole, tenth = divmod(tenths_in[unit], 10)
    return f"{whole:,}{f'.{tenth}' if tenth else ''} {unit}"


def parse_shards(text: str) -> int | dict[str, int]:
    """Read ``64``, shards of every split, or ``train=64,validation=8``, of the splits named.

    Raises:
        CallError: a number that is not a whole one of at least 1, or a malformed part (see `parse_split_values`).
    """
    if "=" not in text and "," not in text:
        return _shard_count(text.strip(), text)
    return {name: _shard_count(value, text) for name, value in parse_split_values(text, option="--shards").items()}


def check_target_bytes(target_bytes: int) -> None:
    """Check the size that shards aim at.

    Raises:
        CallError: it is below MIN_SHARD_BYTES or above MAX_SHARD_BYTES.
    """
    if not MIN_SHARD_BYTES <= target_bytes <= MAX_SHARD_BYTES:
        raise CallError(
            f"a shard size of {format_size(target_bytes)} is not between {format_size(MIN_SHARD_BYTES)} and "
            f"{format_size(MAX_SHARD_BYTES)}, which read well: choose one that is, or give the number with --shards."
        )


def check_requested(split: str, num_examples: int, requested: int) -> None:
    """Check the number of shards that the user asked for.

    Raises:
        CallError: there are fewer examples, and some are there: a split without any has no shard.
    """
    if 0 < num_examples < requested:
        raise CallError(
            f"{_count(requested, 'shard')} were requested for {split}, which has only "
            f"{_count(num_examples, 'example')}: request at most {num_examples:,}."
        )


def choose_num_shards(
    *,
    split: str,
    num_examples: int,
    num_bytes: int,
    target_bytes: int = TARGET_SHARD_BYTES,
    pipelines: int = 1,
    hosts: int = 1,
    requested: int | None = None,
) -> ShardCount:
    """Choose the number of shards of one split, and say why.

    The wishes, the stronger first; a weaker one gives way, and the reasons say so:

    1. A number requested is taken as it is.
    2. Never more shards than examples.
    3. A multiple of the input pipelines, so that each reads as many shards as the others.
    4. On average at least 10 MiB a shard.
    5. At least ten shards for each reading host.
    6. On average at most target_bytes a shard.

    Args:
        split: its name, for the sentences.
        num_examples: 0 or more; without any there is no shard, whatever was requested.
        num_bytes: of all its examples together.
        target_bytes: wanted size of a shard, 10 MiB to 1 GiB.
        pipelines: input pipelines that will read side by side, at least 1.
        hosts: machines that will read side by side, at least 1.
        requested: the number the user asked for, at least 1.

    Raises:
        CallError: more shards requested than there are examples, or an argument outside the range given above.
    """
    check_target_bytes(target_bytes)
    for what, value in (("input pipelines", pipelines), ("reading hosts", hosts), ("shards", requested)):
        if value is not None and value < 1:
            raise CallError(f"the number of {what} is {value}: it must be at least 1.")
    if num_examples == 0:
        return ShardCount(0, (f"{split} has no examples, so it has no shards.",))
    if requested is not None:
        return _as_requested(split, num_examples, num_bytes, pipelines, requested)

    reasons = [f"{split} has {_count(num_examples, 'example')}, {format_size(num_bytes)}."]
    by_floor = max(1, num_bytes // MIN_SHARD_BYTES)
    num_shards = min(by_floor, max(1, -(-num_bytes // target_bytes)))
    reasons.append(f"At about {format_size(target_bytes)} a shard that makes {_count(num_shards, 'shard')}.")

    by_hosts = MIN_SHARDS_PER_HOST * hosts
    if num_shards < by_hosts:
        num_shards = max(num_shards, min(by_hosts, by_floor))
        wish = f"{_count(hosts, 'reading host')} should find at least {by_hosts} shards, {MIN_SHARDS_PER_HOST} each"
        floor = f"shards under {format_size(MIN_SHARD_BYTES)} read badly"
        kept = f"but {floor}: {num_shards}." if num_shards < by_hosts else f"and {num_shards} are still large enough."
        reasons.append(f"{wish}, {kept}")

    if num_shards % pipelines:
        above = -(-num_shards // pipelines) * pipelines
        num_shards = above if above <= by_floor or above == pipelines else above - pipelines
        reasons.append(f"A multiple of the {pipelines} input pipelines: {num_shards}.")
    if num_shards > num_examples:
        num_shards = num_examples // pipelines * pipelines or num_examples
        reasons.append(f"Never more shards than the {_count(num_examples, 'example')}: {num_shards}.")
    return ShardCount(num_shards, (*reasons, *_outcome(num_shards, num_bytes, pipelines)))


def _as_requested(split: str, num_examples: int, num_bytes: int, pipelines: int, requested: int) -> ShardCount:
    check_requested(split, num_examples, requested)
    reasons = (
        f"{split} has {_count(num_examples, 'example')}, {format_size(num_bytes)}.",
        f"{_count(requested, 'shard')}, as requested.",
    )
    return ShardCount(requested, reasons + _outcome(requested, num_bytes, pipelines))


def _outcome(num_shards: int, num_bytes: int, pipelines: int) -> tuple[str, ...]:
    """The average size reached, and every wish that had to give way."""
    reasons = []
    if num_shards < pipelines:
        reasons.append(f"{pipelines - num_shards} of the {pipelines} input pipelines will find no shard.")
    elif num_shards % pipelines:
        reasons.append(
            f"{num_shards} is not a multiple of the {pipelines} input pipelines: some will read one shard more."
        )
    average = num_bytes // num_shards
    size = f"A shard holds {format_size(average)} on average"
    if average < MIN_SHARD_BYTES:
        size += f", less than the {format_size(MIN_SHARD_BYTES)} from which shards read well"
    elif average > MAX_SHARD_BYTES:
        size += f", more than the {format_size(MAX_SHARD_BYTES)} up to which shards are handy"
    return (*reasons, f"{size}.")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _shard_count(value: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]+", value, re.ASCII) or int(value) < 1:
        raise CallError(
            f"--shards {text!r} has the number {value!r}: write whole numbers of at least 1, "
            "like 64 or train=64,validation=8."
        )
    return int(value)
