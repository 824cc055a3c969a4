import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shardkit.dataset.runs import RunLimits, runs


@st.composite
def records(draw):
    """Files, starts and stops of records in any order; most of them follow one another."""
    files, starts, stops = [], [], []
    file = at = 0
    for _ in range(draw(st.integers(0, 30))):
        if draw(st.integers(0, 9)) == 0:
            file, at = draw(st.integers(0, 2)), draw(st.integers(0, 500))
        at += draw(st.sampled_from([0, 0, 0, 5, 6, 40]))
        files.append(file)
        starts.append(at)
        at += draw(st.integers(16, 60))
        stops.append(at)
    return [np.array(numbers, np.int64) for numbers in (files, starts, stops)]


@given(records(), st.integers(1, 300))
def test_runs_cover_all_records_once_and_keep_their_limits(found, max_bytes):
    files, starts, stops = found
    limits = RunLimits(max_bytes, max_gap=5)
    given_runs = list(runs(files, starts, stops, limits))
    assert [at for first, end in given_runs for at in range(first, end)] == list(range(len(files)))
    for first, end in given_runs:
        assert len(set(files[first:end].tolist())) == 1
        assert end == first + 1 or stops[end - 1] - starts[first] <= max_bytes
        gaps = starts[first + 1 : end] - stops[first : end - 1]
        is_again = starts[first + 1 : end] == starts[first : end - 1]
        assert (((gaps >= 0) | is_again) & (gaps <= limits.max_gap)).all()
    for (first, end), (_, next_end) in itertools.pairwise(given_runs):  # no run could go on
        assert next_end > end
        gap = starts[end] - stops[end - 1]
        follows = files[end] == files[first] and (gap >= 0 or starts[end] == starts[end - 1]) and gap <= limits.max_gap
        assert not follows or stops[end] - starts[first] > max_bytes
