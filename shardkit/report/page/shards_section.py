"""The section about the balance of the shards: of all generations, then within each."""

from collections.abc import Sequence

from shardkit.naming import counted
from shardkit.report.collection import Split
from shardkit.report.facts.gathering import Facts
from shardkit.report.page.parts import Section, Table, about_size, percent


def shards_section(facts: Facts) -> Section:
    """Return the section with the balance of the shards."""
    rows = []
    for split in facts.splits:
        counts = split.shard_counts
        low, high = int(counts.min(initial=1 << 60)), int(counts.max(initial=0))
        sizes = "–"
        if split.shard_bytes is not None and len(split.shard_bytes):
            sizes = _range(*(about_size(one) for one in (split.shard_bytes.min(), split.shard_bytes.max())))
        rows.append(
            [
                split.name,
                f"{len(counts):,}",
                _range(f"{min(low, high):,}", f"{high:,}"),
                sizes,
                f"{split.balance.class_spread:,}",
                percent(split.balance.bytes_spread),
            ]
        )
    heads = ["split", "shards", "images per shard", "bytes per shard", "class spread", "bytes spread"]
    note = (
        "Class spread: by how many images the shards of a split differ in the class where they differ most; 1 is as "
        "even as can be. Bytes spread: how much larger the largest shard is than the smallest."
    )
    tables = [Table("Balance of the shards", heads, rows, note), *_generations_tables(facts.splits)]
    has = "were written" if facts.is_dataset else "would be written"
    num = sum(len(split.shard_counts) for split in facts.splits)
    intro = [f"{counted(num, 'shard')} {has}{f', for {facts.hosts:,} hosts that read' if facts.hosts > 1 else ''}."]
    return Section("shards", "Shards", intro, tables=tables)


def _range(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def _generations_tables(splits: Sequence[Split]) -> list[Table]:
    """Return the table of the balance within each generation; nothing without appends."""
    rows = [
        [
            f"{split.name} of {folder or 'the first'}",
            f"{part.num_shards:,}",
            f"{part.num_examples:,}",
            f"{part.balance.count_spread:,}",
            f"{part.balance.class_spread:,}",
            percent(part.balance.bytes_spread),
        ]
        for split in splits
        for folder, part in split.generations
    ]
    heads = ["generation", "shards", "images", "count spread", "class spread", "bytes spread"]
    note = "Shards of different generations have different sizes, because an append rewrites none."
    return [Table("Balance within each generation", heads, rows, note)] if rows else []
