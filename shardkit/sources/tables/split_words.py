"""Find out which split a file's name, or the values of a column, mean."""

import posixpath
import re
from collections.abc import Sequence
from typing import Any

from shardkit.naming import split_of_folder
from shardkit.sources.tables.column_names import is_split, plain

# Words of a name: TrainImages, train_val_list, trainlist01, splits-testset.
_WORDS = re.compile(
    r"(?<![a-z])(trainval|training|train|validation|validate|valid|val|dev|testing|test)"
    r"(?:lists?|sets?|splits?|images?|imgs?|files?|data|ids?|labels?)?(?![a-z])"
)
_CASES = re.compile(r"(?<=[a-z])(?=[A-Z])")
# Whole names of files, as of VireoFood-172's TR.txt, VAL.txt and TE.txt.
_SHORT = {"tr": "train", "trn": "train", "vl": "validation", "te": "test", "tst": "test"}
# CelebA's list_eval_partition: "0" represents training image, "1" validation, "2" testing.
_PARTITION = {"0": "train", "1": "validation", "2": "test"}
_PARTITION_COLUMNS = frozenset({"partition", "evaluationstatus", "splitid", "setid"})
# CUB's train_test_split and the columns modelled on it: 1 is for training, 0 for testing.
_IS_TRAIN_COLUMNS = frozenset({"istraining", "istrain", "intrain", "istrainingimage"})
# fast.ai's is_valid is for validation, and the rest for training.
_IS_VALIDATION_COLUMNS = frozenset({"isvalid", "isval", "isvalidation", "invalidation"})
_IS_TEST_COLUMNS = frozenset({"istest", "istesting", "intest", "istestimage"})


def _of_flag(yes: str, no: str) -> dict[str, str]:
    return {"1": yes, "0": no, "true": yes, "false": no, "1.0": yes, "0.0": no}


_FLAGS = (
    (_IS_TRAIN_COLUMNS, _of_flag("train", "test")),
    (_IS_VALIDATION_COLUMNS, _of_flag("validation", "train")),
    (_IS_TEST_COLUMNS, _of_flag("test", "train")),
)


def split_of_file(path: str) -> str | None:
    """Return the split that a file's name means, such as ``one-indexed-files_val.txt``; None for none.

    ``train_val`` is for training: what is for validation is part of it. A path that ends in '/' is a folder, whose name
    has no ending: ``a. Training Set/``.
    """
    stem = posixpath.basename(path[:-1]) if path.endswith("/") else posixpath.splitext(posixpath.basename(path))[0]
    if not path.endswith("/") and (split := _SHORT.get(stem.lower())):
        return split
    words = _WORDS.findall(_CASES.sub("_", stem).lower())
    splits = {"train" if word == "trainval" else split_of_folder(word) for word in words}
    if splits == {"train", "validation"}:
        return "train"
    return splits.pop() if len(splits) == 1 else None


def holds_splits(name: str, values: Sequence[Any]) -> bool:
    """Return whether a column gives splits: all values are words of splits, or numbers that its name explains."""
    texts = {str(value).strip().lower() for value in values if value not in (None, "")}
    if not texts:
        return False
    if all(map(is_split, texts)):
        return len(texts) > 1 or plain(name) in _PARTITION_COLUMNS
    return are_numbers_of_splits(name, values)


def are_numbers_of_splits(name: str, values: Sequence[Any]) -> bool:
    """Return whether all values of a column are numbers that stand for splits, as its name says: ``is_train``."""
    texts = {str(value).strip().lower() for value in values if value not in (None, "")}
    known = _numbers(name)
    # 0 and 1 alone may be for training and testing.
    return bool(texts) and texts <= known.keys() and (known is not _PARTITION or texts == _PARTITION.keys())


def split_of_value(value: Any, name: str) -> str | None:
    """Return the split that a value of such a column means; None for none.

    Args:
        value: The value.
        name: The column's name.
    """
    return split_of_folder(str(value).strip().lower()) or number_of_split(name, str(value))


def number_of_split(name: str, text: str) -> str | None:
    """Return the split that a number in a column means; None for none."""
    return _numbers(name).get(text.strip().lower())


def _numbers(name: str) -> dict[str, str]:
    if plain(name) in _PARTITION_COLUMNS:
        return _PARTITION
    return next((flags for names, flags in _FLAGS if plain(name) in names), {})
