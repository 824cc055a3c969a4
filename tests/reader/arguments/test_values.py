"""Value objects of single arguments: each refuses what it cannot be when it is constructed."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from shardkit.errors import CallError
from shardkit.reader import BlockOrder, Cache, Service, Skip

NO_NUMBERS = [None, "8", 8.5, 8.0, True]
BLOCK_NUMBERS = ["block_records", "window_blocks", "lanes"]


REFUSED = [
    *(
        (BlockOrder, {name: one})
        for name in ("block_records", "window_blocks", "lanes")
        for one in [*NO_NUMBERS, 0, -1]
    ),
    *((Skip, {"max_records": one}) for one in [*NO_NUMBERS, -1]),
    *((Cache, {"folder": one}) for one in ["", 5, b"cache", None, Path("gs://bucket/folder")]),
    *((Cache, {"max_bytes": one, "folder": "cache"}) for one in [*NO_NUMBERS, 0]),
    *((Service, {"address": one}) for one in [5, None, "localhost:5000", "grpc://localhost", ["grpc://host:1"]]),
    (Service, {"job": 5, "address": "grpc://host:1"}),
]


@pytest.mark.parametrize(("make", "given"), REFUSED, ids=str)
def test_a_value_that_cannot_be_is_refused_by_the_name_of_its_argument(make, given):
    with pytest.raises(CallError, match=f"^{next(iter(given))} must be "):
        make(**given)


def test_numbers_of_numpy_and_paths_become_python_s():
    assert BlockOrder(lanes=np.int64(4)) == BlockOrder(lanes=4)
    assert Skip(np.int8(1)) == Skip(1)
    assert Cache(Path("cache"), np.int64(5)) == Cache("cache", 5)


@pytest.mark.parametrize("value", [BlockOrder(), Skip(), Cache("cache"), Service("grpc://host:1")])
def test_values_are_frozen(value):
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, dataclasses.fields(value)[0].name, 1)
