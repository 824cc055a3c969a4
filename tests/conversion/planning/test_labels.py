import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shardkit.conversion.planning.labels import ExampleLabels


@given(st.lists(st.sets(st.integers(0, 3), max_size=3), min_size=1, max_size=20), st.integers(0, 2**32))
def test_examples_with_several_labels_are_compared_and_taken_by_their_sets(sets, seed):
    flat = np.array([label for one in sets for label in sorted(one)], np.int32)
    starts = np.cumsum([0, *map(len, sets)])
    strata = np.array([min(one, default=4) for one in sets], np.int32)
    labels = ExampleLabels(list("abcd"), strata, flat, starts)
    rng = np.random.default_rng(seed)
    rows, others = rng.integers(0, len(sets), (2, 30))
    assert labels.differ(rows, others).tolist() == [sets[a] != sets[b] for a, b in zip(rows, others, strict=True)]
    taken = labels.take(rows)
    assert taken.strata.tolist() == strata[rows].tolist()
    assert [
        set(taken.flat[start:end].tolist()) for start, end in zip(taken.starts[:-1], taken.starts[1:], strict=True)
    ] == [sets[row] for row in rows]
