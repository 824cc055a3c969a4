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


def test_cases_have_names_of_their_own() -> None:
    assert len({one["name"] for one in CASES}) == len(CASES)
