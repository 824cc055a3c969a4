"""Choose the number of shards of a split, and explain the choice to the user."""

from dataclasses import dataclass

from shardkit.errors import CallError
from shardkit.naming import counted
from shardkit.options.groups import MAX_SHARD_BYTES, MIN_SHARD_BYTES, TARGET_SHARD_BYTES

MIN_SHARDS = 10  # for one reading host; see MIN_SHARD_BYTES

_BYTES_OF_DISPLAY_UNIT = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


@dataclass(frozen=True, slots=True)
class ShardCount:
    """The number of shards of a split, and the sentences that explain it, in the order of the decisions."""

    num_shards: int
    reasons: tuple[str, ...]


def format_size(num_bytes: int) -> str:
    """Format a size in binary units with at most one decimal: ``128 MiB``, ``12.5 KiB``, ``7 bytes``."""
    if num_bytes < 1 << 10:
        return counted(num_bytes, "byte")
    # Round half up to tenths before choosing the unit, so that nothing prints as 1,024 KiB.
    tenths_in = {
        unit: (num_bytes * 20 + unit_bytes) // (2 * unit_bytes) for unit, unit_bytes in _BYTES_OF_DISPLAY_UNIT.items()
    }
    unit = next((unit for unit, tenths in tenths_in.items() if tenths < 10 << 10), "TiB")
    whole, tenth = divmod(tenths_in[unit], 10)
    return f"{whole:,}{f'.{tenth}' if tenth else ''} {unit}"


def check_requested(split: str, num_examples: int, requested: int) -> None:
    """Check the number of shards that the user requested."""
    if 0 < num_examples < requested:
        raise CallError(
            f"{counted(requested, 'shard')} were requested for {split}, which has only "
            f"{counted(num_examples, 'example')}: request at most {num_examples:,}."
        )


def choose_num_shards(
    *,
    split: str,
    num_examples: int,
    num_bytes: int,
    target_bytes: int = TARGET_SHARD_BYTES,
    pipelines: int = 1,
    requested: int | None = None,
) -> ShardCount:
    """Choose the number of shards of one split, with the reasons.

    The rules, strongest first. If two rules conflict, the weaker one is broken and the reasons say so:

    1. A requested number is used as it is.
    2. There are never more shards than examples.
    3. The number is a multiple of the input pipelines, so that each reads the same number of shards.
    4. A shard has at least 10 MiB on average.
    5. There are at least ten shards.
    6. A shard has at most target_bytes on average.
    """
    if num_examples == 0:
        return ShardCount(0, (f"{split} has no examples, so it has no shards.",))
    if requested is not None:
        return _as_requested(split, num_examples, num_bytes, pipelines, requested)

    reasons = [f"{split} has {counted(num_examples, 'example')}, {format_size(num_bytes)}."]
    by_floor = max(1, num_bytes // MIN_SHARD_BYTES)
    num_shards = min(by_floor, max(1, -(-num_bytes // target_bytes)))
    reasons.append(f"At about {format_size(target_bytes)} a shard that makes {counted(num_shards, 'shard')}.")

    if num_shards < MIN_SHARDS:
        num_shards = max(num_shards, min(MIN_SHARDS, by_floor))
        rule = f"A reading host should have at least {MIN_SHARDS} shards"
        too_small = f"but shards under {format_size(MIN_SHARD_BYTES)} are slow to read: {num_shards}."
        reasons.append(f"{rule}, {too_small if num_shards < MIN_SHARDS else 'and they are still large enough.'}")

    if num_shards % pipelines:
        above = -(-num_shards // pipelines) * pipelines
        num_shards = above if above <= by_floor or above == pipelines else above - pipelines
        reasons.append(f"A multiple of the {pipelines} input pipelines: {num_shards}.")
    if num_shards > num_examples:
        num_shards = num_examples // pipelines * pipelines or num_examples
        reasons.append(f"Never more shards than the {counted(num_examples, 'example')}: {num_shards}.")
    return ShardCount(num_shards, (*reasons, *_outcome(num_shards, num_bytes, pipelines)))


def _as_requested(split: str, num_examples: int, num_bytes: int, pipelines: int, requested: int) -> ShardCount:
    check_requested(split, num_examples, requested)
    reasons = (
        f"{split} has {counted(num_examples, 'example')}, {format_size(num_bytes)}.",
        f"{counted(requested, 'shard')}, as requested.",
    )
    return ShardCount(requested, reasons + _outcome(requested, num_bytes, pipelines))


def _outcome(num_shards: int, num_bytes: int, pipelines: int) -> tuple[str, ...]:
    """Return a sentence with the average size, and one for every broken rule."""
    reasons = []
    if num_shards < pipelines:
        reasons.append(f"{pipelines - num_shards} of the {pipelines} input pipelines will have no shard.")
    elif num_shards % pipelines:
        reasons.append(
            f"{num_shards} is not a multiple of the {pipelines} input pipelines: some will read one shard more."
        )
    average = num_bytes // num_shards
    size = f"A shard holds {format_size(average)} on average"
    if average < MIN_SHARD_BYTES:
        size += f", less than the recommended {format_size(MIN_SHARD_BYTES)}"
    elif average > MAX_SHARD_BYTES:
        size += f", more than the recommended {format_size(MAX_SHARD_BYTES)}"
    return (*reasons, f"{size}.")
