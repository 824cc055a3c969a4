"""The map of the house, shardkit/README.md: what it names exists, and a newcomer can read it in one sitting."""

import re

import pytest

from .pages import CHECKOUT, plain

PACKAGE = CHECKOUT / "shardkit"
MAP = PACKAGE / "README.md"
TEXT = plain(MAP)
CODE = re.findall(r"`([^`]+)`", TEXT)
OF_THE_CHECKOUT = {"setup.cfg", "python tests/generated_tables.py", "lint-imports"}


def test_the_map_has_at_most_150_lines():
    assert len(MAP.read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.parametrize("path", sorted({one for one in CODE if "/" in one or one.endswith(".py")} - OF_THE_CHECKOUT))
def test_every_path_exists(path):
    assert (PACKAGE / path).exists()


def test_every_room_is_on_the_map():
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    rows = TEXT.partition("| room |")[2].partition("\n\n")[0]
    assert rooms - set(re.findall(r"`(\w+)[`/]", rows)) == {"testing"}  # installed readers for tests


@pytest.mark.parametrize("step", range(1, 11))
def test_every_name_of_a_step_stands_in_a_file_of_the_step(step):
    way = TEXT.partition("## The way of one image")[2].partition("\n## ")[0]
    text = re.search(rf"^{step}\. (.*?)(?=^\d+\. |\Z)", way, re.MULTILINE | re.DOTALL)[1]
    files = [PACKAGE / path for path in re.findall(r"\]\(([^)]+\.py)\)", text)]
    code = "".join(path.read_text(encoding="utf-8") for path in files)
    names = [one for one in re.findall(r"`([^`]+)`", text) if "/" not in one and not one.endswith(".py")]
    assert files
    for name in names:
        for part in name.split("."):
            assert re.search(rf"\b(?:def|class) {part}\b", code), name


def test_the_names_of_the_tables_exist():
    sources = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    table = TEXT.partition("## Where to add something")[2] + TEXT.partition("## Words")[2].partition("\n## ")[0]
    names = {one for one in re.findall(r"`([^`]+)`", table) if re.fullmatch(r"\w+", one)}
    assert {"LAYOUTS", "Opening", "Target"} <= names
    assert [name for name in names if not re.search(rf"\b{name}\b", sources)] == []
