import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.dataset.example import decode, decode_features
from shardkit.dataset.index.shards import read_columns
from shardkit.dataset.manifest import read_manifest
from shardkit.dataset.tfrecord import HEADER_BYTES
from shardkit.statistics.indexes import Span, index_statistics, read_annotations, span_of_counts
from shardkit.testing import convert_without_beam, picture, write_tree


@given(st.lists(st.integers(0, 50)))
def test_a_span_has_the_smallest_the_lower_median_and_the_largest_value(values):
    found = span_of_counts(np.bincount(values) if values else np.zeros(0, np.int64))
    if values:
        assert found == Span(min(values), int(np.percentile(values, 50, method="lower")), max(values))
    else:
        assert found is None


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dataset")
    sides = np.random.default_rng(0).integers(8, 40, (30, 2)).tolist()
    files = {f"{'ab'[i % 2]}/{i:02d}.png": picture(i, width=w, height=h) for i, (w, h) in enumerate(sides)}
    write_tree(folder / "source", files)
    convert_without_beam(str(folder / "source"), str(folder / "out"), shards=4)
    return read_manifest(str(folder / "out"))


def test_the_statistics_are_those_of_all_indexes_together(manifest):
    found = index_statistics(manifest)
    whole = pa.concat_tables(read_columns(manifest.root, shard) for _, shard in manifest.shards())
    for side in ("width", "height"):
        values = whole[side].to_numpy()
        assert getattr(found, side) == Span(min(values), int(np.percentile(values, 50, method="lower")), max(values))
    assert found.source_bytes == {"train": sum(whole["source_bytes"].to_pylist())}
    assert (found.labels_per_image, found.sample) == (None, ())


@pytest.mark.parametrize("size", [1, 7, 29, 30, 1000])
def test_a_sample_is_spread_over_all_shards_and_holds_what_follows_each_image(size, manifest):
    sample = index_statistics(manifest, size).sample
    records = [
        (shard.path, row["offset"], row["length"])
        for _, shard in manifest.shards()
        for row in read_columns(manifest.root, shard).to_pylist()
    ]
    chosen = [(2 * i + 1) * 30 // (2 * min(size, 30)) for i in range(min(size, 30))]
    ends = [(path, offset + HEADER_BYTES + length) for path, offset, length in (records[i] for i in chosen)]
    assert [(one.path, one.start + one.num_bytes) for one in sample] == ends
    for i, annotations in zip(chosen, read_annotations(manifest, sample, "label"), strict=True):
        path, offset, length = records[i]
        whole = decode(manifest.root.read_range(path, offset + HEADER_BYTES, length))
        assert annotations == {name: values for name, values in whole.items() if name > "image"}


def test_features_that_are_cut_are_a_record_error():
    with pytest.raises(ValueError, match=r"features of a tf\.train\.Example"):
        decode_features(b"\x0a\x05abc")
