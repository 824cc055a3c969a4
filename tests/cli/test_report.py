"""`shardkit report`, as users call it; tests/report/test_page.py looks at the pages."""

import csv
import shlex
import shutil
from pathlib import Path

import pytest

from shardkit.testing import convert_without_beam, picture, write_class_folders, write_tree

from .calling import SAMPLE_DATA, call


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    out = tmp_path_factory.mktemp("report") / "out"
    convert_without_beam(str(SAMPLE_DATA / "coco"), str(out))
    return out


@pytest.fixture
def own(dataset, tmp_path):
    """A copy of the dataset, which a test may damage."""
    return shutil.copytree(dataset, tmp_path / "copy")


def test_a_report_says_its_size_and_its_warnings_and_is_the_same_each_time(dataset, tmp_path):
    result = call("report", dataset, "-o", tmp_path / "one.html")
    assert result.exit_code == 0
    assert "one.html: " in result.stdout
    assert "2 warnings:" in result.stdout
    assert "check: 3 of 3 classes have only 1 to 19 images in “train”" in result.stdout
    assert not [*tmp_path.glob("*.unfinished")]
    assert call("report", dataset, "-o", tmp_path / "two.html", "-q").stdout == ""
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


def test_a_report_about_a_source_writes_nothing_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = call("report", SAMPLE_DATA / "masks", "--training-size", "16x24")
    assert result.exit_code == 0, result.output
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    page = (tmp_path / "report.html").read_text()
    assert "training 16 x 24" in page
    assert "masks OUT" in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--training-size", "big"], "--training-size is a number of pixels such as 224, or HEIGHTxWIDTH"),
        (["--training-size", "0"], "sides from 1 to 16384 pixels; found 0"),
        (["--resize", "64"], "--resize has no effect on its report"),
        (["--hosts", "0"], "Invalid value for '--hosts'"),
        (["--source-folder", "no-folder"], "--source-folder no-folder: there is no such folder"),
        (["-o", "no/such/folder/page.html"], "no/such/folder/page.html: there is no folder "),
    ],
)
def test_a_wrong_call_is_refused_in_a_sentence(dataset, arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = call("report", dataset, *arguments)
    assert result.exit_code in {2, 3}
    assert said in result.stderr
    assert not [*tmp_path.iterdir()]


def test_a_folder_of_the_source_is_for_datasets_only(tmp_path):
    result = call("report", SAMPLE_DATA / "masks", "--source-folder", ".", "-o", tmp_path / "page.html")
    assert result.exit_code == 2
    assert "--source-folder is for a dataset" in result.stderr


def test_every_wrong_label_is_in_a_table_that_a_conversion_reads(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = {f"{'ab'[at % 2]}/{at}.png": picture(at) for at in range(40)}
    copies = {f"{'ba'[at % 2]}/twin {at}.png": picture(at) for at in range(30)}
    write_tree(tmp_path / "source", {**files, **copies})
    convert_without_beam("source", "out")
    result = call("report", "out", "--fixes", "fixes.csv", "-q")
    assert (result.exit_code, result.stdout) == (0, "")
    with Path("fixes.csv").open(newline="") as file:
        rows = [*csv.DictReader(file)]
    assert {row["key"] for row in rows} == {key for key in files if int(key[2:-4]) < 30} | {*copies}
    assert len({row["set"] for row in rows}) == 30
    by_key = {row["key"]: row for row in rows}
    assert by_key["a/0.png"]["label"] == "a"
    assert by_key["a/0.png"]["comment"] == "the same bytes as b/twin 0.png (b)"
    # As it is, it changes nothing.
    assert call("convert", "out", "same", "--labels", "fixes.csv").exit_code == 0
    assert call("diff", "out", "same", "-q").exit_code == 0
    text = "\n".join(Path("fixes.csv").read_text().splitlines()).replace("b/twin 0.png,b,", "b/twin 0.png,a,")
    Path("edited.csv").write_text(text)
    result = call("report", "out", "--fixes", "other.csv")
    command = result.stdout.splitlines()[-1].replace("other.csv", "edited.csv")
    assert call(*shlex.split(command)[1:]).exit_code == 0
    assert "b → a" in call("diff", "out", "NEW").stdout


def test_a_table_of_wrong_labels_needs_a_dataset_with_one_class_for_each_image(dataset, tmp_path):
    for source, said in ((dataset, "has no single class"), (SAMPLE_DATA / "shapes", "--fixes is for a dataset")):
        result = call("report", source, "--fixes", tmp_path / "fixes.csv", "-o", tmp_path / "page.html")
        assert result.exit_code == 2
        assert said in result.stderr
        assert not [*tmp_path.iterdir()]


def test_damaged_records_are_a_problem_and_named_in_their_places(tmp_path):
    source = write_class_folders(tmp_path / "source", {"a": 2, "b": 2})
    convert_without_beam(str(source), str(tmp_path / "out"))
    shard = tmp_path / "out" / "train-00000-of-00001.tfrecord"
    data = bytearray(shard.read_bytes())
    data[200] ^= 0xFF
    shard.write_bytes(data)
    result = call("report", tmp_path / "out", "-o", tmp_path / "page.html")
    assert result.exit_code == 0
    assert "problem: 1 of the pictures to show cannot be read" in result.stdout
    page = (tmp_path / "page.html").read_text()
    assert "train-00000-of-00001.tfrecord, record 0" in page
    assert page.count("<img src=") == 3


def test_a_missing_index_is_an_error(own, tmp_path):
    next(own.glob("train-*.index.parquet")).unlink()
    result = call("report", own, "-o", tmp_path / "page.html")
    assert result.exit_code == 1
    assert "the index is missing" in result.stderr
    assert not (tmp_path / "page.html").exists()
