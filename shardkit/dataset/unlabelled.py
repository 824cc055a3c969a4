"""Images of a labelled dataset that have no label on purpose: conditions that choose them, and the check before use.

They are stored with the label `features.NO_LABEL`, so that they can be labelled later, by people or by a model.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from shardkit.dataset.features import LABEL, LABELS, NO_LABEL
from shardkit.errors import CallError


def unlabelled_condition(features: Iterable[str], *, keeps: bool) -> str:
    """Return the condition on the index that keeps, or leaves out, the images without a label.

    Args:
        features: Names of the dataset's features.
        keeps: Whether it keeps them, and leaves out the others.
    """
    if LABELS in set(features):
        return f"{NO_LABEL} {'in' if keeps else 'not in'} {LABELS}"
    return f"{LABEL} {'<' if keeps else '>='} 0"


def unlabelled_text(counts: Mapping[str, int], features: Iterable[str]) -> str:
    """Return the sentence about the images without a label, without a full stop; '' if there are none.

    Args:
        counts: Their number in each split.
        features: Names of the dataset's features.
    """
    total = sum(counts.values())
    if not total:
        return ""
    splits = ", ".join(f"{count:,} in {split}" for split, count in counts.items() if count)
    has = "image has" if total == 1 else "images have"
    condition = unlabelled_condition(features, keeps=False)
    return f'{total:,} {has} no label on purpose ({splits}) and count for no class; train with where="{condition}"'


def check_labelled(features: Iterable[str], num_unlabelled: int, num_examples: int, where: Any) -> None:
    """Check that training or evaluation gets no image without a label, unless `where` chooses only these.

    With the label -1, losses and metrics are wrong without an error: TensorFlow's loss is NaN on a GPU.

    Args:
        features: Names of the dataset's features.
        num_unlabelled: Number of images without a label among the selected examples.
        num_examples: Number of selected examples.
        where: The condition that selects them; None for all examples.

    Raises:
        CallError: There are some.
    """
    if not num_unlabelled or (where is not None and num_unlabelled == num_examples):
        return
    names = set(features)
    only, others = (unlabelled_condition(names, keeps=keeps) for keeps in (True, False))
    if isinstance(where, str):
        only, others = (f"({where}) and {one}" for one in (only, others))
    has = f"{num_unlabelled:,} of the {num_examples:,} selected examples {'has' if num_unlabelled == 1 else 'have'}"
    leave_out = f"leave them out with where={others!r}, or " if num_unlabelled < num_examples else ""
    raise CallError(
        f"{has} no label on purpose, and {NO_LABEL} is no class: {leave_out}read only them with where={only!r}, such "
        "as to predict their labels"
    )
