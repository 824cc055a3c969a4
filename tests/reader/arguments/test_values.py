"""Value objects of single arguments: each refuses what it cannot be when it is constructed."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from shardkit.errors import CallError
from shardkit.reader import BlockOrder, Cache, Service, Skip

NO_NUMBERS = [None, "8", 8.5, 8.0, True]


@pytest.mark.parametrize("name", ["block_records", "window_blocks", "lanes"])
@pytest.mark.parametrize("found", [*NO_NUMBERS, 0, -1])
def test_numbers_of_a_block_order(name, found):
    with pytest.raises(CallError, match=rf"^{name} must be "):
        BlockOrder(**{name: found})


@pytest.mark.parametrize("found", [*NO_NUMBERS, -1])
def test_the_number_of_records_to_skip(found):
    with pytest.raises(CallError, match=r"^max_records must be "):
        Skip(found)


@pytest.mark.parametrize("found", ["", 5, b"cache", None, Path("gs://bucket/folder")])
def test_the_folder_of_a_cache(found):
    with pytest.raises(CallError, match=r"^folder must be "):
        Cache(found)


@pytest.mark.parametrize("found", [*NO_NUMBERS, 0])
def test_the_size_of_a_cache(found):
    with pytest.raises(CallError, match=r"^max_bytes must be "):
        Cache("cache", found)


@pytest.mark.parametrize("found", [5, None, "localhost:5000", "grpc://localhost", ["grpc://host:1"]])
def test_the_address_of_a_service(found):
    with pytest.raises(CallError, match=r"^address must be "):
        Service(found)


def test_the_job_of_a_service():
    with pytest.raises(CallError, match=r"^job must be a string; found 5"):
        Service("grpc://host:1", 5)


def test_numbers_of_numpy_and_paths_become_python_s():
    assert BlockOrder(lanes=np.int64(4)) == BlockOrder(lanes=4)
    assert Skip(np.int8(1)) == Skip(1)
    assert Cache(Path("cache"), np.int64(5)) == Cache("cache", 5)


@pytest.mark.parametrize("value", [BlockOrder(), Skip(), Cache("cache"), Service("grpc://host:1")])
def test_values_are_frozen(value):
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, dataclasses.fields(value)[0].name, 1)
