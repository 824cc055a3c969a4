"""What can be refused before images are read is refused before images are read: reading them takes hours."""

import json
import os
import shutil
import zipfile

import pytest
from PIL import Image

from shardkit import read_manifest
from shardkit.storage import LocalFolder
from shardkit.testing import picture, write_tree

from ..images.image_making import encode
from .calling import call, convert, is_one_sentence


@pytest.fixture
def unreadable_images(monkeypatch):
    """From now on reading an image is an error; the paths that were read all the same."""
    found = []

    def refusing(name):
        plain = getattr(LocalFolder, name)

        def read(self, path, *arguments):
            if path.endswith(".png"):
                found.append(path)
                raise AssertionError(path)
            return plain(self, path, *arguments)

        return read

    for name in ("read", "open", "read_range"):
        monkeypatch.setattr(LocalFolder, name, refusing(name))
    return found


# options, what the sentence must say
REFUSED = [
    (["--shard-size", "1kB"], "must be from 10MiB to 1GiB"),
    (
        ["--dedupe", "drop", "--check", "header"],
        "and --check header reads none; give --check decode",
    ),
    (["--group-by", "("], "--group-by"),
    (["--group-by", "ant"], "--group-by"),  # neither a column nor a pattern with a group
    (["--group-by", "patient_([0-9]+)"], "--group-by"),  # in no key
    (["--shards", "train=2,test=2"], "--shards names the split 'test'; the conversion writes train"),
    (["--shards", "test=2", "--splits", "train=0.5,validation=0.5"], "--shards names the split 'test'"),
    (["--shards", "61"], "61 shards were requested for train"),
    (["--max-rejected", "some"], "--max-rejected"),
    (["--workers", "0"], "--workers"),
    (["--runner=Sparkle"], "Sparkle"),
]


@pytest.mark.parametrize("command", ["convert", "plan"])
@pytest.mark.parametrize(("options", "sentence"), REFUSED, ids=[" ".join(options) for options, _ in REFUSED])
def test_options_that_do_not_fit_are_refused_before_an_image_is_read(
    options, sentence, command, source, unreadable_images, tmp_path
):
    result = call(command, source, *([tmp_path / "out"] if command == "convert" else []), *options)
    assert result.exit_code == 2, result.output
    assert sentence in result.stderr
    assert is_one_sentence(result.stderr)
    assert unreadable_images == []
    assert not list((tmp_path / "out").rglob("*")), "`info` would call it an interrupted conversion"


def test_the_fixture_notices_an_image_that_is_read(source, unreadable_images):
    assert call("plan", source).exit_code == 3
    assert unreadable_images


def test_an_output_that_holds_other_files_is_refused_before_an_image_is_read(source, unreadable_images, tmp_path):
    write_tree(tmp_path / "out", {"thesis.tex": b"x"})
    assert "holds 'thesis.tex'" in convert(source, tmp_path / "out", exit_code=2)
    assert unreadable_images == []


@pytest.mark.parametrize("options", [["--seed", "1"], ["--name", "other"], ["--shards", "2"]], ids=" ".join)
def test_a_dataset_of_other_options_is_refused_before_an_image_is_read(options, source, dataset, unreadable_images):
    assert "holds a dataset converted differently" in convert(source, dataset, *options, exit_code=1)
    assert unreadable_images == []


def test_a_dataset_of_another_source_is_refused_before_an_image_is_read(dataset, unreadable_images, tmp_path):
    other = write_tree(tmp_path / "other", {f"{c}/{c}{i}.png": b"" for c in ("ant", "bee") for i in range(10)})
    options = ["--splits", "train=0.8,validation=0.2", "--split-by", "stratified", "--shards", "3"]
    assert "the source's files, or the options that" in convert(other, dataset, *options, exit_code=1)
    assert unreadable_images == []


@pytest.mark.parametrize("check", ["decode", "header"])
def test_files_that_are_too_large_are_rejected_before_they_are_read(check, tmp_path, monkeypatch):
    source, out = tmp_path / "source", tmp_path / "out"
    mask = encode(Image.new("L", (8, 8)), "PNG")
    names = [f"{i}.png" for i in range(4)]
    write_tree(source, {f"images/{name}": picture(i) for i, name in enumerate(names)})
    write_tree(source, {f"masks/{name}": mask for name in names})
    large = {"images/1.png", "masks/2.png"}
    for path in large:
        os.truncate(source / path, 3 << 30)  # sparse: they take no place on the disk
    read, plain = set(), LocalFolder.read
    monkeypatch.setattr(LocalFolder, "read", lambda folder, path: read.add(path) or plain(folder, path))
    options = ["--check", check, "--max-rejected", "2"]
    convert(source, out, *options)
    call("report", source, *options, "-o", tmp_path / "report.html")
    assert not large & read
    rejected = json.loads(call("info", out, "--json").stdout)["rejected"]
    assert rejected == {"num_examples": 2, "by_reason": {"too_many_bytes": 2}}


def test_the_largest_size_of_a_file_is_an_option_that_append_keeps(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    for source, seed in ((first, 0), (second, 9)):
        write_tree(source, {f"{name}/{seed + i}.png": picture(seed + i) for name in ("ant", "bee") for i in range(3)})
        (source / "ant" / f"{seed}.png").write_bytes(picture(seed, width=64, height=64))
    convert(first, tmp_path / "default")
    assert read_manifest(str(tmp_path / "default")).options["max_file_bytes"] == 256 << 20
    convert(first, tmp_path / "out", "--max-file-size", "1KiB", "--max-rejected", "1")
    for options, num_rejected in (([], 2), (["--max-file-size", "1MiB"], 1)):
        shutil.copytree(tmp_path / "out", tmp_path / f"{num_rejected}")
        appended = call("append", tmp_path / f"{num_rejected}", second, "--max-rejected", "1", *options)
        assert appended.exit_code == 0, appended.stderr
        manifest = read_manifest(str(tmp_path / f"{num_rejected}"))
        assert (manifest.options["max_file_bytes"], manifest.rejected.num_examples) == (1024, num_rejected)


def test_a_member_of_an_archive_that_is_a_bomb_says_so(tmp_path):
    with zipfile.ZipFile(tmp_path / "source.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in ("ant/1.png", "ant/2.png", "bee/1.png"):
            archive.writestr(name, picture(len(name)))
        archive.writestr("bee/2.png", bytes(65 << 20))
    result = call("plan", tmp_path / "source.zip", "--json", "--max-rejected", "1")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["rejected"]["by_reason"] == {"decompression_bomb": 1}
