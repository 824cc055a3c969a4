import json
from pathlib import Path

import pytest

from shardkit import output as outputs
from shardkit.errors import CallError, DataError, ManifestError
from shardkit.naming import ShardName
from shardkit.planning import plan_file
from shardkit.planning.options import ConvertOptions
from shardkit.planning.plan import make_plan
from shardkit.run_token import RunToken
from shardkit.shard_reports import ShardReport, rejects_path
from shardkit.sources import open_source
from shardkit.storage import open_folder
from shardkit.testing import (
    convert_without_beam,
    files_of,
    inventory_table,
    plan_without_beam,
    write_class_folders,
    write_tree,
)


@pytest.fixture
def output(tmp_path):
    folder = open_folder(str(tmp_path / "out"))
    folder.make()
    return folder


@pytest.fixture
def source(tmp_path):
    return str(write_class_folders(tmp_path / "source", {"cat": 2, "dog": 1}))


def put(output, *paths):
    write_tree(Path(output.path), dict.fromkeys(paths, b"x"))


@pytest.mark.parametrize("name", ["thesis.docx", "train.tfrecord", "cat/", "manifest.json.bak", ".DS_Store"])
def test_a_folder_with_others_files_is_refused_and_one_is_named(output, name):
    put(output, "manifest.json", name)
    with pytest.raises(CallError, match=f"holds '{name.rstrip('/')}', which is no part of a dataset; choose a new or"):
        outputs.refuse_foreign(output)


OURS = [
    "manifest.json",
    "rejected.parquet",
    "run-log.jsonl",
    "dataset_info.json",
    "features.json",
    "label.labels.txt",
    "train-00000-of-00001.tfrecord",
    "train-00000-of-00001.index.parquet",
    ".shardkit-tmp-1-abc",
    ".shardkit/plan.parquet",
    ".shardkit/lock",
]


def test_what_a_conversion_wrote_is_not_foreign(output):
    outputs.refuse_foreign(output)  # nor is a folder that is not there yet
    put(output, *OURS)
    outputs.refuse_foreign(output)


def test_what_is_converted_is_not_foreign(source, output):
    convert_without_beam(source, output.url)
    outputs.refuse_foreign(output)


def test_shards_without_plan_and_manifest_are_refused(output):
    put(output, ".shardkit/lock", "run-log.jsonl")
    outputs.refuse_shards(output)
    put(output, "train-00000-of-00001.tfrecord")
    with pytest.raises(DataError, match="of a dataset without a manifest; remove it with --overwrite"):
        outputs.refuse_shards(output)


def test_clearing_takes_the_dataset_and_leaves_the_log_the_lock_and_the_inventory(output):
    put(output, *OURS, ".shardkit/inventory/a.arrow", rejects_path(ShardName("train", 0, 1)))
    outputs.clear(output)
    assert set(files_of(output)) == {"run-log.jsonl", ".shardkit/lock", ".shardkit/inventory/a.arrow"}
    outputs.clear(output)


def test_the_manifest_goes_first_so_that_nothing_partial_looks_complete(output, monkeypatch):
    put(output, *OURS)
    removed = []
    monkeypatch.setattr(type(output), "remove", lambda _, path: removed.append(path))
    outputs.clear(output)
    assert removed[0] == "manifest.json"


def test_a_finished_dataset_is_found_by_its_manifest(source, output):
    assert outputs.finished(output) is None
    manifest = convert_without_beam(source, output.url)
    assert outputs.finished(output).to_bytes() == manifest.to_bytes()


def test_a_damaged_manifest_is_neither_overwritten_nor_taken_for_none(output):
    put(output, "manifest.json")
    with pytest.raises(ManifestError, match="is not JSON"):
        outputs.finished(output)


def test_the_manifest_describes_the_conversion_as_its_plan_does(source, output):
    options = ConvertOptions(seed=3, resize=6, shards=2)
    manifest = convert_without_beam(source, output.url, options)
    plan = plan_without_beam(open_source(source), options)
    assert outputs.description(manifest) == json.loads(json.dumps(plan.description()))


def test_the_plan_in_the_work_folder_describes_it_too(source, output):
    plan = plan_without_beam(open_source(source), ConvertOptions(classes=("dog", "cat")))
    plan_file.write_plan(output, plan)
    assert plan_file.read_description(output) == json.loads(json.dumps(plan.description()))


def described(labels=("cat", "dog"), layout="class folders", **options):
    return make_plan(inventory_table(labels), ConvertOptions(**options), layout=layout, skipped={}).description()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, ""),
        ({"seed": 1}, "seed was 0 and is 1"),
        ({"seed": 1, "resize": 256}, "resize was None and is 256, seed was 0 and is 1"),
        ({"name": "pets"}, "name was dataset and is pets"),
        ({"layout": "csv"}, "layout was class folders and is csv"),
        ({"labels": ("cat", "cow")}, "the source's files have changed, classes have changed"),
        ({"classes": ("dog", "cat")}, "classes have changed"),
    ],
)
def test_what_two_conversions_differ_in_is_said_in_words(changed, said):
    assert outputs.difference(described(), described(**changed)) == said


def test_another_version_of_a_library_is_named():
    old = described()
    new = {**described(), "software": {**old["software"], "pyarrow": "99.0"}}
    assert outputs.difference(old, new) == f"pyarrow was {old['software']['pyarrow']} and is 99.0"


def test_a_report_left_by_an_earlier_run_goes_with_its_dataset(output):
    with output.writing(rejects_path(ShardName("train", 0, 1))) as file:
        file.write(ShardReport(RunToken("old"), error="old", exit_code=1).to_bytes())
    outputs.clear(output)
    assert files_of(output) == {}
