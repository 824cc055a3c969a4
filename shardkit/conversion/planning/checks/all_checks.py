"""All findings about a planned source, in the order in which they are printed."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shardkit.conversion.inventory.parts import Inventory
from shardkit.conversion.planning.checks.annotations import check_boxes, check_turned
from shardkit.conversion.planning.checks.classes import (
    check_counts,
    check_mask_classes,
    check_names,
    find_wrong_reading,
)
from shardkit.conversion.planning.checks.files import check_claims, check_own_splits, check_removed, check_unread
from shardkit.conversion.planning.checks.finding import Finding, with_accepted
from shardkit.conversion.planning.checks.losses import check_losses, check_positions
from shardkit.conversion.planning.checks.repeated import (
    check_earlier,
    check_name_groups,
    check_near_identical,
    check_repeated,
)
from shardkit.conversion.planning.checks.split_classes import check_class_numbers, check_split_classes, label_places
from shardkit.conversion.planning.choosing import ChosenExamples
from shardkit.conversion.planning.earlier_examples import EarlierExamples
from shardkit.conversion.planning.labels import ExampleLabels
from shardkit.conversion.planning.rows import Rows
from shardkit.conversion.planning.splits.assign_splits import own_splits
from shardkit.options.groups import ConvertOptions

# Findings that say nothing about examples that are appended to a dataset.
_OF_A_WHOLE_DATASET = {
    *("one_class", "class_without_image", "class_with_one_image", "class_absent_from_split", "no_validation_split")
}


def check_relations(
    chosen: ChosenExamples, options: ConvertOptions, appended_to: EarlierExamples | None
) -> tuple[Finding, ...]:
    """Return the findings about groups and copies, for `collect_findings`; what they need is large and freed then."""
    return (
        *check_repeated(chosen, options),
        *check_near_identical(chosen, options),
        *check_name_groups(chosen, options),
        *(() if appended_to is None else check_earlier(chosen, appended_to)),
    )


def collect_findings(
    inventory: Inventory,
    good: Rows,
    rejected: pa.Table,
    labels: ExampleLabels,
    counts: dict[str, list[int]],
    repeated: Sequence[Finding],
    options: ConvertOptions,
    appended_to: EarlierExamples | None,
    *,
    is_explicit: bool,
) -> tuple[Finding, ...]:
    """Return all findings; `counts` has the number of examples of each class, by split, in the order of writing."""
    earlier = appended_to.classes if appended_to is not None else ()
    splits, classes = list(counts), labels.classes
    table = inventory.table
    places = label_places(table)
    of_class: npt.NDArray[np.int64] = np.array(list(counts.values()), np.int64)
    has_own_names = options.classes is None and inventory.classes is None
    example = good.lazy_column("key").slice(0, 1)[0].as_py()
    wrong_reading = find_wrong_reading(
        table.schema,
        classes,
        layout=inventory.layout,
        splits=own_splits(good),
        example=example,
        is_explicit=is_explicit,
    )
    found = (
        *(() if wrong_reading is None else (wrong_reading,)),
        *(check_names(classes, is_explicit=is_explicit) if has_own_names else ()),
        *check_split_classes(places, classes, earlier, inventory.reading),
        *(() if earlier else check_class_numbers(places, inventory.classes, inventory.layout)),
        *check_counts(classes, splits, of_class, options),
        *check_mask_classes(good, classes),
        *repeated,
        *check_unread(rejected, len(table), inventory.skipped),
        *check_claims(inventory.claims),
        *check_removed(inventory.removed_before),
        *check_positions(good, options),
        *check_turned(good),
        *check_boxes(good, inventory.layout, inventory.skipped, is_addition=bool(earlier)),
        *check_losses(good, labels, options),
        *check_own_splits(table, rejected, splits, len(good), options),
    )
    left_out = _OF_A_WHOLE_DATASET if appended_to is not None else ()
    return with_accepted((one for one in found if one.code not in left_out), options.accept)
