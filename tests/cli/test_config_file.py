"""`--config FILE`: the options of a call in a YAML file."""

import os
import shlex

import pytest

import shardkit

from .calling import SAMPLE_DATA, call

SHAPES = SAMPLE_DATA / "shapes"


@pytest.fixture
def config(tmp_path):
    def write(text):
        (tmp_path / "convert.yaml").write_text(text)
        return ["--config", tmp_path / "convert.yaml"]

    return write


def test_a_file_says_what_flags_say_and_flags_come_first(config, tmp_path):
    given = config("splits:\n  train: 0.7\n  validation: 0.3\nsplit-by: hash\nshards: 2\noverwrite: true\n")
    assert call("convert", SHAPES, tmp_path / "out", *given, "--shards", "4").exit_code == 0
    command = call("info", tmp_path / "out", "--command").stdout.strip()
    assert "--splits train=0.7,validation=0.3 --split-by hash --shards 4" in command
    words = shlex.split(command.replace(f"{tmp_path}/out", f"{tmp_path}/again"))
    assert call(*words[1:]).exit_code == 0
    one, other = (shardkit.read_manifest(str(tmp_path / name)) for name in ("out", "again"))
    assert one.digest == other.digest
    assert call("plan", SHAPES, *given, "--json").exit_code == 0  # it ignores what only `convert` has


def test_paths_in_it_are_those_of_the_current_folder(config, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "here" / "names.txt").write_text("circle\nsquare\nstar\ntriangle\n")
    result = call("plan", SHAPES, *config("classes: names.txt\n"))
    assert result.exit_code in {0, 2}
    assert "does not exist" not in result.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("splitz: 80/20\n", "line 1: no such option: splitz; did you mean split?"),
        ("seed: 1\nsplit_by: hash\n", "line 2: no such option: split_by; did you mean split-by?"),
        ("wonderful: yes\n", "line 1: no such option: wonderful; see `shardkit convert --help-all`"),
        ("seed: 1\nseed: 2\n", "line 2: seed is given twice; keep one of the lines"),
        ("seed:\n", "line 1: seed needs a value"),
        ("seed: [1, 2]\n", "line 1: seed needs a value"),
        ("overwrite: perhaps\n", "line 1: overwrite is true or false; found 'perhaps'"),
        ("split-by: [hash\n", "this is not YAML"),
        ("- seed\n", "write an option in each line"),
        ("", "write an option in each line"),
        ("split-by: hush\n", "hush"),
        ("[" * 100_000, "values are nested too deeply"),
        ('{"a":' * 100_000, "values are nested too deeply"),
        ("".join(f"{' ' * i}a:\n" for i in range(1000)), "values are nested too deeply"),
        ("seed: !!python/object/apply:os.system ['true']\n", "line 1: seed needs a value"),
    ],
    ids=lambda text: text[:40],
)
def test_what_is_wrong_in_it_is_said_in_a_sentence(text, said, config, tmp_path):
    result = call("convert", SHAPES, tmp_path / "out", *config(text))
    assert result.exit_code == 2
    assert said in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_not_there_is_a_wrong_call(tmp_path):
    assert call("convert", SHAPES, tmp_path / "out", "--config", tmp_path / "no.yaml").exit_code == 2


@pytest.fixture
def no_files(tmp_path):
    """What is no file of text: each path with the words that say so."""
    os.mkfifo(tmp_path / "pipe")
    with open(tmp_path / "large", "wb") as file:
        file.truncate(2 << 30)  # 2 GiB on no disk
    (tmp_path / "latin").write_bytes(b"seed: \xe9")
    return {
        tmp_path / "pipe": "this is a pipe or a device",
        "/dev/zero": "this is a pipe or a device",
        tmp_path / "large": "bytes, the most that is read",
        tmp_path / "latin": "not UTF-8",
        tmp_path: "",
        tmp_path / "missing": "",
    }


@pytest.mark.parametrize("option", ["--config", "--classes", "--drop", "--labels"])
def test_a_file_of_an_option_is_a_small_file_of_text(option, no_files, tmp_path):
    for path, said in no_files.items():
        source = SAMPLE_DATA / "shapes"
        if option in {"--drop", "--labels"}:  # they are of datasets
            source = tmp_path / "dataset"
            assert source.exists() or call("convert", SHAPES, source).exit_code == 0
        result = call("plan", source, option, path)
        assert (result.exit_code, "Traceback" in result.stderr) == (2, False), result.stderr
        assert said in result.stderr
        assert str(path) in result.stderr
