"""Find out which split a file's name, or the values of a column, mean."""

import posixpath
import re
from collections.abc import Iterable, Sequence
from typing import Any

from shardkit.naming import split_of_folder
from shardkit.sources.file_names import stem_of
from shardkit.sources.formats.column_names import SPLIT_COLUMNS, is_discard, is_split, plain, split_of_text
from shardkit.sources.formats.tables.records import Record, TableFile
from shardkit.sources.formats.tables.values import as_text

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
_PARTITION_COLUMNS = frozenset({"evaluationstatus", "splitid", "setid", *map(plain, SPLIT_COLUMNS)})
# CUB's train_test_split and the columns modelled on it: 1 is for training, 0 for testing.
_IS_TRAIN_COLUMNS = frozenset({"istraining", "istrain", "intrain", "istrainingimage"})
# fast.ai's is_valid is for validation, and the rest for training.
_IS_VALIDATION_COLUMNS = frozenset({"isvalid", "isval", "isvalidation", "invalidation"})
_IS_TEST_COLUMNS = frozenset({"istest", "istesting", "intest", "istestimage"})


_MAX_SPLITS = 20  # different words for splits in a column


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
    stem = posixpath.basename(path[:-1]) if path.endswith("/") else stem_of(path)
    if not path.endswith("/") and (split := _SHORT.get(stem.lower())):
        return split
    words = _WORDS.findall(_CASES.sub("_", stem).lower())
    splits = {"train" if word == "trainval" else split_of_folder(word) for word in words}
    if splits == {"train", "validation"}:
        return "train"
    return splits.pop() if len(splits) == 1 else None


def is_split_column(file: TableFile, column: int, first: Sequence[Any]) -> bool:
    """Return whether all values of a column give splits; a table may be sorted by them."""
    name = file.columns[column]
    texts = _texts(first)
    if not texts or not (all(map(is_split, texts)) or texts <= _numbers(name).keys()):
        return False
    return holds_splits(name, _all_texts(file, column))


def numbers_of_splits(file: TableFile, column: int, first: Sequence[Any]) -> dict[str, str]:
    """Return the splits that the numbers in a column stand for; {} if some value is no such number."""
    name = file.columns[column]
    may_be = _texts(first) <= _numbers(name).keys()
    return _numbers(name) if may_be and _are_numbers(name, _all_texts(file, column)) else {}


def holds_splits(name: str, values: Iterable[Any]) -> bool:
    """Return whether values are splits: several words for splits, or numbers that the column's name explains."""
    texts = _texts(values)
    return (len(texts) > 1 and all(map(is_split, texts))) or _are_numbers(name, texts)


def _are_numbers(name: str, texts: set[str]) -> bool:
    known = _numbers(name)
    # 0 and 1 alone may be for training and testing.
    return bool(texts) and texts <= known.keys() and (known is not _PARTITION or texts == _PARTITION.keys())


def _texts(values: Iterable[Any]) -> set[str]:
    return {str(value).strip().lower() for value in values if value not in (None, "")}


def _all_texts(file: TableFile, column: int) -> set[str]:
    """Return the different values of a column, or some of them if there are too many for splits."""
    found: set[str] = set()
    for record in file.all_records(frozenset({column})):
        if record.problem is None:
            found |= _texts([record.values[column]])
            if len(found) > _MAX_SPLITS:
                break
    return found


def split_of_value(value: Any, name: str) -> str | None:
    """Return the split that a value of such a column means; None for none."""
    return split_of_folder(str(value).strip().lower()) or number_of_split(name, str(value))


def number_of_split(name: str, text: str) -> str | None:
    """Return the split that a number in a column means; None for none."""
    return _numbers(name).get(text.strip().lower())


def _numbers(name: str) -> dict[str, str]:
    if plain(name) in _PARTITION_COLUMNS:
        return _PARTITION
    return next((flags for names, flags in _FLAGS if plain(name) in names), {})


def assigns_splits(file: TableFile, prefix: Sequence[Record], column: int) -> bool:
    """Return whether a column of splits gives some record one."""
    # Usually the first record has a split; a table of UNASSIGNED is read to its end.
    if any(_is_assigned(record.values[column]) for record in prefix):
        return True
    records = file.all_records(frozenset({column}))
    return any(record.problem is None and _is_assigned(record.values[column]) for record in records)


def _is_assigned(value: Any) -> bool:
    try:
        return not is_discard(value) and split_of_text(as_text(value)) is not None
    except ValueError:  # a bad name of a split assigns one too
        return True
