"""Tell columns of a table that may hold labels from those of folds, links, indexes and texts of one image."""

import itertools
import re
from collections.abc import Sequence
from typing import Any

from shardkit.sources.engine.labels.profile import are_of_single_images
from shardkit.sources.engine.labels.reading import CROSSES, word_of
from shardkit.sources.formats.column_names import LABEL_COLUMNS, LIKELY_LABEL_COLUMNS, named_like
from shardkit.sources.formats.tables.values import is_number

_OF_FOLDS = re.compile(r"(?:^|[_ -])(?:k?folds?|cv|index|idx)(?:$|[_ -])", re.IGNORECASE)
_FEW_RECORDS = 3  # of fewer, nothing repeats


def may_be_labels(title: str, values: Sequence[Any]) -> bool:
    """Return whether a column may hold labels: it has a usual name for them, or its values repeat or are numbers."""
    texts = [str(value) for value in values if value not in (None, "")]
    if not texts or are_of_single_images(texts):
        return False
    if named_like([title], (*LABEL_COLUMNS, *LIKELY_LABEL_COLUMNS)):
        return True
    if _OF_FOLDS.search(title):
        return False
    distinct = set(texts)
    if len(texts) > 1 and len(distinct) == 1:
        return len(texts) < len(values) and word_of(texts[0]) in CROSSES
    if len(distinct) < len(texts) or len(texts) < _FEW_RECORDS:
        return True
    numbers = [float(text) for text in texts if is_number(text)]
    if len(numbers) < len(texts):
        return False
    return bool(numbers[0] % 1) or any(b - a != 1 for a, b in itertools.pairwise(numbers))  # no index


def is_web_address(value: Any) -> bool:
    """Return whether a value is an address on the Web, which names no file."""
    return isinstance(value, str) and value.lower().startswith(("http://", "https://"))
