"""The command `shardkit adopt`, in this process and on Beam."""

import gzip
import json
import shlex

import pytest

import shardkit
from shardkit.adoption import adopting

from ..cli.calling import IN_PROCESS_RUNNER, call
from ..dataset.foreign.records import coco, example, framed, imagenet, tfrecorder, write


@pytest.fixture
def old(tmp_path):
    """Two files of tensorflow/models' ImageNet."""
    for path, first in (("train-00000-of-00001", 0), ("validation-00000-of-00001", 5)):
        write(tmp_path / "old" / path, [imagenet(i, 1 + i % 2, f"n0{1 + i % 2}") for i in range(first, first + 5)])
    return tmp_path / "old"


def test_the_command_says_what_it_found_and_what_comes_next(old, tmp_path):
    (tmp_path / "names.txt").write_text("tench\nshark\n")
    result = call("adopt", old, "--into", tmp_path / "new", "--classes", tmp_path / "names.txt")
    assert result.exit_code == 0, result.output
    lines = [line.partition(" ") for line in result.stderr.splitlines()]
    said = {first: rest.strip() for first, _, rest in lines}
    assert said["label"].startswith("image/class/label: the class, by number")
    assert said["labels"].startswith("1 to 2, 3 classes; no record has the label 0, so they may count from 1")
    assert said["classes"].startswith("2 names from --classes: 1 is 'tench', 2 is 'shark'")
    assert said["splits"] == "train (1 file), validation (1 file)"
    assert said["key"] == "image/filename"
    assert "no TFRecord was changed" in result.stdout
    assert "shardkit verify " in result.stdout
    assert "records in ../old" in call("verify", tmp_path / "new", "--deep").stdout
    info = call("info", tmp_path / "new").stdout
    assert f"records: {old}" in info
    assert json.loads(call("info", tmp_path / "new", "--json").stdout)["records_root"] == "../old"
    assert call("info", tmp_path / "new", "--rejected").stdout == ""
    assert "validation" in call("plan", tmp_path / "new").stdout
    assert call("extract", tmp_path / "new", tmp_path / "extracted").exit_code == 0
    assert len([*(tmp_path / "extracted").rglob("*.JPEG")]) == 10
    again = call("adopt", old, "--into", tmp_path / "new")
    assert (again.exit_code, again.stderr.count("\n")) == (2, 1)


def test_boxes_of_adopted_records_are_counted_by_info(tmp_path):
    (tmp_path / "val.record").write_bytes(framed([example(coco(i, [(1, "person")] * (i % 3))) for i in range(6)]))
    assert call("adopt", tmp_path, "--quiet").stderr == ""
    info = " ".join(call("info", tmp_path).stdout.split())
    assert "'person' 4 6 1 1 2" in info  # images, boxes, fewest, median, most
    assert "images without boxes: 2" in info


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--split-files", "train=a", "--split-files", "train=b"], "--split-files train is given twice"),
        (["--split-files", "train=nothing*"], "no file has a path like this"),
        (["--key-feature", "nope"], "there is no text in 'nope'"),
        (
            ["--key-feature", "image/format"],
            "'image/format' is not unique: 'JPEG' is in train-00000-of-00001",
        ),
        (["--label-feature", "nope"], "there is no such feature in the records"),
        (["--", "--no_such_option"], "no_such_option"),
    ],
)
def test_a_wrong_call_is_one_sentence_and_writes_nothing(arguments, sentence, old):
    before = sorted(old.iterdir())
    result = call("adopt", old, *arguments)
    assert result.exit_code in {1, 2}
    assert sentence in result.stderr
    assert sorted(old.iterdir()) == before


def test_beam_writes_the_bytes_of_the_threads(old, tmp_path):
    shardkit.adopt(old, into=tmp_path / "threads", name="x")
    result = call("adopt", old, "--into", tmp_path / "beam", "--name", "x", IN_PROCESS_RUNNER)
    assert result.exit_code == 0, result.output
    read = {path.relative_to(tmp_path / "beam"): path.read_bytes() for path in (tmp_path / "beam").rglob("*.*")}
    assert read == {
        path.relative_to(tmp_path / "threads"): path.read_bytes() for path in (tmp_path / "threads").rglob("*.*")
    }
    assert len(read) == 3


def test_a_file_that_a_worker_cannot_read_stops_a_beam_pipeline_with_a_sentence(old, monkeypatch):
    def fail(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(adopting, "scan_file", fail)
    result = call("adopt", old, IN_PROCESS_RUNNER)
    assert result.exit_code == 3
    assert "Permission denied" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (old / "manifest.json").exists()


def test_the_command_that_a_refusal_prints_converts_the_records_of_tfrecorder(tmp_path, monkeypatch):
    old = tmp_path / "old records"
    for split, first in (("train", 0), ("validation", 6), ("test", 8)):
        path = write(old / f"{split}-00000-of-00001.tfrecord.gz", [tfrecorder(i, i % 2) for i in range(first, 10)])
        path.write_bytes(gzip.compress(path.read_bytes()))
    (old / "discarded-data-00000-of-00001").touch()  # TFRecorder writes it, too
    (old / "transform_fn/assets").mkdir(parents=True)
    (old / "transform_fn/assets/vocab_label").write_text("cat\ndog\n")
    refused = call("adopt", old)
    assert refused.exit_code == 1
    assert "compressed with GZIP, and so are 2 other files" in refused.stderr
    program, *arguments = shlex.split(refused.stderr.splitlines()[-1], comments=True)
    monkeypatch.chdir(tmp_path)
    assert (program, call(*arguments).exit_code) == ("shardkit", 0)
    manifest = shardkit.read_manifest("OUT")
    assert [*manifest.classes] == ["cat", "dog"]
    assert {name: split.num_examples for name, split in manifest.splits.items()} == {
        "train": 10,
        "validation": 4,
        "test": 2,
    }


@pytest.mark.parametrize(
    ("option", "answer"),
    [
        ("--flink_master=x", "it is an option of Apache Beam; add --runner to use it"),
        ("--in=x", "did you mean --into?"),
        ("--output=x", "did you mean "),  # not "OUTPUT is the second argument", as for `convert`
    ],
)
def test_an_unknown_option_is_answered_as_in_other_commands(option, answer, old):
    result = call("adopt", old, option)
    assert result.exit_code == 2
    assert f"no such option: {option.partition('=')[0]}; {answer}" in result.stderr
