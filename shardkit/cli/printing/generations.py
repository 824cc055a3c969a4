"""The table of a dataset's generations, which `append` and `info` print."""

from rich.table import Table

from shardkit.cli.printing.tables import table
from shardkit.dataset.manifest import Manifest


def generations_part(manifest: Manifest) -> list[Table | str]:
    """Return the table of the generations with the balance of each, and a blank line; nothing for a single one."""
    if not manifest.generations:
        return []
    made = table("generation", "split", "shards", "examples", "count\nspread", "class\nspread", "bytes\nspread")
    made.columns[1].justify = "left"
    for generation in manifest.generations:
        name = generation.folder or "(first)"
        for split, one in generation.splits.items():
            balance = one.balance
            spread = f"{balance.bytes_spread:.1%}"
            numbers = (f"{one.num_shards:,}", f"{one.num_examples:,}", f"{balance.count_spread:,}")
            made.add_row(name, split, *numbers, f"{balance.class_spread:,}", spread)
            name = ""
    return [made, ""]
