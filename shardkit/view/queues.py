"""Examples that deserve a look: conflicting labels, copies, images unlike their class.

Sets of examples with a difference of labels come first, then those in several splits, then the others.
"""

import numpy as np
import numpy.typing as npt

from shardkit.conversion.planning.splits.grouping import digest_prefixes
from shardkit.dataset.features import LABEL, OBJECTS, label_feature
from shardkit.dataset.index.perceptual_hashes import hash_words
from shardkit.errors import CallError
from shardkit.images.similar.similar_sets import alike_text, unhashed_text
from shardkit.naming import counted
from shardkit.options.words import named
from shardkit.statistics.repeated import Sets, equal_sets, label_codes, labels_of, near_copies
from shardkit.view.lists import Find, Found, Show, classes_of
from shardkit.view.rows import Ints, Rows

MOST_COMPARED = 2_000_000  # images; more would take minutes and gigabytes
_Words = npt.NDArray[np.uint64]


def find_conflicts(rows: Rows, show: Show) -> Found:
    """Return the examples whose files have the same bytes and that have different labels."""
    sets = equal_sets(*_contents(rows, show))
    note = (
        f"{counted(sets.num, 'set')} of files with the same bytes and different labels: at most one label is right."
        if sets.num
        else "No file has a copy with the same bytes and another label."
    )
    return in_order(rows, sets, f"{note} Pictures that only look the same are under Near-duplicates.")


def find_copies(rows: Rows, show: Show) -> Found:
    """Return the examples that are identical or near-identical to others, by their files' bytes and hashes.

    Raises:
        CallError: There are too many examples.
    """
    if rows.num > MOST_COMPARED:
        msg = f"{rows.num:,} images are too many to compare while you wait; the limit is {MOST_COMPARED:,}. "
        ways = f"A conversion compares any number, and verify with {named('leaks')} tells copies across splits"
        raise CallError(msg + ways)
    hashed, hashes = [np.zeros(0, np.int64)], [np.zeros((0, 2), np.uint64)]
    contents, labels = _contents(rows, show, (hashed, hashes))
    show(0, 0)
    known = np.concatenate(hashed)
    first, near = near_copies(contents, known, np.concatenate(hashes))
    _, content = np.unique(contents, return_inverse=True)  # the number of each example's content
    # The set of a content: that of its near copies, else a set of its own.
    set_of = np.arange(rows.num)
    is_near = near.codes >= 0
    set_of[content[first[is_near]]] = near.codes[is_near] + rows.num
    note = "Files with the same bytes."
    if len(known):
        note = (
            "Files with the same bytes, and pictures that look nearly the same by a hash of 128 bits, which tells "
            "copies in other sizes, formats and qualities."
        )
    if unhashed := unhashed_text(rows.num - len(known), rows.num):
        note += f" {unhashed[:1].upper()}{unhashed[1:]}."
    if near.num_alike:
        note += f" {alike_text(near.num_alike)}{', so only identical files are listed' if near.is_by_nature else ''}."
    sets = equal_sets(set_of[content].astype(np.uint64), labels, differing=False)
    return in_order(rows, sets, note, has_counts=True)


def queues_of(rows: Rows) -> dict[str, Find]:
    """Return the queues that make sense for a dataset, by their names."""
    from shardkit.view.descriptors import find_unlike

    features, has_classes = rows.manifest.features, bool(classes_of(rows.manifest))
    found: dict[str, Find] = {"conflicts": find_conflicts} if has_classes else {}
    found["copies"] = find_copies
    if has_classes and label_feature(features) == LABEL and f"{OBJECTS}bbox" not in features:
        found["unlike"] = find_unlike
    return found


def in_order(rows: Rows, sets: Sets, note: str, *, has_counts: bool = False) -> Found:
    """Return sets as a list: those with several labels first, then those in several splits.

    Args:
        rows: All examples.
        sets: Sets of them, with their labels as codes.
        note: What the page says about the list.
        has_counts: Whether the note gets the numbers of the sets.
    """
    if not sets.num:
        return Found(sets.rows, sets.rows, note)
    starts = np.concatenate(([0], sets.ends[:-1]))
    split_of = np.searchsorted([stop for _, stop in rows.spans.values()], sets.rows, "right")
    labels_differ, splits_differ = (
        np.maximum.reduceat(codes, starts) != np.minimum.reduceat(codes, starts) for codes in (sets.codes, split_of)
    )
    order = np.lexsort((~splits_differ, ~labels_differ))
    members = [sets.rows[starts[at] : sets.ends[at]] for at in order.tolist()]
    if has_counts:
        counts = {
            "with different labels": int(labels_differ.sum()),
            "with the same label in several splits": int(np.count_nonzero(splits_differ & ~labels_differ)),
        }
        first = ", then ".join(f"{num:,} {what}" for what, num in counts.items() if num)
        note = f"{counted(sets.num, 'set')}{f', first {first}' if first else ''}. {note}"
    return Found(np.concatenate(members), np.repeat(np.arange(sets.num), [len(some) for some in members]), note)


def _contents(rows: Rows, show: Show, hashes: tuple[list[Ints], list[_Words]] | None = None) -> tuple[_Words, _Words]:
    """Return uint64[n], the first 8 bytes of each content's sha256, and uint64[n], a code of each example's labels.

    Args:
        rows: All examples.
        show: Receives how many were read.
        hashes: Receives the numbers of the examples that have a perceptual hash, and the hashes.
    """
    contents, labels = [np.zeros(0, np.uint64)], [np.zeros(0, np.uint64)]
    columns = ["content_sha256", "label", "labels", *(["perceptual_hash"] if hashes else [])]
    for start, table in rows.scan(columns, None, show):
        contents.append(digest_prefixes(table["content_sha256"]))
        labels.append(label_codes(*labels_of(table["label"], table["labels"])))
        if hashes:
            known, words = hash_words(table["perceptual_hash"])
            hashes[0].append(known + start)
            hashes[1].append(words)
    return np.concatenate(contents), np.concatenate(labels)
