"""ConvertImages: a conversion inside a pipeline of the user's."""

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.testing.util import assert_that, equal_to

import shardkit
from shardkit.beam import ConvertImages, PublishedDataset, WrittenShard
from shardkit.errors import CallError
from shardkit.testing import digests_of, write_class_folders

from .crashing import nothing_left


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    root = write_class_folders(tmp_path_factory.mktemp("photographs"), {"ant": 9, "bee": 9})
    (root / "bee" / "003.png").write_bytes(b"no picture")
    return root


def test_it_writes_the_bytes_of_convert_goes_on_with_the_dataset_and_counts(photographs, tmp_path):
    wanted = shardkit.convert(photographs, tmp_path / "wanted", shards=3, max_rejected=1).manifest
    pipeline = beam.Pipeline(FnApiRunner())
    written = pipeline | ConvertImages(photographs, tmp_path / "out", shards=3, max_rejected=1)
    path = str(tmp_path / "out" / "manifest.json")
    assert_that(written.manifest, equal_to([PublishedDataset(path, wanted.digest, 17, 1)]))
    shards = [WrittenShard("train", one.path, one.num_examples, one.num_bytes) for _, one in wanted.shards()]
    assert_that(written.shards, equal_to(shards), label="Shards")
    rejects = written.rejects | beam.Map(lambda one: (one.key, one.reason))
    assert_that(rejects, equal_to([("bee/003.png", "not_an_image")]), label="Rejects")
    result = pipeline.run()
    assert digests_of(tmp_path / "out") == digests_of(tmp_path / "wanted")
    assert nothing_left(tmp_path / "out")
    found = result.metrics().query()
    counted = {
        one.key.metric.name: one.committed for one in found["counters"] if one.key.metric.namespace == "shardkit"
    }
    sizes = [path.stat().st_size for path in (tmp_path / "out").glob("*.tfrecord")]
    num_bytes = sum(path.stat().st_size for path in photographs.rglob("*.png"))
    assert counted == {
        "images_checked": 18,
        "image_bytes_checked": num_bytes,
        "images_written": 17,
        "shards_written": 3,
        "rejected_not_an_image": 1,
    }
    [shard_bytes] = (one.committed for one in found["distributions"] if one.key.metric.name == "shard_bytes")
    assert (shard_bytes.sum, shard_bytes.count, shard_bytes.max) == (sum(sizes), 3, max(sizes))


def test_it_claims_nothing_until_it_runs_and_one_pipeline_may_run_twice_at_once(photographs, tmp_path):
    transform = ConvertImages(photographs, tmp_path / "out", max_rejected=1)
    pipeline = beam.Pipeline(FnApiRunner(), options=PipelineOptions(direct_runner_bundle_repeat=1))
    _ = pipeline | transform
    pipeline.to_runner_api()
    assert not (tmp_path / "out").exists()
    for _ in range(2):  # a template runs twice
        pipeline.run().wait_until_finish()
        assert nothing_left(tmp_path / "out")


def test_a_pipeline_that_is_begun_again_takes_over_from_its_earlier_attempt(photographs, tmp_path):
    transform = ConvertImages(photographs, tmp_path / "out", max_rejected=1)
    earlier = transform._begin("first")  # the engine gave it up after this step
    with pytest.raises(Exception, match="will write into this folder"), beam.Pipeline(FnApiRunner()) as other:
        _ = other | ConvertImages(photographs, tmp_path / "out", max_rejected=1)
    with beam.Pipeline(FnApiRunner()) as pipeline:
        _ = pipeline | transform
    assert nothing_left(tmp_path / "out")
    assert earlier.plan() == []  # its workers do nothing more


def test_what_refuses_it_fails_the_pipeline_with_the_sentence(photographs, tmp_path):
    with pytest.raises(Exception, match="more than max_rejected='0' allows"), beam.Pipeline(FnApiRunner()) as pipeline:
        _ = pipeline | ConvertImages(photographs, tmp_path / "out", max_rejected=0)
    assert not (tmp_path / "out" / "manifest.json").exists()
    with beam.Pipeline(FnApiRunner()) as pipeline:  # the same again goes on at once
        _ = pipeline | ConvertImages(photographs, tmp_path / "out", max_rejected=1)
    assert nothing_left(tmp_path / "out")


@pytest.mark.parametrize("name", ["workers", "beam_options", "listener"])
def test_what_belongs_to_the_pipeline_is_refused(name, photographs, tmp_path):
    with pytest.raises(CallError, match=f"ConvertImages has no argument {name!r}: the "):
        ConvertImages(photographs, tmp_path / "out", **{name: 2})
