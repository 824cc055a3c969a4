"""What can be refused before images are read is refused before images are read: reading them takes hours."""

import pytest

from shardkit.storage import LocalFolder
from shardkit.testing import write_tree

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
    (["--shard-size", "1kB"], "is not between 10 MiB and 1 GiB"),
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
    other = write_tree(tmp_path / "other", {f"{c}/{i}.png": b"" for c in ("ant", "bee") for i in range(10)})
    options = ["--splits", "train=0.8,validation=0.2", "--split-by", "stratified", "--shards", "3"]
    assert "the source's files have changed" in convert(other, dataset, *options, exit_code=1)
    assert unreadable_images == []
