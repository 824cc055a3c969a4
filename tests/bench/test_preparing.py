import shutil
import sys
from dataclasses import replace

import pytest

from shardkit.bench.preparing import prepared
from shardkit.bench.settings import BenchSettings
from shardkit.cli.main import main
from shardkit.testing import convert_without_beam, write_class_folders

from ..cli.calling import call

SETTINGS = BenchSettings("", batch_size=8, sample=6, with_cold=False)


@pytest.fixture(scope="session")
def pngs(made_once):
    """A dataset of 20 PNGs of 8 x 8 in 2 shards; not to be changed."""

    def make(folder):
        source = write_class_folders(folder / "source", {"ant": 12, "bee": 8})
        convert_without_beam(str(source), str(folder / "OUT"), shards=2)

    return str(made_once("bench-pngs", make) / "OUT")


def test_the_specifications_fit_the_dataset_and_the_sample(pngs):
    settings = replace(SETTINGS, dataset=pngs, image_size=(4, 4), resize=6)
    with prepared(settings, lambda *_: None) as plan:
        assert (plan.base.num_shards, plan.base.memory_images, plan.base.batch_size) == (2, 20, 8)
        assert plan.num_sample == 6
        assert [trial.argument for trial, _ in plan.conversions] == ["resize=6"]
        assert plan.original.spec.batch_size == 6  # a batch needs as many examples
        [(_, copy)] = plan.conversions
        assert copy.bytes_per_image < plan.original.bytes_per_image
        assert "no_cold" in plan.no_cold
        assert plan.not_tried["baseline JPEG"] == "the images are PNGs"


def test_a_small_split_is_not_read_cold(pngs):
    settings = replace(SETTINGS, dataset=pngs, with_cold=True, with_advice=False)
    with prepared(settings, lambda *_: None) as plan:
        assert "so small" in plan.no_cold
        assert (plan.reader, plan.conversions, plan.original) == ([], [], None)


@pytest.mark.parametrize(
    ("name", "data", "found"),
    [
        ("train-00001-of-00002.tfrecord", None, "the shard is missing"),
        ("train-00001-of-00002.tfrecord", b"", "the shard has 0 bytes"),
        ("train-00000-of-00002.index.parquet", None, "the index is missing"),
    ],
)
def test_missing_files_are_an_error_of_the_data_with_a_remedy(name, data, found, pngs, tmp_path):
    dataset = shutil.copytree(pngs, tmp_path / "dataset")
    (dataset / name).unlink()
    if data is not None:
        (dataset / name).write_bytes(data)
    done = call("bench", dataset, "--no-advice", "--batch-size", 8)
    assert done.exit_code == 1
    assert f"{name}: {found}" in done.stderr
    assert "restore it or convert again with --overwrite" in done.stderr


def test_without_pillow_no_conversion_is_tried(pngs, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with prepared(replace(SETTINGS, dataset=pngs, image_size=(4, 4), resize=6), lambda *_: None) as plan:
        assert (plan.conversions, plan.original) == ([], None)
        assert "pip install" in plan.not_tried["resize to 6"]
        assert [trial.name for trial in plan.reader if "thread" in trial.name]


def test_without_tensorflow_the_extra_is_named(pngs, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    done = call("bench", pngs)
    assert done.exit_code == 2
    assert "[tensorflow]" in done.stderr
    assert "bench" in main.list_commands(None)
