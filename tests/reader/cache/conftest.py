"""Fixtures of the cache's tests."""

import pytest

from shardkit.reader import shard_cache as copying

from .cache_users import (
    Counted,
    Dataset,
)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(copying, "CHUNK_BYTES", 64 << 10)
    monkeypatch.setattr(Counted, "bytes_read", 0)


@pytest.fixture
def source(tmp_path):
    return Dataset(tmp_path / "source")


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "cache"
