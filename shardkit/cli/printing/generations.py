"""The table of a dataset's generations, which `append` and `info` print."""

from collections.abc import Iterable

from rich.table import Table

from shardkit.cli.printing.tables import table
from shardkit.dataset.manifest import Balance, Manifest


def generations_part(manifest: Manifest) -> list[Table | str]:
    """Return the table of the balance over all generations and in each, and a blank line; nothing for a single one."""
    if not manifest.generations:
        return []
    made = table("generation", "split", "shards", "examples", "count\nspread", "class\nspread", "bytes\nspread")
    made.columns[1].justify = "left"
    whole = [(name, len(one.shards), one.num_examples, one.balance) for name, one in manifest.splits.items()]
    _add_rows(made, "all", whole)
    for one in manifest.generations:
        splits = [(name, part.num_shards, part.num_examples, part.balance) for name, part in one.splits.items()]
        _add_rows(made, one.folder or "(first)", splits)
    return [made, ""]


def _add_rows(made: Table, generation: str, splits: Iterable[tuple[str, int, int, Balance]]) -> None:
    for split, num_shards, num_examples, balance in splits:
        counts = (f"{num_shards:,}", f"{num_examples:,}", f"{balance.count_spread:,}", f"{balance.class_spread:,}")
        made.add_row(generation, split, *counts, f"{balance.bytes_spread:,.1%}")
        generation = ""
