"""The names of splits in tables: the usual words in any case, UNASSIGNED and DISCARD."""

from functools import lru_cache

from shardkit.errors import CallError
from shardkit.naming import check_split_name, split_of_folder
from shardkit.reject_reasons import BAD_SPLIT
from shardkit.sources.listing import BadRecord

_UNASSIGNED = {"", "unassigned"}  # TFRecorder's and AutoML's word
_DISCARD = "discard"  # TFRecorder's word for records that are left out


def is_split(text: str) -> bool:
    """Return whether a text is a usual name of a split, UNASSIGNED or DISCARD; an empty text is not."""
    word = text.strip().lower()
    return word in {"unassigned", _DISCARD} or split_of_folder(word) is not None


def is_discard(value: object) -> bool:
    """Return whether a split's field says that the record is left out."""
    return isinstance(value, str) and value.strip().lower() == _DISCARD


@lru_cache(maxsize=256)
def split_of_text(text: str) -> str | None:
    """Return the split that a field means; None if it is not assigned.

    Raises:
        BadRecord: BAD_SPLIT: the text cannot be a split's name.
    """
    name = text.strip()
    word = name.lower()
    if word in _UNASSIGNED:
        return None
    try:
        return check_split_name(name)
    except CallError as error:
        raise BadRecord(BAD_SPLIT, str(error)) from error
