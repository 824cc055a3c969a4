"""Groups of examples: the column of the index, and the patterns by which `group_by` finds them in keys.

A generation that was written before or without a pattern has no groups in its index, and its examples belong to the
groups of later ones all the same.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from shardkit.dataset.manifest import Manifest

_LAST_NUMBER = r"(?P<number>[0-9]{1,18})[^0-9/]*(?:\.[^./]*)?$"


def has_group(pattern: str) -> bool:
    """Return whether a text is a regular expression with a group, as `group_by` needs it for keys."""
    try:
        return re.compile(pattern).groups > 0
    except re.error:
        return False


class GroupRule(NamedTuple):
    """How groups are found in keys.

    Attributes:
        pattern: A regular expression with a group.
        block: Numbers of a block, into which the groups are divided; None for whole groups.
    """

    pattern: str
    block: int | None = None


def group_rules(manifest: Manifest) -> list[GroupRule]:
    """Return the rules with patterns for keys among those of all generations, each once."""
    rules = [(one.options.get("group_by"), one.options.get("block")) for one in manifest.history]
    found = (GroupRule(rule, block if isinstance(block, int) and block > 0 else None) for rule, block in rules if rule)
    return list(dict.fromkeys(rule for rule in found if has_group(rule.pattern)))


def filled_groups(index: pa.Table, rules: Iterable[GroupRule]) -> pa.ChunkedArray | pa.Array:
    """Return the groups of the examples of an index; for those without one, what a rule finds in their key.

    Args:
        index: The columns ``key`` and ``group``.
        rules: The rules; the first whose pattern a key contains counts.
    """
    groups = index["group"]
    if not (rules := list(rules)) or not groups.null_count:
        return groups
    missing = pc.is_null(groups)
    keys = index["key"].filter(missing).combine_chunks()
    found = pa.nulls(len(keys), pa.string())
    for rule in rules:
        search = re.compile(rule.pattern).search
        names = pa.array([match[1] if (match := search(key)) else None for key in keys.to_pylist()], pa.string())
        found = pc.coalesce(found, names if rule.block is None else block_names(names, keys, rule.block))
    return pc.replace_with_mask(groups.combine_chunks(), missing.combine_chunks(), found.cast(groups.type))


def block_names(groups: pa.ChunkedArray, keys: pa.ChunkedArray, block: int) -> pa.ChunkedArray:
    """Return the names of blocks of groups, such as ``rec07/12``; null without a group.

    A block is made of consecutive numbers and not of so many images: then an image stays in its block when others are
    added.

    Args:
        groups: The group of each key.
        keys: The keys.
        block: How many numbers are a block.
    """
    numbers = pc.cast(pc.divide(last_numbers(keys), block), pa.string())
    return pc.coalesce(pc.binary_join_element_wise(groups, numbers, "/"), groups)


def last_numbers(keys: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return int64[n], the last number in the file name of each key, or its last 18 digits; null without one."""
    return pc.cast(pc.struct_field(pc.extract_regex(keys, _LAST_NUMBER), "number"), pa.int64())
