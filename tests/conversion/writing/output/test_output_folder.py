import json
from pathlib import Path

import pytest

from shardkit import software
from shardkit.conversion.inventory.parts import Inventory
from shardkit.conversion.planning.plan import known_description, make_plan
from shardkit.conversion.planning.plan_file import find_planned
from shardkit.conversion.writing.output import output_folder as outputs
from shardkit.conversion.writing.output.finished_shards import rejects_path
from shardkit.errors import CallError, DataError, ManifestError
from shardkit.naming import RUN_LOG, ShardName
from shardkit.options.groups import ConvertOptions
from shardkit.sources.opening import open_source
from shardkit.storage import open_folder
from shardkit.testing import (
    convert_without_beam,
    files_of,
    inventory_table,
    plan_without_beam,
    write_class_folders,
    write_plan,
    write_tree,
)


@pytest.fixture
def output(tmp_path):
    folder = open_folder(str(tmp_path / "out"))
    folder.create()
    return folder


@pytest.fixture
def source(tmp_path):
    return str(write_class_folders(tmp_path / "source", {"cat": 2, "dog": 1}))


def put(output, *paths):
    write_tree(Path(output.path), dict.fromkeys(paths, b"x"))


@pytest.mark.parametrize("name", ["thesis.docx", "train.tfrecord", "cat/", "manifest.json.bak", ".DS_Store"])
def test_a_folder_with_others_files_is_refused_and_one_is_named(source, output, name):
    convert_without_beam(source, output.url)
    put(output, name)
    with pytest.raises(CallError, match=f"holds '{name.rstrip('/')}', which .*choose a new or"):
        outputs.refuse_foreign(output)


SHARD = "train-00000-of-00001.tfrecord"
INDEX = "train-00000-of-00001.index.parquet"
STRANGERS = "train-00000-of-01024.tfrecord"  # the name that others' writers give


@pytest.mark.parametrize(
    ("others", "named"),
    [
        ([STRANGERS], STRANGERS),
        ([STRANGERS, ".shardkit/lock"], STRANGERS),  # a lock says nothing of shards
        (["manifest.json/"], "manifest.json"),
        (["manifest.json"], "manifest.json"),  # web applications have one
        (["dataset_info.json", "features.json"], "dataset_info.json"),  # of TFDS
        ([SHARD, INDEX], INDEX),  # a Parquet file of somebody else's, or none
        (["train-00000-of-00001.tfrecord/"], SHARD),  # a folder
    ],
)
def test_a_name_alone_does_not_make_a_file_shardkits(output, others, named):
    put(output, *others)
    before = files_of(output)
    with pytest.raises(CallError, match=f"holds '{named}'"):
        outputs.refuse_foreign(output)
    outputs.clear(output)
    assert files_of(output) == before


def test_a_strangers_shard_next_to_a_dataset_is_not_removed_with_it(source, output):
    convert_without_beam(source, output.url)
    put(output, STRANGERS)
    outputs.clear(output)
    assert set(files_of(output)) == {STRANGERS, RUN_LOG}


@pytest.fixture
def dataset(source, output):
    convert_without_beam(source, output.url)
    return set(files_of(output))


@pytest.mark.parametrize(
    "lost",
    [
        [],
        ["manifest.json"],  # the index names its shard
        [INDEX],  # the manifest names the shard
        [SHARD],
    ],
)
def test_what_a_conversion_wrote_is_owned(output, dataset, lost):
    for path in lost:
        output.remove(path)
    put(output, ".shardkit-tmp-1-abc", "run-log.jsonl")
    outputs.refuse_foreign(output)
    assert outputs.owned(output) == dataset - {*lost} | {".shardkit-tmp-1-abc", "run-log.jsonl"}


def test_a_damaged_manifest_is_owned_if_its_indexes_are(output, dataset):
    put(output, "manifest.json")
    assert outputs.owned(output) == dataset


def test_the_plan_of_an_interrupted_conversion_names_shards_that_have_no_index_yet(source, output):
    write_plan(output, plan_without_beam(open_source(source), ConvertOptions()))
    put(output, SHARD, STRANGERS)
    assert outputs.owned(output) == {SHARD}


def test_a_folder_that_is_not_there_yet_is_not_foreign(tmp_path):
    outputs.refuse_foreign(open_folder(str(tmp_path / "new")))


def test_shards_without_plan_and_manifest_are_refused(output, dataset):
    output.remove("manifest.json")
    with pytest.raises(DataError, match=r"of a dataset without a manifest.*overwrite=True"):
        outputs.refuse_shards(output)
    outputs.clear(output)
    put(output, ".shardkit/lock", "run-log.jsonl")
    outputs.refuse_shards(output)


def test_clearing_takes_the_dataset_and_leaves_the_log_the_lock_and_the_inventory(output, dataset):
    kept = {"run-log.jsonl", ".shardkit/lock", ".shardkit/inventory/a.arrow"}
    put(output, *kept, rejects_path(ShardName("train", 0, 1)))
    outputs.clear(output)
    assert set(files_of(output)) == kept
    outputs.clear(output)


def test_clearing_that_is_interrupted_anywhere_leaves_nothing_that_the_next_one_does_not_own(
    source, tmp_path, monkeypatch
):
    remove = type(open_folder(str(tmp_path))).remove
    for num in range(20):
        output = open_folder(str(tmp_path / f"out-{num}"))
        convert_without_beam(source, output.url)
        removed = []

        def remove_some(self, path, removed=removed, num=num):
            if len(removed) == num:
                raise KeyboardInterrupt
            removed.append(path)
            remove(self, path)

        with monkeypatch.context() as patched:
            patched.setattr(type(output), "remove", remove_some)
            try:
                outputs.clear(output)
            except KeyboardInterrupt:
                pass
            else:
                break
        outputs.refuse_foreign(output)
        outputs.clear(output)
        assert set(files_of(output)) == {RUN_LOG}
    else:
        pytest.fail("it was interrupted every time")
    assert num > 5


def test_the_manifest_goes_first_so_that_nothing_partial_looks_complete(output, dataset, monkeypatch):
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
    options = ConvertOptions.of({"seed": 3, "resize": 6, "shards": 2})
    manifest = convert_without_beam(source, output.url, options)
    plan = plan_without_beam(open_source(source), options)
    assert outputs.description(manifest) == json.loads(json.dumps(plan.description()))


def test_the_plan_in_the_work_folder_describes_it_too(source, output):
    plan = plan_without_beam(open_source(source), ConvertOptions(classes=("dog", "cat")))
    write_plan(output, plan)
    assert find_planned(output).description == json.loads(json.dumps(plan.description()))


def described(labels=("cat", "dog"), layout="class folders", **options):
    return make_plan(Inventory(inventory_table(labels), layout, {}), ConvertOptions.of(options)).description()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, ""),
        ({"seed": 1}, "seed was 0 and is 1"),
        ({"seed": 1, "resize": 256}, "resize was not given and is 256, seed was 0 and is 1"),
        ({"name": "pets"}, "name was dataset and is pets"),
        ({"layout": "csv"}, "the layout was class folders and is csv"),
        (
            {"labels": ("cat", "cow")},
            f"{outputs.SOURCE_CHANGED}, the classes have changed",
        ),
        ({"classes": ("dog", "cat")}, "the classes have changed"),
    ],
)
def test_what_two_conversions_differ_in_is_said_in_words(changed, said):
    assert outputs.difference(described(), described(**changed)) == said


def test_another_version_of_a_library_is_named():
    old = described()
    new = {**described(), "software": {**old["software"], "pyarrow": "99.0"}}
    assert outputs.difference(old, new) == f"pyarrow was {old['software']['pyarrow']} and is 99.0"


def test_an_encoder_that_writes_other_bytes_is_said_in_words():
    old = described()
    new = {**described(), "software": {**old["software"], "png_encoder": "0" * 16}}
    said = outputs.difference(old, new)
    assert "PNG encoder writes other bytes" in said
    assert software.zlib_version() in said


@pytest.mark.parametrize(
    ("known", "said"),
    [({"seed": 1}, "seed was 0 and is 1"), ({}, ""), ({"name": "pets"}, "name was dataset and is pets")],
)
def test_only_what_is_known_is_compared(known, said):
    wanted = known_description(ConvertOptions.of(known), "class folders", None)
    assert outputs.difference(described(), wanted) == said


def test_a_report_left_by_an_earlier_run_goes_with_its_dataset(output):
    with output.atomic_write(rejects_path(ShardName("train", 0, 1))) as file:
        file.write(b"{}")
    outputs.clear(output)
    assert files_of(output) == {}
