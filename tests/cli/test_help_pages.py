"""`shardkit help`: the installed pages, for a terminal and for a pipe.

.ci/run installs shardkit as users do, so these tests also prove that the pages are in the wheel.
"""

import re

import pytest

from shardkit.cli.main import main

from ..pages import CHECKOUT, PAGES, name_of
from .calling import call
from .test_terminal import run_on_terminal

MAP = CHECKOUT / "shardkit" / "README.md"
INSTALLED = [page for page in PAGES if page.parent.parent.name == "shardkit" or page == MAP]


def help_name(page):
    if page == MAP:
        return "map"
    return page.parent.name if page.name == "README.md" else f"{page.parent.name}/{page.stem}"


def test_help_lists_every_page_with_its_title():
    lines = call("help").stdout.splitlines()
    assert len(lines) - 3 == len(INSTALLED)
    for page in INSTALLED:
        name = help_name(page)
        title = page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        assert [line for line in lines if line.split() == [name, *title.split()]], name


@pytest.mark.parametrize("name", ["sources", "sources/", "sources/README.md"])
def test_a_pipe_gets_the_page_as_markdown(name):
    text = call("help", name).stdout
    assert text.startswith("# Sources: what `shardkit convert` reads\n")
    assert "| Which options are there? | `shardkit help sources/options` |\n" in text
    assert "```sh\nshardkit plan photos" in text


def test_the_folder_may_be_left_out():
    assert call("help", "layouts").stdout == call("help", "sources/layouts").stdout


@pytest.mark.parametrize("page", INSTALLED, ids=name_of)
def test_a_page_has_no_link_into_the_checkout(page):
    text = call("help", help_name(page)).stdout
    assert "](" not in text.replace("](http", "")
    assert "<!--" not in text


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("suorces", "did you mean sources?"),
        ("layuots", "did you mean sources/layouts?"),
        ("sources/layuots", "did you mean sources/layouts?"),
        ("troubleshooting", "choose reader/troubleshooting or sources/troubleshooting"),
        ("convert", "`shardkit convert --help` describes the command"),
        (
            "quite-another-thing",
            "no page has the name or the words 'quite-another-thing'; `shardkit help` lists the pages",
        ),
    ],
)
def test_an_unknown_page_is_refused_with_the_one_that_was_probably_meant(name, hint):
    result = call("help", name)
    assert result.exit_code == 2
    assert hint in result.stderr


@pytest.mark.parametrize(
    ("words", "first", "line"),
    [
        (["global", "shuffle"], "reader", "a global shuffle"),
        (["resum"], "reader/resuming", "Resum"),
        (["Near-Identical"], "sources/splits", "near-identical"),
    ],
)
def test_words_are_found_in_all_pages(words, first, line):
    result = call("help", *words)
    pages = re.findall(r"^(\S+): ", result.stdout, re.MULTILINE)
    assert first in pages[:2]
    assert line in result.stdout
    for page in pages:
        assert all(word.casefold() in call("help", page).stdout.casefold() for word in words)


@pytest.mark.parametrize("columns", ["80", "100"])
def test_a_terminal_gets_plain_text_of_its_width(columns, monkeypatch):
    monkeypatch.setenv("PAGER", "cat")
    code, _, sent = run_on_terminal("help", "sources/layouts", stdout_too=True, columns=columns)
    lines = sent.decode().replace("\r", "").split("\n")
    assert code == 0
    assert lines[:2] == ["Layouts and readings: what is read, and how to say it", "═" * 53]
    assert max(map(len, lines)) <= int(columns)
    assert not [line for line in lines if line.startswith("|") or "\x1b" in line]
    header = next(line for line in lines if "what is read" in line and "options" in line)
    column = slice(header.index("what is read"), header.index("options"))
    assert "wider_face_train_bbx_gt.txt" in "".join("".join(line[column] for line in lines).split())  # folded, not cut


@pytest.mark.parametrize("command", main.list_commands(None))
def test_the_help_of_a_command_names_its_page(command):
    if command == "help":
        return
    shown = " ".join(call(command, "--help").stdout.split())
    assert call("help", re.search(r"`shardkit help ([\w/-]+)` prints the page about it\.", shown)[1]).exit_code == 0


def test_every_page_that_is_named_anywhere_in_the_code_exists():
    files = [path for folder in ("shardkit", "pipelines") for path in (CHECKOUT / folder).rglob("*.py")]
    named = {
        name
        for path in files
        for name in re.findall(r"`shardkit\s+help\s+([\w/-]+)`", path.read_text(encoding="utf-8"))
    }
    assert "layouts" in named
    for name in named - {"PAGE"}:
        assert call("help", name).exit_code == 0, name
