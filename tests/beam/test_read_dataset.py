"""`ReadDataset` on Beam's runner for one process: what a user's pipeline receives."""

import shutil

import apache_beam as beam
import numpy as np
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner.execution import GroupingBuffer
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.error_handling import ErrorHandler

import shardkit
from shardkit.beam import ReadDataset
from shardkit.errors import CallError

from .transforms import RUNNER, collected, noting


def comparable(example):
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in example.items()}


@pytest.mark.parametrize("where", [None, "label_name = 'bee'"])
def test_the_examples_are_those_of_open_in_any_ranges(dataset, where, monkeypatch):
    sizes = []
    monkeypatch.setattr(f"{ReadDataset.__module__}.LEAST_RANGE_BYTES", 1)  # so that these shards have several
    monkeypatch.setattr(GroupingBuffer, "append", noting(GroupingBuffer.append, sizes))
    wanted = [comparable(one) for one in shardkit.open(str(dataset), "train", where=where)]
    read = ReadDataset(dataset, "train", where=where, range_bytes=500)
    found, counters = collected(lambda pipeline: {"examples": pipeline | read})
    assert sorted(map(comparable, found["examples"]), key=lambda one: one["key"]) == sorted(
        wanted, key=lambda one: one["key"]
    )
    assert counters["images_read"] == len(wanted)
    num_ranges = sum(-(-path.stat().st_size // 500) for path in dataset.glob("train-*.tfrecord"))
    assert num_ranges > 3 * 3, "shards are divided"
    assert sum(sizes) < 700 * num_ranges, "the names of ranges are shuffled, whatever their size"


@pytest.fixture
def damaged(dataset, tmp_path):
    """The dataset with a flipped byte in the image of its first record, and that record's key."""
    shutil.copytree(dataset, tmp_path / "damaged")
    shard = tmp_path / "damaged" / "train-00000-of-00003.tfrecord"
    key = shardkit.open(str(dataset), "train")[0]["key"]
    data = bytearray(shard.read_bytes())
    data[60] ^= 1
    shard.write_bytes(data)
    return tmp_path / "damaged", key


def test_a_damaged_record_fails_the_pipeline_or_goes_to_the_handler(damaged):
    path, key = damaged
    with pytest.raises(Exception, match=rf"00000-of-00003.tfrecord, record 0 \({key}\): .*; restore the shard or"):
        collected(lambda pipeline: {"examples": pipeline | ReadDataset(path, "train")})

    def handled(pipeline):
        with ErrorHandler(beam.Map(lambda one: one)) as handler:
            examples = pipeline | ReadDataset(path, "train").with_error_handler(handler)
        return {"examples": examples, "rejects": handler.output()}

    found, counters = collected(handled)
    assert [(one.key, one.reason) for one in found["rejects"]] == [(key, "damaged")]
    assert len(found["examples"]) == len(shardkit.open(str(path), "train")) - 1
    assert (counters["images_read"], counters["records_damaged"]) == (len(found["examples"]), 1)


def test_wrong_arguments_are_refused_when_the_pipeline_is_made(dataset):
    for size in (0, 1, (1 << 20) - 1):
        with pytest.raises(CallError, match=f"range_bytes must be at least 1048576; found {size}$"):
            ReadDataset(dataset, "train", range_bytes=size)
    ReadDataset(dataset, "train", range_bytes=1 << 20)
    with pytest.raises(CallError, match="where"):
        ReadDataset(dataset, "train", where="height >=")


def test_a_split_that_does_not_exist_fails_the_pipeline(dataset):
    with pytest.raises(Exception, match="'nothing'"):
        collected(lambda pipeline: {"examples": pipeline | ReadDataset(dataset, "nothing")})


def test_bundles_that_run_twice_give_the_same_examples(dataset):
    options = PipelineOptions(runner=RUNNER, direct_runner_bundle_repeat=1)
    wanted = [one["key"] for one in shardkit.open(str(dataset), "train")]
    with beam.Pipeline(options=options) as pipeline:
        assert_that(pipeline | ReadDataset(dataset, "train") | beam.Map(lambda one: one["key"]), equal_to(wanted))
