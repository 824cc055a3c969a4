import numpy as np
import pyarrow as pa
import pytest

from shardkit.errors import CallError
from shardkit.record_sources.datasets.changes import find_changes, label_names, refuse_unknown_classes
from shardkit.record_sources.datasets.key_files import Corrections, DropList

SHARDS = [pa.chunked_array([["a", "b"], ["c"]]), pa.chunked_array([["d", "e"]])]


def found(drop=None, labels=None):
    corrections = None if labels is None else Corrections.of(labels)
    changes = find_changes(SHARDS, None if drop is None else DropList.of(drop), corrections, "OLD")
    names = label_names(corrections)
    return [
        (np.flatnonzero(~one.kept(3)).tolist(), [(row, names[n]) for row, n in one.corrections()]) for one in changes
    ]


def test_every_shard_gets_its_rows():
    assert found(["c", "e", "a"]) == [([0, 2], []), ([1], [])]
    assert found(labels={"e": "cat", "b": "dog", "d": "dog"}) == [([], [(1, "dog")]), ([], [(0, "dog"), (1, "cat")])]
    assert found(["c"], {"c": "cat"}) == [([2], [(2, "cat")]), ([], [])]


def test_an_unknown_key_is_an_error_with_the_first_ones():
    with pytest.raises(CallError, match=r"4 of its 6 keys are not in OLD: 'v', 'w', 'x', …; correct"):
        found(["x", "a", "b", "w", "y", "v"])
    with pytest.raises(CallError, match="labels='FILE': its only key is not in OLD: 'x'"):
        found(labels={"x": "cat"})


def test_a_new_class_needs_a_list_of_all_classes():
    corrections = Corrections.of({"a": "cat", "b": "bird"})
    refuse_unknown_classes(corrections, ["bird", "cat"], are_given=True)
    with pytest.raises(CallError, match=r"a class that the dataset does not have: 'bird' .for 'b'.; .*classes"):
        refuse_unknown_classes(corrections, ["cat"], are_given=False)
    with pytest.raises(CallError, match="classes does not name: 'bird'"):
        refuse_unknown_classes(corrections, ["cat"], are_given=True)
