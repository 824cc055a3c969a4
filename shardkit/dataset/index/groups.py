"""Groups of examples: the column of the index, and the patterns by which `group_by` finds them in keys.

A generation that was written before or without a pattern has no groups in its index, and its examples belong to the
groups of later ones all the same.
"""

import re
from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from shardkit.dataset.manifest import Manifest


def has_group(pattern: str) -> bool:
    """Return whether a text is a regular expression with a group, as `group_by` needs it for keys."""
    try:
        return re.compile(pattern).groups > 0
    except re.error:
        return False


def group_patterns(manifest: Manifest) -> list[str]:
    """Return the patterns for keys among the group rules of all generations, each once."""
    rules = (one.options.get("group_by") for one in manifest.history)
    return list(dict.fromkeys(rule for rule in rules if rule is not None and has_group(rule)))


def filled_groups(index: pa.Table, patterns: Iterable[str]) -> pa.ChunkedArray | pa.Array:
    """Return the groups of the examples of an index; for those without one, what a pattern finds in their key.

    Args:
        index: The columns ``key`` and ``group``.
        patterns: Patterns with a group; the first that a key contains counts.
    """
    groups = index["group"]
    searches = [re.compile(pattern).search for pattern in patterns]
    if not searches or not groups.null_count:
        return groups
    missing = pc.is_null(groups)
    found = [_first_group(key, searches) for key in index["key"].filter(missing).to_pylist()]
    return pc.replace_with_mask(groups.combine_chunks(), missing.combine_chunks(), pa.array(found, groups.type))


def _first_group(key: str, searches: Sequence[Callable[[str], re.Match[str] | None]]) -> str | None:
    for search in searches:
        if match := search(key):
            return match[1]
    return None
