"""What a report says about a dataset that was appended to: the balance of its shards, and the commands."""

from shardkit.dataset.manifest import Balance, Manifest
from shardkit.planning.options_text import options_text


def balance_within(manifest: Manifest, split: str) -> Balance:
    """Return the balance of a split's shards; the worst one of the generations, whose sizes differ on purpose."""
    balances = [one.splits[split].balance for one in manifest.history if split in one.splits]
    return Balance(
        count_spread=max(one.count_spread for one in balances),
        class_spread=max(one.class_spread for one in balances),
        bytes_spread=max(one.bytes_spread for one in balances),
    )


def commands(manifest: Manifest) -> str:
    """Return the commands that write such a dataset, one a line, with the options that are not the defaults."""
    if manifest.is_adopted:
        return "shardkit adopt FILES"
    lines = [f"shardkit convert SOURCE OUT {options_text(manifest.options)}"]
    for generation in manifest.history[1:]:
        changed = {name: value for name, value in generation.options.items() if manifest.options.get(name) != value}
        lines.append(f"shardkit append OUT SOURCE_{len(lines) + 1} {options_text(changed)}")
    return "\n".join(line.strip() for line in lines)
