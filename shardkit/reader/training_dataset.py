"""The dataset that this process trains on, for commands in messages.

A callback sees batches, not where they come from, so the reader remembers the datasets that it was asked to train on.
"""

from collections.abc import Sequence

UNKNOWN = "DATASET"

_trained = set[str]()


def remember_training(places: Sequence[str]) -> None:
    """Remember the datasets of an input function.

    Args:
        places: Their folders.
    """
    _trained.update(places)


def training_dataset() -> str:
    """Return the dataset of all input functions for training so far.

    It is `UNKNOWN` if there were none or several.
    """
    return next(iter(_trained)) if len(_trained) == 1 else UNKNOWN
