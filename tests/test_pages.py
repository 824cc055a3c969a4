"""The pages are complete: links lead somewhere, tables name all options, arguments and reasons, snippets are tested."""

import ast
import importlib
import re

import pytest

from shardkit.beam.options import refuse_unknown
from shardkit.cli.convert import convert as convert_command
from shardkit.reject_reasons import REJECT_REASONS

from .generated_tables import pages_with_tables, written
from .pages import BLOCKS, CHECKOUT, PAGES, marked, marked_with, name_of, plain

MARKERS = {"the test command", "in .ci/run", "options", "benchmark", "reading"}
each_page = pytest.mark.parametrize("page", PAGES, ids=name_of)


def anchors(page):
    """What GitHub makes of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", plain(page), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


def table(page, heading):
    """First cells of the first table below a heading, without the table's own."""
    text = (CHECKOUT / page).read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    return [row.split(" | ")[0].removeprefix("| ") for row in rows[2:]]


def test_every_snippet_is_tested_and_no_name_is_given_twice():
    snippets = [block for block in BLOCKS if block.language != "text"]
    others = [*marked_with("torch and grain: ").values(), *marked_with("job: ").values()]
    assert [block for block in snippets if not block.name and block.marker not in MARKERS and block not in others] == []
    names = [block.name for block in snippets if block.name]
    assert sorted(names) == sorted(set(names))
    assert {block.language for block in BLOCKS} == {"text", "python", "sh", "console", "yaml"}


@each_page
def test_every_link_leads_to_a_file_and_a_heading(page):
    links = re.findall(r"\]\(([^)\s]+)\)", plain(page))
    for link in links:
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_relative_to(CHECKOUT), link
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES[1:], ids=name_of)
def test_every_page_begins_with_a_list_of_its_headings(page):
    contents = re.findall(r"^- \[.+\]\(#(.+)\)$", plain(page).partition("\n## ")[0], re.MULTILINE)
    assert contents == anchors(page)[1:]


@each_page
def test_a_page_has_lines_of_at_most_125_characters_but_for_tables_and_commands(page):
    lines = [line for line in plain(page).splitlines() if not line.startswith("|")]
    assert [line for line in lines if len(line) > 125] == []


def test_the_first_page_is_short():
    assert len(PAGES[0].read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.parametrize("command", ["append", "convert", "plan"])
def test_the_page_of_options_has_every_option(command):
    params = getattr(importlib.import_module(f"shardkit.cli.{command}"), command).params
    options = {param.opts[0] for param in params if param.param_type_name == "option"} - {"--help-all"}
    first_cells = [
        *table("shardkit/sources/options.md", "All options"),
        *table("shardkit/sources/options.md", "Other options"),
    ]
    assert options <= set(re.findall(r"--[\w-]+", "\n".join(first_cells)))


@pytest.mark.parametrize("page", pages_with_tables(), ids=name_of)
def test_a_generated_table_is_what_the_code_says(page):
    text = page.read_text(encoding="utf-8")
    assert text == written(text), "write it again: python tests/generated_tables.py"


def test_every_reason_in_the_code_comes_from_the_registry():
    # A code that is written out would not be missed by the table of reasons.
    written_out = [
        (path.relative_to(CHECKOUT).as_posix(), node.value)
        for folder in ("shardkit", "pipelines")
        for path in (CHECKOUT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and re.fullmatch(r"(bad|no|duplicate)_[a-z]+", str(node.value))
    ]
    assert {path for path, code in written_out if code in REJECT_REASONS} == {"shardkit/reject_reasons.py"}


def test_what_ci_is_said_to_run_it_runs():
    commands = (CHECKOUT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    lines = [command for line in marked("in .ci/run") for command in line.split(" && ")]
    assert len(lines) == 4
    assert [line for line in lines if f".venv/bin/{line}" not in commands] == []


@pytest.mark.parametrize("line", marked("options"))
def test_beam_knows_the_options_that_are_shown(line):
    program, command, *paths = (words := line.split())[:4]
    assert (program, command, len(paths)) == ("shardkit", "convert", 2)
    given = convert_command.make_context(program, words[2:]).params["beam_options"]
    assert given
    refuse_unknown(given, [])


@pytest.mark.parametrize("line", marked("benchmark"))
def test_a_benchmark_that_is_named_is_there_and_has_these_options(line):
    python, script, *words = line.split()
    assert python == "python"
    source = (CHECKOUT / script).read_text(encoding="utf-8")
    assert [word for word in words if word.startswith("--") and f'"{word}"' not in source] == []


def test_every_benchmark_is_named():
    named = {line.split()[1] for line in marked("benchmark")}
    assert named == {name_of(path) for path in (CHECKOUT / "tests" / "benchmarks").glob("bench_*.py")}
