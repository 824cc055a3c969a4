import re
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from shardkit import images
from shardkit.testing import digests_of, write_class_folders, write_tree

from ..cli.calling import convert
from .crashing import finished_shards, interrupt, nothing_left

SMALL = ["--splits", "train=0.6,validation=0.4", "--shards", "2", "--split-by", "stratified"]

DIFFERENT = [
    (["--seed", "1"], "--seed was 0 and is 1"),
    (["--shards", "3"], "--shards was 2 and is 3"),
    (
        ["--splits", "train=0.5,validation=0.5"],
        "--splits was train=0.6,validation=0.4 and is train=0.5,validation=0.5;",
    ),
    (["--split-by", "hash"], "--split-by was stratified and is hash"),
    (["--quality", "80"], "--quality was 95 and is 80"),
    (["--resize", "6"], "--resize was not given and is 6"),
    (["--check", "header"], "--check was decode and is header"),
    (["--name", "other"], "--name was dataset and is other"),
    (["--input-pipelines", "2"], "--input-pipelines was 1 and is 2"),
    (["--shard-size", "64MiB"], "--shard-size was 128MiB and is 64MiB"),
    (["--seed", "1", "--quality", "80"], "--quality was 95 and is 80, --seed was 0 and is 1"),
]
# They change no byte, so they are no difference.
ALIKE = [["--workers", "1"], ["--max-rejected", "0"], ["--quiet"]]


@pytest.fixture(scope="module")
def interrupted(source, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patched:
        output = tmp_path_factory.mktemp("interrupted") / "out"
        interrupt(patched, source, output, *SMALL, shards=2)
    return output


@pytest.fixture(scope="module")
def finished(source, tmp_path_factory):
    output = tmp_path_factory.mktemp("finished") / "out"
    convert(source, output, *SMALL)
    return output


@pytest.mark.parametrize(("options", "difference"), DIFFERENT, ids=[" ".join(options) for options, _ in DIFFERENT])
@pytest.mark.parametrize("state", ["interrupted", "finished"])
def test_another_option_is_refused_by_a_sentence_that_names_the_difference(
    state, options, difference, source, interrupted, finished
):
    output = {"interrupted": interrupted, "finished": finished}[state]
    before = digests_of(output)
    said = convert(source, output, *SMALL, *options, exit_code=1)
    assert difference in said
    assert "--overwrite" in said
    assert {path: digest for path, digest in digests_of(output).items() if not path.startswith(".shardkit/")} == {
        path: digest for path, digest in before.items() if not path.startswith(".shardkit/")
    }


def test_a_refused_call_leaves_no_trace_in_a_finished_dataset(source, tmp_path):
    convert(source, tmp_path / "out", *SMALL)
    before = digests_of(tmp_path / "out", but=())
    convert(source, tmp_path / "out", *SMALL, "--seed", "1", exit_code=1)
    assert digests_of(tmp_path / "out", but=()) == before


LATE = [
    (["--shards", "trian=2"], 2, "'trian'"),
    (["--shards", "2,test=2"], 2, "name=value"),
    (["--splits", "train=0.5,test=0.5", "--shards", "validation=2"], 2, "'validation'"),
    (["--shards", "1000"], 2, "has only 60"),
    (["--shard-size", "5MiB"], 2, "must be from 10MiB to 1GiB"),
    (["--group-by", "(["], 2, "nor a regular expression"),
    (["--group-by", "patient([0-9])"], 2, "found in none"),
    (["--seed", "1"], 1, "--seed was 0 and is 1"),
]


@pytest.mark.parametrize(("options", "code", "said"), LATE, ids=[" ".join(options) for options, _, _ in LATE])
def test_what_can_be_refused_before_images_are_decoded_is(options, code, said, source, finished, monkeypatch, tmp_path):
    monkeypatch.setattr("shardkit.images.check_fully", lambda data: pytest.fail("decoded"))
    output = finished if code == 1 else tmp_path / "out"
    assert said in convert(source, output, *(SMALL if code == 1 else []), *options, exit_code=code)


@pytest.mark.parametrize("counts", [{"ant": 31, "bee": 20, "cat": 8}, {"ant": 31, "bee": 20, "cow": 9}])
def test_another_sources_dataset_in_the_output_is_refused_before_images_are_decoded(
    counts, finished, monkeypatch, tmp_path
):
    other = write_class_folders(tmp_path / "source", counts)
    monkeypatch.setattr("shardkit.images.check_fully", lambda data: pytest.fail("decoded"))
    assert "the source's files, or the options that" in convert(other, finished, *SMALL, exit_code=1)


def test_rejects_above_the_limit_stay_in_the_file_that_the_message_names(source, finished, tmp_path, monkeypatch):
    output = shutil.copytree(finished, tmp_path / "out")
    before = digests_of(output)
    bad = shutil.copytree(source, tmp_path / "source")
    for path in sorted((bad / "ant").iterdir())[:20]:
        path.write_bytes(b"no picture")
    said = convert(bad, output, *SMALL, exit_code=1)
    named = Path(re.search(r"all in (\S+)", said)[1])
    assert len(pq.read_table(named)) == 20
    assert {path: digest for path, digest in digests_of(output).items() if not path.startswith(".shardkit")} == before
    # Nor is what was decoded lost.
    decoded, check = [], images.check_fully
    monkeypatch.setattr("shardkit.images.check_fully", lambda data: (decoded.append(data), check(data))[1])
    convert(bad, output, *SMALL, "--overwrite", "--max-rejected", "50%")
    assert {*decoded} <= {b"no picture"}  # which might have been repaired
    assert nothing_left(output)


def test_with_header_checks_a_source_of_bad_images_only_is_not_published(tmp_path):
    source = write_tree(tmp_path / "source", {"ant/1.png": b"no picture", "bee/1.png": b""})
    said = convert(source, tmp_path / "out", "--check", "header", "--max-rejected", "100%", exit_code=1)
    assert "none of the 2 images is good" in said
    assert "ant/1.png" in said
    assert not (tmp_path / "out" / "manifest.json").exists()


@pytest.mark.parametrize("options", ALIKE, ids=" ".join)
def test_a_finished_conversion_says_so_whatever_changes_no_byte(options, source, finished):
    before = finished_shards(finished)
    said = convert(source, finished, *SMALL, *options)
    assert ("nothing to do" in said) != ("--quiet" in options)
    assert finished_shards(finished) == before
    assert nothing_left(finished)


CHANGES = {
    "a file more": lambda root: (root / "ant" / "new.png").write_bytes((root / "bee" / "000.png").read_bytes()),
    "a file less": lambda root: (root / "ant" / "000.png").unlink(),
    "a file renamed": lambda root: (root / "ant" / "000.png").rename(root / "ant" / "999.png"),
    "a file moved to another class": lambda root: (root / "ant" / "000.png").rename(root / "cat" / "100.png"),
    "another picture of the same size": lambda root: (root / "ant" / "000.png").write_bytes(
        (root / "ant" / "001.png").read_bytes()
    ),
}


@pytest.mark.parametrize(
    ("state", "change"),
    [
        ("interrupted", "a file less"),
        ("finished", "a file moved to another class"),
        ("finished", "another picture of the same size"),
        *(
            pytest.param("finished", change, marks=pytest.mark.slow)
            for change in ("a file more", "a file less", "a file renamed")
        ),
    ],
)
def test_a_changed_source_is_refused_until_overwrite_and_then_converted_whole(state, change, tmp_path, monkeypatch):
    source = write_class_folders(tmp_path / "source", {"ant": 7, "bee": 5, "cat": 3})
    output = tmp_path / "out"
    if state == "interrupted":
        interrupt(monkeypatch, source, output, *SMALL, shards=2)
    else:
        convert(source, output, *SMALL)
    CHANGES[change](source)
    said = convert(source, output, *SMALL, exit_code=1)
    assert "the source's files, or the options that" in said
    convert(source, output, *SMALL, "--overwrite")
    convert(source, tmp_path / "anew", *SMALL)
    assert digests_of(output) == digests_of(tmp_path / "anew")
    assert nothing_left(output)


def test_overwrite_replaces_a_dataset_of_more_shards_without_leaving_one(source, tmp_path):
    convert(source, tmp_path / "out", "--shards", "9")
    convert(source, tmp_path / "out", *SMALL, "--overwrite")
    convert(source, tmp_path / "anew", *SMALL)
    assert digests_of(tmp_path / "out") == digests_of(tmp_path / "anew")
