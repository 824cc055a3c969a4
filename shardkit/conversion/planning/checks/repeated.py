"""Check groups and copies: in several splits they leak, with several labels some of them are wrong.

The groups, the exact duplicates and the near-identical images of a source, those that appended images have in common
with their dataset, and groups that file names show.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.conversion.inventory.columns import TARGET
from shardkit.conversion.planning.checks.finding import Finding, Keys
from shardkit.conversion.planning.choosing import ChosenExamples
from shardkit.conversion.planning.earlier_examples import EarlierExamples
from shardkit.conversion.planning.labels import ExampleLabels
from shardkit.conversion.planning.rows import Rows, run_starts
from shardkit.conversion.planning.splits import grouping
from shardkit.conversion.planning.splits.assign_splits import assign_splits, between_blocks
from shardkit.conversion.planning.splits.name_groups import NameGroups, find_name_groups
from shardkit.dataset.index.groups import block_names, last_numbers
from shardkit.errors import CallError
from shardkit.images.similar.similar_sets import alike_text
from shardkit.naming import counted
from shardkit.options.call import Change
from shardkit.options.groups import ConvertOptions
from shardkit.options.words import named

_Ints = npt.NDArray[np.int64]
_BLOCKS = (1000, 500, 200, 100, 50, 20, 10)  # numbers; the largest block that divides well
_MAX_LEFT_OUT = 0.15  # of the images
_FACTOR = 2  # a split has at most so many times the images that it should have, and at least the inverse


def check_repeated(chosen: ChosenExamples, options: ConvertOptions) -> Iterator[Finding]:
    """Yield findings about groups and exact duplicates."""
    groups, duplicates = chosen.relations.group_codes, chosen.relations.duplicate_codes
    if groups is not None:
        leaking = grouping.groups_in_several_splits(groups, chosen.split_of)
        if len(leaking):
            yield Finding(
                "group_in_several_splits",
                "warns",
                f"{counted(len(leaking), 'group')} with images in more than one split",
                first_pairs(chosen.good, groups, chosen.split_of),
                "move each group into one split; otherwise evaluation results are too good",
            )
    if duplicates is not None:
        yield from _copies(chosen, duplicates, options, "exact duplicates")


def check_near_identical(chosen: ChosenExamples, options: ConvertOptions) -> Iterator[Finding]:
    """Yield findings about near-identical images, and about images that look alike by nature."""
    near = chosen.near
    if near is None:
        return
    if near.num_alike:
        which = "no near-identical images are" if near.is_by_nature else "these are not"
        yield Finding(
            "images_alike",
            "hints",
            f"{alike_text(near.num_alike)}, so {which} kept in one split",
            remedy=f"if some belong together, give {named('group_by')}",
        )
    codes = near.codes_of(chosen.good)
    yield from _copies(chosen, codes, options, "near-identical images")
    num_near = int(np.count_nonzero(codes >= 0)) - len(np.unique(codes[codes >= 0]))
    if num_near and not len(grouping.groups_in_several_splits(codes, chosen.split_of)):
        are = "is nearly identical to another one" if num_near == 1 else "are nearly identical to others"
        pairs = first_pairs(chosen.good, codes, np.arange(len(codes), dtype=np.int32))  # any two of a set
        sentence = f"{counted(num_near, 'image')} {are}"
        yield Finding("near_duplicates", "hints", sentence, pairs, remedy="all of a kind are in one split")


def check_earlier(chosen: ChosenExamples, earlier: EarlierExamples) -> Iterator[Finding]:
    """Yield findings about groups of the dataset in another split, and duplicates of its images with another label."""
    yield from _other_labels(chosen.good, earlier)
    groups = chosen.relations.groups
    leaking: dict[str, tuple[int, str]] = {}
    for row, old in ({} if groups is None else earlier.sharing("group", groups)).items():
        split = chosen.names[chosen.split_of[row]]
        if split not in {one["split"] for one in old}:
            leaking.setdefault(old[0]["group"], (row, split))
    if leaking:
        keys = chosen.good["key"]
        yield Finding(
            "group_in_several_splits",
            "warns",
            f"{counted(len(leaking), 'group')} with images of the dataset in another split",
            tuple(f"{keys[row].as_py()} in {split}: {name}" for name, (row, split) in sorted(leaking.items())),
            "move each group into one split; otherwise evaluation results are too good",
        )


def _other_labels(good: Rows, earlier: EarlierExamples) -> Iterator[Finding]:
    twins = earlier.sharing("content_sha256", good["content_sha256"])
    names = good["label_name"].take(pa.array(list(twins), pa.int64())).to_pylist()
    found = []
    for (row, some), name in zip(twins.items(), names, strict=True):
        other = next((twin["key"] for twin in some if twin["label_name"] not in {None, name}), None)
        if name is not None and other is not None:
            found.append((row, other))
    if found:
        keys = good["key"]
        yield Finding(
            "duplicate_with_other_label",
            "warns",
            f"{counted(len(found), 'image')} with the bytes of an image of the dataset that has another label",
            tuple(f"{keys[row].as_py()} and {other}" for row, other in found),
            _correcting(is_single=True),
            has_fixes=True,
        )


def _copies(
    chosen: ChosenExamples,
    codes: _Ints,
    options: ConvertOptions,
    what: Literal["exact duplicates", "near-identical images"],
) -> Iterator[Finding]:
    """Yield findings about copies in several splits and copies with different labels.

    `codes`, int64[n], is the set of copies of each row; negative for none.
    """
    good, labels, split_of = chosen.good, chosen.labels, chosen.split_of
    is_exact = what == "exact duplicates"
    code = "duplicate" if is_exact else "near_duplicate"
    leaking = grouping.groups_in_several_splits(codes, split_of)
    if len(leaking):
        # The source's own splits keep their images: only `drop` helps there.
        fixed = options.dedupe == "drop" or options.appended_to is not None
        changes = [] if fixed else [Change("keep the first of each", {"dedupe": "drop"})]
        is_apart = is_exact and options.dedupe == "ignore"
        if is_apart and options.splits.splits is not None and not options.splits.splits_of and not fixed:
            changes.append(Change("keep them in one split", {"dedupe": "group"}))
        yield Finding(
            f"{code}_in_several_splits",
            "warns",
            f"{counted(len(leaking), 'image')} with {what} in another split (a leak)",
            first_pairs(good, codes, split_of),
            changes=tuple(changes),
        )
    rows, others = label_conflicts(good, codes, labels)
    if len(rows):
        yield Finding(
            f"{code}_with_other_label",
            "warns",
            f"{counted(len(rows), 'image')} with {what} that have different labels",
            Keys(good.lazy_column("key"), rows, others),
            _correcting(is_single=labels.are_single),
            has_fixes=labels.are_single,
        )


def _correcting(*, is_single: bool) -> str:
    """Return how labels of a dataset are corrected, if each image has one class also by a table."""
    labels = f", {named('labels')} corrects labels" if is_single else ""
    return f"convert with {named('drop')} removes images of a dataset{labels}"


def first_pairs(good: Rows, codes: _Ints, split_of: npt.NDArray[np.int32]) -> Keys:
    """Return the first two keys, of different splits, of each group or set of duplicates in several splits."""
    rows, others = _first_differing(codes, lambda order, first: split_of[order] != split_of[first])
    return Keys(good.lazy_column("key"), rows, others)


def label_conflicts(good: Rows, codes: _Ints, labels: ExampleLabels) -> tuple[_Ints, _Ints]:
    """Return the first row of each set of duplicates with different labels, and the first row with another label."""
    if TARGET not in good.column_names:
        return _first_differing(codes, labels.differ)
    targets = good.lazy_column(TARGET)  # numbers: the strata are only deciles of them
    return _first_differing(
        codes, lambda order, first: (_numbers(targets.take(order)) != _numbers(targets.take(first))).any(axis=1)
    )


def _first_differing(codes: _Ints, differ: Callable[[_Ints, _Ints], npt.NDArray[np.bool_]]) -> tuple[_Ints, _Ints]:
    """Return the first row of each set in which rows differ, and the first row that differs from it."""
    rows = np.flatnonzero(codes >= 0)
    if not len(rows):
        return rows, rows
    order = rows[np.argsort(codes[rows], kind="stable")]
    starts = run_starts(codes[order])
    first_of = np.repeat(order[starts], np.diff(starts, append=len(order)))
    differing = np.flatnonzero(differ(order, first_of))
    _, at = np.unique(codes[order[differing]], return_index=True)
    return first_of[differing[at]], order[differing[at]]


def _numbers(targets: pa.ChunkedArray) -> npt.NDArray[np.float32]:
    """Return float32[n, number of targets]."""
    values: npt.NDArray[np.float32] = pc.list_flatten(targets).to_numpy()
    return values.reshape(len(targets), -1)


def check_name_groups(chosen: ChosenExamples, options: ConvertOptions) -> Iterator[Finding]:
    """Yield a finding about groups that file names show and that the splits of shardkit divide."""
    if options.splits.splits is None or chosen.relations.groups is not None or options.appended_to is not None:
        return
    found = find_name_groups(chosen.good.lazy_column("key"), chosen.labels.strata)
    if found is None:
        return
    leaking = grouping.groups_in_several_splits(found.codes, chosen.split_of)
    if not len(leaking):
        return
    each = f"{counted(found.num_groups, 'group')} of images, such as {found.example!r}, and {len(leaking):,} of them"
    one = f"that the images are of one recording, {found.example!r}: parts of it"
    change = _dividing(chosen, options, found)
    yield Finding(
        "name_groups_in_several_splits",
        "warns",
        f"file names show {each if found.num_groups > 1 else one} are in several splits (a leak, if the images of a "
        "recording, patient, day or scene look alike)",
        first_pairs(chosen.good, found.codes, chosen.split_of),
        remedy=""
        if change
        else "there are too few to divide them by these shares: convert images of other groups as another split",
        changes=(change,) if change else (),
    )


def _dividing(chosen: ChosenExamples, options: ConvertOptions, found: NameGroups) -> Change | None:
    """Return the change that gives every split about its share, without dividing groups or at least their blocks."""
    good, wanted = chosen.good, np.bincount(chosen.split_of)
    groups = found.groups(good["key"])
    by_name = options.changed({"group_by": found.pattern})
    if _fits(_tried(chosen, by_name, groups)[0], wanted):
        return Change(f"each of the {found.num_groups:,} groups is in one split", {"group_by": found.pattern})
    numbers = pc.fill_null(last_numbers(good["key"]), 0).to_numpy()
    for block in _BLOCKS:
        num_blocks = len(np.unique(found.codes * (int(numbers.max()) // block + 1) + numbers // block))
        if num_blocks * wanted.min() < _FACTOR * len(good):  # too few for the smallest split
            continue
        in_blocks = by_name.changed({"block": block})
        counts, num_left_out = _tried(chosen, in_blocks, block_names(groups, good["key"], block))
        if _fits(counts, wanted) and num_left_out <= _MAX_LEFT_OUT * len(good):
            meaning = f"blocks of {block} numbers are in one split; {counted(num_left_out, 'image')} between blocks of "
            return Change(f"{meaning}different splits are left out", {"group_by": found.pattern, "block": block})
    return None


def _tried(
    chosen: ChosenExamples, options: ConvertOptions, groups: pa.ChunkedArray
) -> tuple[npt.NDArray[np.int64], int]:
    """Return the number of images of each split that groups give, none if they give none; and of those left out."""
    good, grouped = chosen.good, replace(chosen.relations, groups=groups, group_codes=grouping.group_codes(groups))
    try:
        split_of, names = assign_splits(good, chosen.labels, grouped, options)
    except CallError:
        return np.zeros(0, np.int64), 0
    left_out = between_blocks(good, grouped, split_of, names, options, None)
    return np.bincount(split_of[~left_out], minlength=len(names)), int(left_out.sum())


def _fits(counts: npt.NDArray[np.int64], wanted: npt.NDArray[np.int64]) -> bool:
    is_near = len(counts) == len(wanted) and (counts <= _FACTOR * wanted) & (_FACTOR * counts >= wanted)
    return bool(np.all(is_near))
