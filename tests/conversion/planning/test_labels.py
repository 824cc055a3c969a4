import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from shardkit.conversion.planning.labels import ExampleLabels


@given(st.lists(st.sets(st.integers(0, 3), max_size=3), min_size=1, max_size=20), st.integers(0, 2**32))
def test_examples_with_several_labels_are_compared_and_taken_by_their_sets(sets, seed):
    strata = np.array([min(one, default=4) for one in sets], np.int32)
    labels = ExampleLabels(list("abcd"), strata, pa.array(map(sorted, sets), pa.large_list(pa.int32())))
    rng = np.random.default_rng(seed)
    rows, others = rng.integers(0, len(sets), (2, 30))
    assert labels.differ(rows, others).tolist() == [sets[a] != sets[b] for a, b in zip(rows, others, strict=True)]
    taken = labels.take(rows)
    assert taken.strata.tolist() == strata[rows].tolist()
    assert list(map(set, taken.lists.to_pylist())) == [sets[row] for row in rows]
