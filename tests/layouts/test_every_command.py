"""Every command on every sample source: no traceback, and the same numbers wherever they are printed."""

import json

import pytest

from shardkit import read_manifest

from ..cli.calling import call
from .conftest import OPTIONS, SAMPLES

SOURCES = [
    *("attributes.tsv", "automl.csv", "boxes.csv", "coco", "folders.zip", "hf", "labels.csv", "list.txt", "masks"),
    *("metadata", "multilabel.jsonl", "names", "regression.parquet", "shapes", "voc/VOCdevkit", "webdataset", "yolo"),
]
BROKEN = {
    "broken": ["--max-rejected", "50%"],
    "broken.csv": ["--max-rejected", "90%"],
    "coco_broken": ["--max-rejected", "95%"],
}


def test_all_samples_are_tried():
    others = {"run.svg", "preview.png", "report.png", "voc", "corrected.csv", "withdrawn.txt"}
    there = {path.name for path in SAMPLES.iterdir() if path.suffix != ".py" and path.name not in others}
    assert there - {"__pycache__", "convert.yaml"} == {name.partition("/")[0] for name in SOURCES} - {"voc"} | set(
        BROKEN
    )


# Of some kinds of features there is more than one source; one has every command in each run of the tests.
SLOW = {"automl.csv", "folders.zip", "list.txt", "metadata", "names", "shapes", "voc/VOCdevkit"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in SOURCES]
)
def test_every_command_tells_the_same_of_a_sample(name, converted, tmp_path):
    dataset = converted(name)
    counts = {split: one.num_examples for split, one in read_manifest(str(dataset)).splits.items()}
    planned = json.loads(call("plan", SAMPLES / name, *OPTIONS.get(name, []), "--json").stdout)
    assert {split: one["num_examples"] for split, one in planned["splits"].items()} == counts
    assert planned["classes"] == read_manifest(str(dataset)).classes
    told = json.loads(call("info", dataset, "--json").stdout)
    assert {split: one["num_examples"] for split, one in told["splits"].items()} == counts
    assert call("info", dataset).exit_code == 0
    assert json.loads(call("verify", dataset, "--json", "--leaks").stdout)["num_examples"] == sum(counts.values())
    assert call("preview", dataset, "-n", 4, "-o", tmp_path / "sheet.png").exit_code == 0
    shown = call("extract", dataset, tmp_path / "folders")
    assert f"{sum(counts.values())} images" in shown.stdout
    [key] = planned_keys(dataset)
    assert key in call("show", dataset, key).stdout


def planned_keys(dataset):
    """The key of one example."""
    import shardkit

    return [shardkit.open(str(dataset), next(iter(read_manifest(str(dataset)).splits)))[0].key]


@pytest.mark.parametrize("name", BROKEN)
def test_broken_samples_are_refused_or_converted_as_far_as_the_user_allows(name, tmp_path):
    refused = call("convert", SAMPLES / name, tmp_path / "out")
    assert refused.exit_code in {1, 2}
    assert refused.stderr.count("Error: ") == 1
    assert not (tmp_path / "out" / "manifest.json").exists()
    result = call("convert", SAMPLES / name, tmp_path / "out", *BROKEN[name])
    assert result.exit_code == 0, result.stderr
    rejected = json.loads(call("info", tmp_path / "out", "--rejected", "--json").stdout)
    assert rejected
    assert all(one["key"] and one["reason"] and one["message"] for one in rejected)
    assert call("verify", tmp_path / "out", "--deep").exit_code == 0
