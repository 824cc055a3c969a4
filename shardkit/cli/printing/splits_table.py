"""The table of splits and the lines about their balance, which `convert`, `plan` and `info` print."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from rich.table import Table

from shardkit.cli.printing.lines import table
from shardkit.conversion.planning.sizing import format_size
from shardkit.dataset.features import CLASS_LABEL, LABEL, Feature, label_feature
from shardkit.dataset.manifest import Balance, Manifest
from shardkit.dataset.manifest.parts import Generation
from shardkit.dataset.unlabelled import unlabelled_text
from shardkit.naming import counted, printable

if TYPE_CHECKING:
    from shardkit.conversion.planning.plan import SplitPlan

Row: TypeAlias = "SplitRow | SplitPlan"


class SplitRow(NamedTuple):
    """A split of a dataset, with the attributes of a split of a plan."""

    name: str
    class_counts: list[int]  # number of examples of each class
    shard_counts: list[int]  # number of examples of each shard
    num_bytes: int
    balance: Balance  # balance of the shards
    num_unlabelled: int  # number of images that have no label on purpose

    @property
    def num_examples(self) -> int:
        """Number of examples."""
        return sum(self.shard_counts)


def rows_of(manifest: Manifest) -> list[SplitRow]:
    """Return the rows of a dataset."""
    return [
        SplitRow(
            name,
            split.class_counts,
            [shard.num_examples for shard in split.shards],
            split.num_bytes,
            split.balance,
            split.num_unlabelled,
        )
        for name, split in manifest.splits.items()
    ]


def splits_table(rows: Iterable[Row], bytes_head: str) -> Table:
    """Return a table with one row per split."""
    made = table("split", "classes", "shards", "examples", bytes_head, "examples\nper shard")
    for row in rows:
        made.add_row(
            row.name,
            f"{sum(map(bool, row.class_counts)):,}" if any(row.class_counts) else "–",
            f"{len(row.shard_counts):,}",
            f"{row.num_examples:,}",
            format_size(row.num_bytes),
            _span(row.shard_counts),
        )
    return made


def balance_lines(
    rows: Sequence[Row],
    features: Mapping[str, Feature],
    generations: Sequence[Generation] = (),
    dataset: str = "",
) -> list[str]:
    """Return lines that say in words how even the shards of a split are: of all generations first, then within each.

    Args:
        rows: The splits.
        features: Features of the examples.
        generations: The generations, after an append; their shards have different sizes on purpose.
        dataset: The dataset's folder as the user wrote it, for the command that makes all shards even.
    """
    balances = {row.name: row.balance for row in rows}
    most_shards = max((len(row.shard_counts) for row in rows), default=0)
    whole = _whole_lines(balances, most_shards, dataset) if generations else []
    if generations:
        parts = [(one.folder or "the first", name, split) for one in generations for name, split in one.splits.items()]
        balances = {f"{name} of {folder}": split.balance for folder, name, split in parts}
        most_shards = max(split.num_shards for _, _, split in parts)
    if not balances:
        return []
    counts = {name: balance.class_spread for name, balance in balances.items()}
    worst = max(counts, key=lambda name: counts[name])
    answer = "yes" if counts[worst] <= 1 else f"no, up to {counts[worst]:,} apart in {worst}"
    what, within = _balanced(features), "a split of a generation" if generations else "a split"
    lines = [f"{'in each generation, ' if generations else ''}{what}: {answer}"] if what else []
    if most_shards > 1:
        bytes_spread = max(balance.bytes_spread for balance in balances.values())
        lines.append(f"shard sizes within {within} differ by at most {bytes_spread:.2%}")
    unlabelled = unlabelled_text({row.name: row.num_unlabelled for row in rows}, features)
    return [*whole, *lines, *([unlabelled] if unlabelled else [])]


def reasons_lines(reasons: Iterable[Sequence[str]]) -> list[str]:
    """Return lines that explain the number of shards; the first reason of a split names it."""
    indented = [f"  {'  ' * bool(i)}{reason}" for one in reasons for i, reason in enumerate(one)]
    return ["", "Number of shards, step by step:", *indented]


def _whole_lines(balances: Mapping[str, Balance], most_shards: int, dataset: str) -> list[str]:
    """Return the lines about the shards of all generations together."""
    if most_shards <= 1:
        return []
    split = max(balances, key=lambda name: (balances[name].count_spread, balances[name].class_spread))
    worst = balances[split]
    if max(one.count_spread for one in balances.values()) <= 1 >= max(one.class_spread for one in balances.values()):
        return ["over all generations, every class within 1 image per shard: yes"]
    of_class = f", of one class by up to {worst.class_spread:,}" if worst.class_spread else ""
    differ = f"the shards of {split} differ by up to {counted(worst.count_spread, 'image')}{of_class}"
    sizes = f"the largest is {1 + worst.bytes_spread:,.1f} times the smallest"
    return [
        f"over all generations, {differ}; {sizes}",
        f"to make all shards even: shardkit convert {printable(shlex.quote(dataset))} NEW",
    ]


def _balanced(features: Mapping[str, Feature]) -> str:
    """Return what is distributed evenly; see planning.labels.ExampleLabels.strata."""
    if label_feature(features) is None:
        return ""
    if features.get(LABEL) == CLASS_LABEL:
        return "every class within 1 image per shard"
    if LABEL in features:
        return "every tenth of the labels within 1 image per shard"
    return "every class within 1 image per shard (an image counts as its rarest class)"


def _span(counts: list[int]) -> str:
    low, high = min(counts, default=0), max(counts, default=0)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
