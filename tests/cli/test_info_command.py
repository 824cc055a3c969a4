"""`shardkit info --command` prints commands that make the same dataset again."""

import shlex

from shardkit.dataset.manifest import read_manifest
from shardkit.testing import write_class_folders

from .calling import call


def test_the_commands_make_the_same_dataset_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_class_folders(tmp_path / "it's in", {"ant": 6, "bee": 6})
    write_class_folders(tmp_path / "more", {"cat": 4, "dog": 4})
    assert call("convert", "it's in", "out", "--splits", "a=0.5,b=0.5", "--layout", "imagefolder").exit_code == 0
    assert call("append", "out", "more").exit_code == 0
    assert call("convert", "it's in", "out2", "--seed", "3").exit_code == 0
    printed = call("info", "out", "--command").stdout.splitlines()
    assert printed == [
        """shardkit convert 'it'"'"'s in' out --layout class-folders --splits a=0.5,b=0.5""",
        "shardkit append out more",
    ]
    digest = read_manifest("out").digest
    (tmp_path / "out").rename(tmp_path / "old")
    for line in printed:
        assert call(*shlex.split(line)[1:]).exit_code == 0
    assert read_manifest("out").digest == digest


def test_a_dataset_whose_log_is_gone_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_class_folders(tmp_path / "in", {"ant": 6, "bee": 6})
    assert call("convert", "in", "out").exit_code == 0
    (tmp_path / "out" / "run-log.jsonl").unlink()
    result = call("info", "out", "--command")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: {tmp_path}/out/run-log.jsonl: the log names no command")
