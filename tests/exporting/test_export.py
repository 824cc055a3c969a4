"""The command `shardkit export`: whole files, the same again, and nothing of a user is replaced."""

import itertools
import json

import pytest

from shardkit import read_manifest
from shardkit.cli.export import TARGETS
from shardkit.conversion.writing.output.output_folder import owned
from shardkit.dataset.export_list import EXPORTS
from shardkit.dataset.manifest import seal_manifest
from shardkit.dataset.tfrecord import read_records
from shardkit.exporting import TARGETS as ALL_TARGETS
from shardkit.exporting import Facts, export_dataset
from shardkit.storage import TEMPORARY, open_folder
from shardkit.testing import convert_without_beam, digests_of, write_class_folders

from ..cli.calling import call
from ..comparison.making import Made, write_dataset

EXAMPLES = [Made(f"{i}.png", i % 2, b"image" * i) for i in range(5)]
FILES = {"croissant": "croissant.json", "dataset-card": "README.md", "dali-index": "test-00000-of-00001.idx"}


@pytest.fixture
def dataset(tmp_path):
    write_dataset(tmp_path / "out", {"train": EXAMPLES[:4], "test": EXAMPLES[4:], "empty": []})
    return tmp_path / "out"


def exported(dataset, target, *options, exit_code=0):
    result = call("export", dataset, "--to", target, *options)
    assert result.exit_code == exit_code, result.output
    return result


def test_the_command_has_all_targets():
    assert TARGETS == ALL_TARGETS
    assert FILES.keys() == {*TARGETS}


def test_the_index_of_dali_is_that_of_its_own_script(dataset):
    exported(dataset, "dali-index")
    paths = sorted(path.name for path in dataset.glob("*.idx"))
    names = ["empty-00000-of-00001", "test-00000-of-00001", "train-00000-of-00002", "train-00001-of-00002"]
    assert paths == [f"{name}.idx" for name in names]
    for path in dataset.glob("*.idx"):
        with open(path.with_suffix(".tfrecord"), "rb") as shard:
            starts = [offset for offset, _ in read_records(shard, name="")] + [shard.tell()]
        frames = [f"{start} {end - start}\n" for start, end in itertools.pairwise(starts)]
        assert path.read_text() == "".join(frames)


@pytest.mark.parametrize("target", TARGETS)
def test_a_second_export_changes_nothing(dataset, target):
    before = digests_of(dataset)
    assert "wrote" in exported(dataset, target).stdout
    first = digests_of(dataset)
    assert before.items() < first.items()
    times = {path: path.stat().st_mtime_ns for path in dataset.iterdir()}
    assert "up to date" in exported(dataset, target).stdout
    assert {path: path.stat().st_mtime_ns for path in dataset.iterdir()} == times
    assert digests_of(dataset) == first


@pytest.mark.parametrize("target", TARGETS)
def test_the_files_belong_to_the_dataset(dataset, target):
    exported(dataset, target)
    result = call("verify", dataset)
    assert FILES[target] not in result.output
    assert EXPORTS not in result.output
    assert {FILES[target], EXPORTS} <= owned(open_folder(str(dataset)))


@pytest.mark.parametrize("target", TARGETS)
def test_a_users_file_is_never_replaced(dataset, target):
    mine = dataset / FILES[target]
    mine.write_text("mine")
    result = exported(dataset, target, exit_code=2)
    assert f"{mine}: this file was not written by an export" in result.stderr
    assert (mine.read_text(), (dataset / EXPORTS).exists()) == ("mine", False)
    assert FILES[target] not in owned(open_folder(str(dataset)))


@pytest.mark.parametrize("target", TARGETS)
def test_a_file_that_a_user_changed_is_the_users(dataset, target):
    exported(dataset, target)
    mine = dataset / FILES[target]
    mine.write_text(mine.read_text() + "more")
    result = exported(dataset, target, exit_code=2)
    assert f"{mine}: this file was changed after its export" in result.stderr
    assert FILES[target] not in owned(open_folder(str(dataset)))
    assert FILES[target] in call("verify", dataset).output


def test_an_export_follows_the_dataset(dataset):
    exported(dataset, "croissant")
    manifest = read_manifest(str(dataset))
    fields = {**manifest.model_dump(exclude={"digest", "format_version"}), "name": "renamed"}
    (dataset / "manifest.json").write_bytes(seal_manifest(fields).to_bytes())
    said = call("verify", dataset).output
    assert "exported from an earlier state of the dataset: croissant.json; export again" in said
    assert f"  shardkit export {dataset} --to croissant\n" in said
    assert "dali" not in said
    exported(dataset, "croissant")
    assert json.loads((dataset / "croissant.json").read_text())["name"] == "renamed"
    assert "earlier state" not in call("verify", dataset).output


def test_append_names_the_exports_to_repeat(tmp_path):
    write_class_folders(tmp_path / "first", {"ant": 2, "bee": 2})
    write_class_folders(tmp_path / "second", {"cat": 2, "dog": 2}, width=9)
    convert_without_beam(str(tmp_path / "first"), str(tmp_path / "out"))
    for target in ("dali-index", "croissant"):
        exported(tmp_path / "out", target)
    said = call("append", tmp_path / "out", tmp_path / "second").output
    commands = [f"  shardkit export {tmp_path / 'out'} --to {target}" for target in ("croissant", "dali-index")]
    assert "\n".join(["other facts:", *commands]) in said


def test_another_folder_takes_the_files_of_one_dataset(dataset, tmp_path):
    before = digests_of(dataset)
    exported(dataset, "dali-index", "-o", tmp_path / "idx")
    assert digests_of(dataset) == before
    assert sorted(path.suffix for path in (tmp_path / "idx").iterdir()) == [*[".idx"] * 4, ".json"]
    write_dataset(tmp_path / "other", {"train": EXAMPLES})
    result = exported(tmp_path / "other", "dali-index", "-o", tmp_path / "idx", exit_code=1)
    assert f"holds exports of the dataset {dataset}" in result.stderr


def test_an_export_that_failed_halfway_is_finished_by_the_next(dataset):
    index = dataset / "empty-00000-of-00001.index.parquet"  # the last one
    index.rename(dataset / "away")
    assert "the index is missing" in exported(dataset, "dali-index", exit_code=1).stderr
    assert len([*dataset.glob("*.idx")]) == 3
    (dataset / "away").rename(index)
    assert "wrote 1 file: empty-00000-of-00001.idx" in exported(dataset, "dali-index").stdout
    assert not [path for path in dataset.iterdir() if path.name.startswith(TEMPORARY)]
    assert "up to date" in exported(dataset, "dali-index").stdout


def test_a_list_that_is_none_is_refused(dataset):
    (dataset / EXPORTS).write_text('{"files": []}')
    assert "is not a list that shardkit wrote" in exported(dataset, "croissant", exit_code=2).stderr


def test_the_dataset_card_has_a_header_that_yaml_reads(dataset):
    import yaml

    title = 'Cats: "wild" & tame'
    manifest = read_manifest(str(dataset))
    facts = Facts(title=title, license="https://example.org/l", description="D.")
    export_dataset(manifest, "dataset-card", manifest.root, facts)
    _, header, body = (dataset / "README.md").read_text().split("---\n", 2)
    assert yaml.safe_load(header) == {
        "pretty_name": title,
        "license": "other",
        "license_link": "https://example.org/l",
        "task_categories": ["image-classification"],
        "size_categories": ["n<1K"],
        "tags": ["tfrecord", "shardkit"],
        "viewer": False,
    }
    assert "| train | 4 |" in body


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--to", "coco"], "'coco' is not one of"),
        ([], "Missing option '--to'"),
        (["--to", "dali-index", "--license", "mit"], "--license has no effect on --to dali-index"),
        (
            ["--to", "dataset-card", "--date-published", "2026-05-31"],
            "--date-published has no effect on --to dataset-card",
        ),
        (["--to", "croissant", "--url", "example.org"], "does not begin with https://"),
    ],
)
def test_a_wrong_call_writes_nothing(dataset, options, said):
    before = digests_of(dataset)
    result = call("export", dataset, *options)
    assert result.exit_code == 2
    assert said in result.stderr
    assert digests_of(dataset) == before
