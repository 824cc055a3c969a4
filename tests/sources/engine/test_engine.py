"""The engine executes readings totally: each case of readings.yaml gives its rows, or stops with its sentence."""

import re
from pathlib import Path
from typing import Any

import pytest

from shardkit.sources.readings.text import to_data

from .blocks import cases, expand, listed, make, stop

CASES = [one for name in ("readings", "examples") for one in cases(Path(__file__).with_name(f"{name}.yaml"))]


@pytest.mark.parametrize("case", CASES, ids=[one["name"] for one in CASES])
def test_a_reading_is_executed(case: dict[str, Any], tmp_path: Path) -> None:
    make(case, tmp_path)
    if "stops" in case:
        assert re.search(case["stops"], stop(case, tmp_path), re.DOTALL), stop(case, tmp_path)
        return
    rows, source = listed(case, tmp_path)
    assert rows == {key: value for pattern, value in case["rows"].items() for key in expand(pattern)}
    found = {name: str(value).lower() for name, value in to_data(source.reading).get("label", {}).items()}
    assert found | case.get("completes", {}) == found


NAMING = {  # readings with a file that names images, which a notebook's user corrects between two runs
    "groups": ({"label": "path:0", "group": "of.csv:x"}, "of.csv"),
    "stems": ({"label": "path:0", "group": {"column": "x", "files": "of.csv", "match": "stem"}}, "of.csv"),
    "labels": ({"label": "of.csv:x"}, "of.csv"),
    "features": ({"label": "path:0", "features": {"x": "of.csv:x"}}, "of.csv"),
    "list": ({"label": "path:0", "split": {"lists": {"of.txt": "test"}, "rest": "train"}}, "of.txt"),
}


@pytest.mark.parametrize("naming", NAMING)
def test_files_are_read_again_when_a_source_is_opened_again(naming: str, tmp_path: Path) -> None:
    reading, name = NAMING[naming]
    texts = ["file,x\n0.jpg,1\n1.jpg,1\n", "file,x\n0.jpg,2\n1.jpg,1\n2.jpg,2\n"]
    if naming == "list":
        texts = ["a/1.jpg\n", "a/0.jpg\na/2.jpg\n"]
    found = []
    for images, text in zip(("a/{0,1}.jpg", "a/2.jpg"), texts, strict=True):
        case = {"reading": reading, "images": [images], "files": {name: text}}
        make(case, tmp_path)
        found.append(listed(case, tmp_path)[0])
    assert found[1].keys() == {"a/0.jpg", "a/1.jpg", "a/2.jpg"}
    assert found[1]["a/0.jpg"] == found[1]["a/2.jpg"] != found[0]["a/0.jpg"]


def test_cases_have_names_of_their_own() -> None:
    assert len({one["name"] for one in CASES}) == len(CASES)
