"""What a report says about a dataset that was appended to: the balance of its shards, and the commands."""

from shardkit.dataset.manifest import Manifest
from shardkit.dataset.manifest.parts import GenerationSplit
from shardkit.planning.options_text import options_text


def parts_of(manifest: Manifest, split: str) -> list[tuple[str, GenerationSplit]]:
    """Return the folder of each generation, '' for the first, and its part of a split; nothing for a single one."""
    return [(one.folder or "", one.splits[split]) for one in manifest.generations if split in one.splits]


def commands(manifest: Manifest) -> str:
    """Return the commands that write such a dataset, one a line, with the options that are not the defaults."""
    if manifest.is_adopted:
        return "shardkit adopt FILES"
    lines = [f"shardkit convert SOURCE OUT {options_text(manifest.options)}"]
    for generation in manifest.history[1:]:
        changed = {name: value for name, value in generation.options.items() if manifest.options.get(name) != value}
        lines.append(f"shardkit append OUT SOURCE_{len(lines) + 1} {options_text(changed)}")
    return "\n".join(line.strip() for line in lines)
