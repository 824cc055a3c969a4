"""Rows are grouped as by a stable sort, however many blocks they make."""

import numpy as np
import pytest

from shardkit.conversion.planning import rows as selection


@pytest.mark.parametrize("num_rows", [0, 1, 7, 8, 40])
@pytest.mark.parametrize("first", [-1, 0])
def test_rows_are_grouped_as_a_stable_sort_does_in_blocks_of_any_size(monkeypatch, num_rows, first):
    monkeypatch.setattr(selection, "_BLOCK_ROWS", 8)
    codes = np.random.default_rng(num_rows).integers(first, 5, num_rows).astype(np.int32)
    rows = selection.group_rows(codes, 5, first=first)
    assert rows.tolist() == np.argsort(codes, kind="stable").tolist()
    assert rows.dtype == np.int32
    if first == 0:
        assert selection.count_codes(codes, 5).tolist() == np.bincount(codes, minlength=5).tolist()
