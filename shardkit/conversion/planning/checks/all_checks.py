"""All findings about a planned source, in the order in which they are printed."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shardkit.conversion.inventory.columns import features_of
from shardkit.conversion.inventory.inventory import Inventory
from shardkit.conversion.planning.checks.annotations import check_boxes, check_turned
from shardkit.conversion.planning.checks.classes import (
    check_counts,
    check_mask_classes,
    check_names,
    find_wrong_reading,
)
from shardkit.conversion.planning.checks.files import check_claims, check_own_splits, check_removed, check_unread
from shardkit.conversion.planning.checks.finding import Finding
from shardkit.conversion.planning.checks.losses import check_losses, check_positions
from shardkit.conversion.planning.checks.split_classes import (
    check_class_numbers,
    check_split_classes,
    label_places,
)
from shardkit.conversion.planning.labels import ExampleLabels
from shardkit.conversion.planning.rows import Rows
from shardkit.conversion.planning.splits.assign_splits import own_splits
from shardkit.dataset.features import CLASS_LABEL, LABEL
from shardkit.options.groups import ConvertOptions


def collect_findings(
    inventory: Inventory,
    good: Rows,
    rejected: pa.Table,
    labels: ExampleLabels,
    counts: dict[str, list[int]],
    repeated: Sequence[Finding],
    options: ConvertOptions,
    earlier: Sequence[str] = (),
    *,
    is_explicit: bool,
) -> tuple[Finding, ...]:
    """Return all findings about a source.

    `counts` has the number of examples of each class, by split, in the order of writing; `earlier` the classes of the
    dataset that the images are appended to.
    """
    splits, classes = list(counts), labels.classes
    table = inventory.table
    places = label_places(table)
    of_class: npt.NDArray[np.int64] = np.array(list(counts.values()), np.int64)
    has_own_names = options.classes is None and inventory.classes is None
    return (
        *_wrong_reading(inventory, good, classes, is_explicit=is_explicit),
        *(check_names(classes, is_explicit=is_explicit) if has_own_names else ()),
        *check_split_classes(places, classes, inventory.layout, earlier, inventory.reading),
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


def _wrong_reading(
    inventory: Inventory, good: Rows, classes: Sequence[str], *, is_explicit: bool
) -> tuple[Finding, ...]:
    if features_of(inventory.table.schema).get(LABEL) != CLASS_LABEL:
        return ()
    found = find_wrong_reading(
        classes,
        layout=inventory.layout,
        splits=own_splits(good),
        example=good.lazy_column("key").slice(0, 1)[0].as_py(),
        is_explicit=is_explicit,
    )
    return () if found is None else (found,)
