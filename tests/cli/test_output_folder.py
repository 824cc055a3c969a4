import os
import re
import shlex
import sys

import pytest

import shardkit
from shardkit.testing import digests_of, write_class_folders, write_tree

from ..beam.crashing import interrupt
from .calling import call, convert, is_one_sentence, run


@pytest.mark.parametrize("overwrite", [[], ["--overwrite"]])
def test_an_output_that_holds_somebody_elses_files_is_refused_and_not_touched(overwrite, source, tmp_path):
    output = write_tree(tmp_path / "out", {"thesis.tex": b"\\begin{document}", "train-00000-of-00001.tfrecord": b"old"})
    before = digests_of(output)
    result = call("convert", source, output, *overwrite)
    assert result.exit_code == 2
    assert "holds 'thesis.tex'" in result.stderr
    assert digests_of(output) == before


def test_shards_of_unknown_origin_are_removed_by_overwrite_only(source, tmp_path):
    output = tmp_path / "out"
    convert(source, output)
    (output / "manifest.json").unlink()
    before = digests_of(output)
    result = call("convert", source, output)
    assert result.exit_code == 1
    assert "of a dataset without a manifest" in result.stderr
    assert "--overwrite" in result.stderr
    assert digests_of(output, but=(".shardkit/lock", "run-log.jsonl")) == before
    assert call("convert", source, output, "--overwrite", "--shards", "2").exit_code == 0
    assert not (output / "train-00000-of-00001.tfrecord").exists()


@pytest.mark.parametrize("overwrite", [[], ["--overwrite"]])
def test_a_strangers_shards_are_refused_and_not_removed(overwrite, source, tmp_path):
    output = write_tree(tmp_path / "out", {"train-00000-of-01024.tfrecord": b"theirs"})
    result = call("convert", source, output, *overwrite)
    assert result.exit_code == 2
    assert "holds 'train-00000-of-01024.tfrecord'" in result.stderr
    assert "--overwrite" not in result.stderr
    assert (output / "train-00000-of-01024.tfrecord").read_bytes() == b"theirs"


def test_a_damaged_dataset_in_the_output_is_replaced_by_overwrite_only(source, tmp_path):
    output = tmp_path / "out"
    assert call("convert", source, output).exit_code == 0
    (output / "manifest.json").write_text("{")
    result = call("convert", source, output)
    assert result.exit_code == 1
    assert "the manifest is not JSON" in result.stderr
    assert call("convert", source, output, "--overwrite").exit_code == 0
    assert call("verify", output).exit_code == 0


def test_a_flipped_byte_is_repaired_by_overwrite_and_not_by_the_same_command(source, tmp_path):
    output = tmp_path / "out"
    assert call("convert", source, output, "--shards", "1").exit_code == 0
    shard = output / "train-00000-of-00001.tfrecord"
    sound = shard.read_bytes()
    shard.write_bytes(sound[:-1] + bytes([sound[-1] ^ 1]))
    assert call("convert", source, output, "--shards", "1").exit_code == 0
    assert shard.read_bytes() != sound
    assert "convert again with --overwrite" in call("verify", output).stdout
    assert call("convert", source, output, "--shards", "1", "--overwrite").exit_code == 0
    assert shard.read_bytes() == sound


def test_a_finished_dataset_that_lost_a_shard_is_not_called_finished(source, tmp_path):
    output = tmp_path / "out"
    assert call("convert", source, output, "--shards", "2").exit_code == 0
    (output / "train-00001-of-00002.tfrecord").unlink()
    result = call("convert", source, output, "--shards", "2")
    assert result.exit_code == 1, result.output
    assert "train-00001-of-00002.tfrecord" in result.stderr
    assert "--overwrite" in result.stderr


def test_an_empty_folder_and_a_folder_to_be_made_deep_down_are_fine(source, tmp_path):
    (tmp_path / "empty").mkdir()
    assert call("convert", source, tmp_path / "empty").exit_code == 0
    assert call("convert", source, tmp_path / "a" / "b" / "c").exit_code == 0


@pytest.mark.parametrize(
    ("command", "argument"),
    [(["plan", ""], "SOURCE"), (["convert", "", "out"], "SOURCE"), (["convert", ".", ""], "OUTPUT")],
)
def test_an_empty_path_is_not_the_working_directory(command, argument, source, monkeypatch):
    monkeypatch.chdir(source)
    before = digests_of(source)
    result = call(*command)
    assert result.exit_code == 2
    assert f"{argument} may not be empty" in result.stderr
    assert digests_of(source) == before


def test_the_rate_of_a_run_counts_nothing_that_an_earlier_one_did(tmp_path, monkeypatch):
    source = write_class_folders(tmp_path / "source", {"ant": 10, "bee": 2})
    interrupt(monkeypatch, source, tmp_path / "out", "--shards", "4", shards=3)
    result = call("convert", source, tmp_path / "out", "--shards", "4")
    assert " s, 3 shards finished before\n" in result.stdout
    assert "images/s" not in result.stdout


@pytest.mark.parametrize("spelling", ["{}", "{}/", "{}/.", "{}/ant/.."])
def test_the_source_itself_is_no_output(spelling, tmp_path):
    source = write_class_folders(tmp_path / "source", {"ant": 2})
    before = digests_of(source)
    result = call("convert", source, spelling.format(source))
    assert result.exit_code == 2
    assert "OUTPUT is SOURCE itself; choose another folder" in result.stderr
    assert digests_of(source) == before


def test_a_label_folder_is_no_output(tmp_path):
    source = write_class_folders(tmp_path / "source", {"ant": 2, "bee": 2})
    before = digests_of(source)
    result = call("convert", source, source / "ant")
    assert result.exit_code == 2
    assert "holds '000.png'" in result.stderr
    assert digests_of(source) == before


@pytest.mark.parametrize(
    ("below", "found", "code"),
    [
        ("", "is not a folder; choose a new or an empty folder", 2),
        ("/deeper", "cannot write into the output: Not a directory", 3),
    ],
)
def test_a_file_in_the_outputs_place_is_refused_by_name(below, found, code, source, tmp_path):
    (tmp_path / "out").write_text("mine")
    result = call("convert", source, f"{tmp_path}/out{below}")
    assert result.exit_code == code
    assert f"{tmp_path}/out{below}: {found}" in result.stderr
    assert is_one_sentence(result.stderr)
    assert (tmp_path / "out").read_text() == "mine"


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder that not even root can write into")
def test_an_output_where_nothing_can_be_written_is_refused_by_name(source):
    result = call("convert", source, "/proc/self/out")
    assert result.exit_code == 3
    assert "/proc/self/out: cannot write into the output: " in result.stderr
    assert is_one_sentence(result.stderr)


def limited(num_bytes):
    """A program that executes its arguments where no file may grow beyond that, as on a disk that is full."""
    # Not by `preexec_fn`: gRPC, if a test before has loaded it, may abort in the fork that then runs Python.
    program = "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2); "
    return [sys.executable, "-c", program + "os.execv(sys.argv[2], sys.argv[2:])", str(num_bytes)]


@pytest.mark.parametrize(
    ("num_bytes", "named"),
    [
        pytest.param(600, "out/.shardkit: cannot write the inventory: ", marks=pytest.mark.slow),
        (40_000, "-of-00002.tfrecord: cannot write: "),  # plan and inventory fit, the shards do not
    ],
)
def test_a_full_disk_ends_it_with_3_and_a_sentence_and_the_same_command_goes_on(num_bytes, named, tmp_path):
    source = write_class_folders(tmp_path / "source", {"ant": 6, "bee": 4}, width=64, height=64)
    output = tmp_path / "out"
    # A limit of this process could not be taken back.
    full = run("convert", source, output, "--shards", "2", started_by=limited(num_bytes))
    assert full.returncode == 3, full.stderr
    assert named in full.stderr
    assert "File too large" in full.stderr
    assert is_one_sentence(full.stderr)
    assert not (output / "manifest.json").exists()
    convert(source, output, "--shards", "2")
    convert(source, tmp_path / "anew", "--shards", "2")
    assert digests_of(output) == digests_of(tmp_path / "anew")


@pytest.mark.parametrize("num_others", [0, 1])
def test_the_swapped_paths_of_an_append_are_told_with_the_command_that_works(num_others, source, tmp_path, monkeypatch):
    convert(source, tmp_path / "OUT")
    for name in ("more", "others")[: 1 + num_others]:
        write_class_folders(tmp_path / name, {name: 3, f"{name} two": 2}, width=48, height=48)
    monkeypatch.chdir(tmp_path)
    before = len(shardkit.open("OUT", "train"))
    result = call("append", "more", *["others"][:num_others], "OUT", "--max-rejected", "3")
    assert result.exit_code == 2
    assert "more is no dataset, and OUT is one" in result.stderr
    line = re.search("did you mean `(.*)`", result.stderr)[1]
    assert call(*shlex.split(line)[1:]).exit_code == 0
    assert len(shardkit.open("OUT", "train")) == before + 5 + 5 * num_others


@pytest.mark.parametrize("is_dataset", [False, True])
def test_swapped_paths_are_told_from_a_wrong_output(is_dataset, source, tmp_path):
    first = tmp_path / "out"
    if is_dataset:
        assert call("convert", source, first).exit_code == 0
    before = sorted(source.rglob("*"))
    result = call("convert", first, source, "--seed", "3")
    assert result.exit_code == 2
    assert f"did you mean `shardkit convert {source} {first} --seed 3`?" in result.stderr
    assert sorted(source.rglob("*")) == before
    if not is_dataset:
        assert call("convert", source, first, "--seed", "3").exit_code == 0


@pytest.mark.parametrize("text", ["[" * 100_000, "{", "7"], ids=["nested too deeply", "cut short", "a number"])
@pytest.mark.parametrize("name", ["plan.parquet", "run", "removing.json", "failure.json"])
def test_a_damaged_file_of_an_earlier_run_stops_nobody(name, text, source, tmp_path):
    write_tree(tmp_path / "out", {f".shardkit/{name}": text.encode()})
    assert call("info", tmp_path / "out").exit_code == 1
    assert call("convert", source, tmp_path / "out").exit_code == 0
