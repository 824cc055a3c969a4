"""`--json` prints the fields that the page documents, and nothing else."""

import json
import re
import shutil

import pytest

from ..pages import CHECKOUT
from .calling import call


def documented(command):
    """The fields of a command's JSON in the table of the dataset's page."""
    text = (CHECKOUT / "shardkit" / "dataset" / "README.md").read_text(encoding="utf-8")
    cells = re.findall(rf"^\| `{command}` \| (.*?) \|", text, re.MULTILINE)
    return re.findall(r"`(\w+)`", " ".join(cells))


@pytest.mark.parametrize("command", ["plan", "verify"])
def test_the_fields_are_those_of_the_page(command, source, dataset):
    words = [dataset] if command == "verify" else [source, "--explain"]
    result = call(command, *words, "--json")
    assert list(json.loads(result.stdout)) == documented(command)


def test_verify_reports_problems_as_json(dataset, tmp_path):
    shown = json.loads(call("verify", dataset, "--json", "--deep", "--leaks").stdout)
    assert shown == {
        "dataset": str(dataset),
        "ok": True,
        "num_examples": 60,
        "num_shards": 6,
        "num_bytes": sum(path.stat().st_size for path in dataset.glob("*.tfrecord")),
        "images_decoded": True,
        "leaks_checked": True,
        "num_problems": 0,
        "problems": [],
        "other_files": [],
    }
    copy = shutil.copytree(dataset, tmp_path / "copy")
    shard = copy / "train-00001-of-00003.tfrecord"
    shard.write_bytes(shard.read_bytes()[:-1] + b"\xff")
    (copy / "features.json").unlink()
    result = call("verify", copy, "--json")
    assert (result.exit_code, result.stderr) == (1, "")
    shown = json.loads(result.stdout)
    assert (shown["ok"], shown["num_problems"], shown["leaks_checked"]) == (False, len(shown["problems"]), False)
    assert {"file": "features.json", "record": None, "found": "is missing"} in shown["problems"]
    assert (shard.name, 15) in {(one["file"], one["record"]) for one in shown["problems"]}


def test_verify_of_no_dataset_is_json_too(tmp_path):
    result = call("verify", tmp_path, "--json", "--leaks")
    shown = json.loads(result.stdout)
    assert (result.exit_code, shown["ok"], shown["leaks_checked"], shown["num_problems"]) == (1, False, False, 1)
    assert shown["problems"][0]["file"] == "manifest.json"
