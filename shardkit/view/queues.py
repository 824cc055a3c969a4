"""Examples that deserve a look: conflicting labels, copies, images unlike their class.

Sets of examples with a difference of labels come first, then those in several splits, then the others.
"""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.dataset.features import LABEL, OBJECTS, label_feature
from shardkit.dataset.index.perceptual_hashes import hash_words
from shardkit.errors import CallError
from shardkit.images.similar.similar_sets import alike_text, similar_sets
from shardkit.naming import counted
from shardkit.options.words import named
from shardkit.view.lists import Find, Found, Show, classes_of
from shardkit.view.rows import Ints, Rows

MOST_COMPARED = 2_000_000  # images; more would take minutes and gigabytes
_Words = npt.NDArray[np.uint64]


def find_conflicts(rows: Rows, show: Show) -> Found:
    """Return the examples whose files have the same bytes and that have different labels."""
    contents, labels = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
    codes: dict[tuple[int, ...], int] = {}
    for _, table in rows.scan(["content_sha256", "label", "labels"], None, show):
        contents.append(_first_words(table["content_sha256"], 32))
        labels.append(_label_codes(table, codes))
    order, starts = runs(np.concatenate(contents))
    kept = _differing(order, starts, np.concatenate(labels))
    note = (
        "Files with the same bytes and different labels: at most one of the labels is right."
        if any(kept)
        else "No file has a copy with the same bytes and another label."
    )
    return in_sets(rows, [order[start:stop] for start, stop in _pairs(starts, len(order), kept)], None, note)


def find_copies(rows: Rows, show: Show) -> Found:
    """Return the examples that are identical or near-identical to others, by their files' bytes and hashes.

    Raises:
        CallError: There are too many examples.
    """
    if rows.num > MOST_COMPARED:
        msg = f"{rows.num:,} images are too many to compare while you wait; the limit is {MOST_COMPARED:,}. "
        ways = f"A conversion compares any number, and verify with {named('leaks')} tells copies across splits"
        raise CallError(msg + ways)
    contents, labels = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
    hashed, hashes = [np.zeros(0, np.int64)], [np.zeros((0, 2), np.uint64)]
    codes: dict[tuple[int, ...], int] = {}
    for start, table in rows.scan(["content_sha256", "perceptual_hash", "label", "labels"], None, show):
        contents.append(_first_words(table["content_sha256"], 32))
        labels.append(_label_codes(table, codes))
        known, words = hash_words(table["perceptual_hash"])
        hashed.append(known + start)
        hashes.append(words)
    show(0, 0)
    order, starts = runs(np.concatenate(contents))
    content = np.empty(len(order), np.int64)  # the number of each example's content
    content[order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(order)))
    _, first = np.unique(content[np.concatenate(hashed)], return_index=True)  # one of each content
    rows_hashed = np.concatenate(hashed)[first]
    near = similar_sets(np.concatenate(hashes)[first])
    # The set of a content: that of its near copies, else a set of its own; kept if it has two examples.
    set_of = np.arange(len(starts))
    is_near = near.codes >= 0
    set_of[content[rows_hashed[is_near]]] = near.codes[is_near] + len(starts)
    order, starts = runs(set_of[content].view(np.uint64))
    kept = (np.diff(starts, append=len(order)) > 1).tolist()
    note = (
        "Files with the same bytes, and pictures that look nearly the same by a hash of 128 bits, which tells copies in"
        " other sizes, formats and qualities. It knows no image below 64 pixels."
    )
    if near.num_alike:
        note += f" {alike_text(near.num_alike)}{', so only identical files are listed' if near.is_by_nature else ''}."
    if not len(rows_hashed):
        note = "Files with the same bytes. This dataset has no hashes of what images look like."
    members = [order[start:stop] for start, stop in _pairs(starts, len(order), kept)]
    return in_sets(rows, members, np.concatenate(labels), note)


def queues_of(rows: Rows) -> dict[str, Find]:
    """Return the queues that make sense for a dataset, by their names."""
    from shardkit.view.descriptors import find_unlike

    features, has_classes = rows.manifest.features, bool(classes_of(rows.manifest))
    found: dict[str, Find] = {"conflicts": find_conflicts} if has_classes else {}
    found["copies"] = find_copies
    if has_classes and label_feature(features) == LABEL and f"{OBJECTS}bbox" not in features:
        found["unlike"] = find_unlike
    return found


def runs(values: _Words) -> tuple[Ints, Ints]:
    """Return the order that puts equal values next to each other, and where each run of them starts."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    return order, np.flatnonzero(np.concatenate((np.ones(min(len(values), 1), np.bool_), ordered[1:] != ordered[:-1])))


def in_sets(rows: Rows, members: list[Ints], labels: Ints | None, note: str) -> Found:
    """Return sets as a list: those with several labels first, then those in several splits.

    Args:
        rows: All examples.
        members: Their numbers, ascending within each set.
        labels: int64[n], the label of all examples; None if the sets are in order.
        note: What the page says about the list.
    """
    ends = np.array([stop for _, stop in rows.spans.values()])

    def rank(some: Ints) -> tuple[bool, bool, int]:
        splits = np.searchsorted(ends, some, "right")
        is_same = labels is None or bool((labels[some] == labels[some[0]]).all())
        return is_same, bool((splits == splits[0]).all()), int(some[0])

    members = sorted(members, key=rank)
    if not members:
        return Found(np.zeros(0, np.int64), np.zeros(0, np.int64), note)
    sets = np.repeat(np.arange(len(members)), [len(some) for some in members])
    return Found(np.concatenate(members), sets, f"{note} {counted(len(members), 'set')}.")


def _pairs(starts: Ints, end: int, kept: list[bool]) -> Iterator[tuple[int, int]]:
    bounds = zip(starts.tolist(), [*starts[1:].tolist(), end], strict=True)
    return (pair for pair, is_kept in zip(bounds, kept, strict=True) if is_kept)


def _differing(order: Ints, starts: Ints, labels: Ints) -> list[bool]:
    """Return whether each run has several labels."""
    if not len(order):
        return []
    lowest, highest = (function.reduceat(labels[order], starts) for function in (np.minimum, np.maximum))
    return (lowest != highest).tolist()  # type: ignore[no-any-return]


def _first_words(column: pa.ChunkedArray, width: int) -> _Words:
    """Return uint64[n], the first 8 bytes of each digest; two of a million agree in one of 30 million datasets."""
    chunk = column.combine_chunks()
    words = np.frombuffer(chunk.buffers()[1], "<u8").reshape(-1, width // 8)
    first: _Words = words[chunk.offset : chunk.offset + len(chunk), 0].copy()
    return first


def _label_codes(table: pa.Table, codes: dict[tuple[int, ...], int]) -> Ints:
    """Return int64[n], a number for the label or labels of each example, the same for equal ones."""
    single = table["label"]
    if single.null_count == 0:
        return single.to_numpy().astype(np.int64)  # type: ignore[no-any-return]
    several: Callable[[], list[list[int] | None]] = table["labels"].to_pylist
    singles = pc.fill_null(single, -1).to_pylist()
    found = ((one,) if one >= 0 else tuple(more or ()) for one, more in zip(singles, several(), strict=True))
    # Apart from the numbers of single labels.
    return np.array(
        [labels[0] if len(labels) == 1 else -1 - codes.setdefault(labels, len(codes)) for labels in found], np.int64
    )
