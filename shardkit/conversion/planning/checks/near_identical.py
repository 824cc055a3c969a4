"""Check images that are nearly identical: in several splits they leak, with different labels one label is wrong."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from shardkit.conversion.planning.checks.finding import Finding
from shardkit.conversion.planning.checks.repeated import copies_findings, first_pairs
from shardkit.conversion.planning.labels import ExampleLabels
from shardkit.conversion.planning.near_duplicates import NearDuplicates
from shardkit.conversion.planning.rows import Rows
from shardkit.conversion.planning.splits import grouping
from shardkit.images.similar.similar_sets import alike_text
from shardkit.naming import counted
from shardkit.options.groups import ConvertOptions
from shardkit.options.words import named


def check_near_identical(
    good: Rows,
    labels: ExampleLabels,
    near: NearDuplicates | None,
    split_of: npt.NDArray[np.int32],
    options: ConvertOptions,
) -> Iterator[Finding]:
    """Yield findings about near-identical images, and about images that look alike by nature.

    Args:
        good: The rows.
        labels: Labels of the rows.
        near: The near-identical images; None if they are not known or do not count.
        split_of: int32[n], index of each row's split.
        options: Options of the conversion.
    """
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
    codes = near.codes_of(good)
    yield from copies_findings(good, codes, labels, split_of, options, "near-identical images")
    num_near = int(np.count_nonzero(codes >= 0)) - len(np.unique(codes[codes >= 0]))
    if num_near and not len(grouping.groups_in_several_splits(codes, split_of)):
        are = "is nearly identical to another one" if num_near == 1 else "are nearly identical to others"
        pairs = first_pairs(good, codes, np.arange(len(codes), dtype=np.int32))  # any two of a set
        sentence = f"{counted(num_near, 'image')} {are}"
        yield Finding("near_duplicates", "hints", sentence, pairs, remedy="all of a kind are in one split")
