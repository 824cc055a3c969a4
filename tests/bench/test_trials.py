import os
from pathlib import Path

import pytest

from shardkit.bench.dataset_part import DatasetPart
from shardkit.bench.sample import Sample
from shardkit.bench.settings import BenchSettings
from shardkit.bench.trials import conversion_trials, reader_trials
from shardkit.options.groups import ConvertOptions

from .making import HOST

PHOTOGRAPHS = Sample(Path(), (375,) * 20, num_jpeg=20, num_progressive=2, num_fine_chroma=9)


def useless(trials):
    return {trial.name: trial.useless for trial in trials}


def test_conversions_that_can_help_are_tried():
    trials = conversion_trials(BenchSettings("OUT"), PHOTOGRAPHS)
    assert useless(trials) == dict.fromkeys(
        ["resize to 256", "resize to 256, quality 85", "baseline JPEG", "chroma 4:2:0"], ""
    )
    for trial in trials:
        ConvertOptions.of(trial.options)  # refuses options that there are not
        assert [word.partition("=")[0] for word in trial.argument.split()] == list(trial.options)


@pytest.mark.parametrize(
    ("sample", "name", "reason"),
    [
        (
            Sample(Path(), (256, 200), 2, 1, 1),
            "resize to 256",
            "no image of the sample has a shorter side above 256",
        ),
        (Sample(Path(), (300,), 0), "resize to 256, quality 85", "the images are PNGs"),
        (Sample(Path(), (300,), 1), "baseline JPEG", "no JPEG of the sample is progressive"),
        (Sample(Path(), (300,), 1), "chroma 4:2:0", "no JPEG of the sample has finer chroma"),
    ],
)
def test_conversions_that_change_nothing_are_not_tried(sample, name, reason):
    assert useless(conversion_trials(BenchSettings("OUT"), sample))[name].startswith(reason)


@pytest.fixture
def part(tmp_path):
    """A part with a shard that exists."""
    from shardkit.dataset.manifest import Index, Shard

    (tmp_path / "shard").write_bytes(b"1234")
    shard = Shard(path="shard", num_examples=1, num_bytes=4, sha256="0" * 64, index=Index(path="i", sha256="0" * 64))
    return DatasetPart(str(tmp_path), "train", (shard,), is_local=True, num_examples=1, num_bytes=4)


def test_arguments_of_the_reader_that_change_nothing_are_not_tried(part, tmp_path):
    found = useless(reader_trials(BenchSettings("OUT", order="block"), part, PHOTOGRAPHS, HOST, str(tmp_path)))
    assert found == {
        "scaled decoding": "0% of the images have a shorter side of 448 pixels, twice the trainer's",
        "block order": "it is what was measured",
        "cache": "the dataset is on the same disk as the copies would be",
        "8 threads": "",
    }


def test_block_order_is_tried_if_its_lanes_divide_the_batch(part, tmp_path):
    found = useless(reader_trials(BenchSettings("OUT", batch_size=100), part, PHOTOGRAPHS, HOST, str(tmp_path)))
    assert found["block order"] == "it needs a batch size that is a multiple of 8"


def test_scaled_decoding_is_tried_where_images_are_large(part, tmp_path):
    large = Sample(Path(), (375,) * 18 + (1500,) * 2, num_jpeg=20)
    found = useless(reader_trials(BenchSettings("OUT"), part, large, HOST, str(tmp_path)))
    assert (found["scaled decoding"], found["block order"]) == ("", "")


def test_a_cache_is_tried_on_another_disk(part, tmp_path):
    places = [place for place in ("/dev/shm", str(Path.cwd())) if os.access(place, os.W_OK)]  # noqa: S108
    others = [place for place in places if os.stat(place).st_dev != tmp_path.stat().st_dev]
    if not others:
        pytest.skip("there is no second file system")
    found = useless(reader_trials(BenchSettings("OUT"), part, PHOTOGRAPHS, HOST, others[0]))
    assert found["cache"] == ""
