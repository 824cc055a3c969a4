import json
import re
import shutil

import pyarrow.parquet as pq
import pytest

from shardkit.options.groups import ConvertOptions
from shardkit.sources.opening import open_source
from shardkit.storage import open_folder
from shardkit.testing import digests_of, plan_without_beam, write_class_folders, write_plan

from .calling import call, convert, run, run_forked


def flipped(path, position, mask=0x01):
    data = bytearray(path.read_bytes())
    data[position] ^= mask
    path.write_bytes(data)


@pytest.mark.parametrize("options", [[], ["--deep"]])
def test_a_sound_dataset_gives_0_and_one_line(options, dataset):
    before = digests_of(dataset, but=())
    result = call("verify", dataset, *options)
    assert result.exit_code == 0
    assert result.stderr == ""
    assert re.fullmatch(
        rf"{dataset}: no problems: 60 examples in 6 shards, [\d.]+ KiB; every byte checked(, every image decoded)?\n",
        result.stdout,
    )
    assert ("every image decoded" in result.stdout) == bool(options)
    assert digests_of(dataset, but=()) == before


FAULTS = [
    # file, what is done to it, what verify must say
    ("train-00001-of-00003.tfrecord", lambda path: flipped(path, 3), "train-00001-of-00003.tfrecord, record 0: "),
    ("train-00001-of-00003.tfrecord", lambda path: flipped(path, 9), "train-00001-of-00003.tfrecord, record 0: "),
    ("train-00001-of-00003.tfrecord", lambda path: flipped(path, -1), "its sha256 is not the manifest's"),
    ("train-00001-of-00003.tfrecord", lambda path: path.unlink(), "train-00001-of-00003.tfrecord: is missing"),
    (
        "train-00001-of-00003.tfrecord",
        lambda path: path.write_bytes(path.read_bytes()[:-5]),
        "bytes, the manifest says",
    ),
    ("train-00001-of-00003.tfrecord", lambda path: path.write_bytes(path.read_bytes() + b"x"), "the manifest says"),
    ("train-00001-of-00003.tfrecord", lambda path: path.write_bytes(b""), "has 0 bytes, the manifest says"),
    ("validation-00000-of-00003.index.parquet", lambda path: flipped(path, 0), "its sha256 is not the manifest's"),
    ("validation-00000-of-00003.index.parquet", lambda path: flipped(path, 300), "its sha256 is not the manifest's"),
    ("validation-00000-of-00003.index.parquet", lambda path: path.unlink(), "is missing"),
    ("rejected.parquet", lambda path: flipped(path, 50), "rejected.parquet: its sha256 is not the manifest's"),
    ("features.json", lambda path: path.write_text(path.read_text() + " "), "features.json: has "),
    ("dataset_info.json", lambda path: path.unlink(), "dataset_info.json: is missing"),
    ("label.labels.txt", lambda path: flipped(path, 0), "label.labels.txt: its sha256"),
    ("manifest.json", lambda path: flipped(path, path.read_bytes().index(b"dataset")), "the digest does not match"),
    (
        "manifest.json",
        lambda path: path.write_text(path.read_text().replace("\n ", "\n  ", 1)),
        "byte was changed",
    ),
    ("manifest.json", lambda path: path.write_text("{"), "the manifest is not JSON"),
    ("manifest.json", lambda path: path.unlink(), "manifest.json: is missing; a dataset has one when"),
    ("train-00003-of-00004.tfrecord", lambda path: path.write_bytes(b""), "the manifest does not list it"),
]


@pytest.mark.parametrize(
    ("file", "fault", "sentence"), FAULTS, ids=[f"{file} {sentence}" for file, _, sentence in FAULTS]
)
def test_a_fault_gives_1_and_names_the_file(file, fault, sentence, dataset, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(dataset, copy)
    fault(copy / file)
    result = call("verify", copy)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert any(file in line and sentence in line for line in lines), result.stdout
    assert result.stderr == ""


def test_files_that_do_not_belong_are_named_and_are_no_problem(dataset, tmp_path):
    copy = shutil.copytree(dataset, tmp_path / "copy")
    (copy / "notes.txt").touch()
    (copy / ".shardkit").mkdir()
    result = call("verify", copy)
    assert result.exit_code == 0, result.output
    assert "1 name that no conversion wrote, and that no reader reads: notes.txt" in " ".join(result.stderr.split())
    assert f"{copy}/.shardkit/ is left of a run that did not end properly" in " ".join(result.stderr.split())
    assert call("verify", copy, "--quiet").output == ""
    assert json.loads(call("verify", copy, "--json").stdout)["other_files"] == [".shardkit/", "notes.txt"]


def test_every_damaged_file_is_reported_not_only_the_first(dataset, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(dataset, copy)
    files = [
        "train-00000-of-00003.tfrecord",
        "train-00002-of-00003.tfrecord",
        "validation-00001-of-00003.index.parquet",
    ]
    files += ["features.json", "rejected.parquet"]
    for file in files:
        flipped(copy / file, 40)
    said = call("verify", copy).stdout
    assert all(file in said for file in files)
    assert re.search(r"\d+ problems found; convert again with --overwrite\n$", said)


def test_a_damaged_record_costs_itself_only_and_its_key_is_named(dataset, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(dataset, copy)
    row = pq.read_table(copy / "train-00001-of-00003.index.parquet").to_pylist()[2]
    flipped(copy / "train-00001-of-00003.tfrecord", row["offset"] + 12 + row["image_start"] + 5)
    said = call("verify", copy).stdout.splitlines()
    assert said[0].startswith("train-00001-of-00003.tfrecord, record 2: ")
    assert repr(row["key"]) in said[0]
    assert [line for line in said if ", record " in line] == said[:1]


def test_an_interrupted_conversion_is_no_dataset_yet(source, tmp_path):
    output = open_folder(str(tmp_path / "out"))
    output.create()
    write_plan(output, plan_without_beam(open_source(str(source)), ConvertOptions()))
    result = call("verify", tmp_path / "out")
    assert result.exit_code == 1
    assert result.stdout == f"{tmp_path}/out/manifest.json: the conversion was interrupted; run it again to finish it\n"
    assert "run the same `shardkit convert` again to finish it" in call("info", tmp_path / "out").stdout


def test_nothing_and_a_source_are_no_datasets(source, tmp_path):
    for path in (tmp_path, tmp_path / "nowhere", source, source / "ant" / "000.png"):
        result = call("verify", path)
        assert result.exit_code == 1
        assert f"{path}/manifest.json: is missing; " in result.stdout
    assert f"`shardkit convert {source} OUT`" in call("verify", source).stdout


def test_deep_finds_an_image_that_cannot_be_decoded_though_all_its_bytes_are_as_written(tmp_path):
    source = write_class_folders(tmp_path / "source", {"star": 11, "moon": 1}, width=20, height=20)
    flipped(source / "star" / "005.png", 300)
    convert(source, tmp_path / "out", "--check", "header")
    assert call("verify", tmp_path / "out").exit_code == 0
    deep = call("verify", tmp_path / "out", "--deep")
    assert deep.exit_code == 1
    assert deep.stdout.count("star/005.png") == 1


def test_verify_works_by_any_spelling_and_from_any_folder(dataset, monkeypatch):
    monkeypatch.chdir(dataset.parent)
    for spelling in (
        dataset.name,
        f"./{dataset.name}/",
        dataset / "manifest.json",
        f"{dataset.name}/../{dataset.name}",
    ):
        assert call("verify", spelling).exit_code == 0
    monkeypatch.chdir(dataset)
    assert call("verify", ".").exit_code == 0
    assert call("verify", "manifest.json").exit_code == 0


def test_a_dataset_that_was_moved_is_still_sound(dataset, tmp_path):
    shutil.copytree(dataset, tmp_path / "elsewhere")
    assert call("verify", tmp_path / "elsewhere", "--deep").exit_code == 0


def test_quiet_says_nothing_of_a_sound_dataset_and_everything_of_another(dataset, tmp_path):
    assert call("verify", dataset, "--quiet").output == ""
    shutil.copytree(dataset, tmp_path / "copy")
    (tmp_path / "copy" / "features.json").unlink()
    assert "features.json: is missing" in call("verify", tmp_path / "copy", "-q").stdout


def test_the_exit_code_is_the_processes(dataset, tmp_path):
    assert run("verify", dataset).returncode == 0
    assert run_forked("verify", tmp_path).returncode == 1


def test_the_manifest_of_a_newer_format_is_refused_by_its_number(dataset, tmp_path):
    shutil.copytree(dataset, tmp_path / "copy")
    manifest = json.loads((dataset / "manifest.json").read_text())
    (tmp_path / "copy" / "manifest.json").write_text(json.dumps({**manifest, "format_version": 99}))
    for command in ("verify", "info"):
        result = call(command, tmp_path / "copy")
        assert result.exit_code == 1
        assert "manifest format 99 is newer than this shardkit's 3; install a newer one" in result.output
