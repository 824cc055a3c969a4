"""Every command that a page shows is run, in a folder with the sources and datasets that it names.

Those of the first page are run by test_first_page.py, those of pipelines/ by tests/beam/test_programs.py.
"""

import configparser
import html
import os
import re
import shlex

import pytest

from ..pages import CHECKOUT, runnable
from .calling import SAMPLE_DATA, call

CONSOLE = runnable("console")
SHELL = {
    name: block for name, block in runnable("sh").items() if block.page not in {"README.md", "pipelines/README.md"}
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder: `sample_data` as in the checkout, and class folders named `photos`."""
    (tmp_path / "sample_data").symlink_to(SAMPLE_DATA)
    (tmp_path / "photos").symlink_to(SAMPLE_DATA / "shapes")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_command(words):
    """Run one command as a shell would; what it printed."""
    if ">" in words:
        printed = run_command(words[: words.index(">")])
        with open(words[-1], "w", encoding="utf-8") as file:
            file.write(printed)
        return ""
    program, *arguments = words
    if program == "shardkit":
        result = call(*arguments)
        assert result.exit_code == 0, result.output
        return result.output
    # The tests are run with all that is installed here: only the names of the extras can be wrong.
    assert words[:2] == ["pip", "install"]
    setup = configparser.ConfigParser()
    setup.read(CHECKOUT / "setup.cfg")
    extras = re.findall(r"[a-z]+", words[-1])
    assert set(extras) <= set(setup["options.extras_require"])
    return ""


def run_line(line):
    """Run the commands of a line, `&&` between them; what they printed."""
    words = shlex.split(line, comments=True)
    ends = [i for i, word in enumerate(words) if word == "&&"]
    starts = [0, *(end + 1 for end in ends)]
    return "".join(run_command(words[start:end]) for start, end in zip(starts, [*ends, len(words)], strict=True))


@pytest.mark.parametrize("name", SHELL)
def test_the_commands_of_a_page_run_as_they_stand(name, folder):
    for line in SHELL[name].code.splitlines():
        run_line(line)
    assert (folder / "OUT" / "manifest.json").exists() == ("shardkit convert" in SHELL[name].code)


@pytest.mark.parametrize("name", CONSOLE)
def test_a_command_prints_what_the_page_shows(name, folder):
    # A line of dots means any number of lines.
    for shown in re.split(r"^\$ ", CONSOLE[name].code, flags=re.MULTILINE)[1:]:
        line, _, wanted = shown.partition("\n")
        pattern = re.escape(wanted).replace("…\n", "(?:.*\n)*").replace("…\\\n", "(?:.*\n)*")
        assert re.fullmatch(pattern, run_line(line)), line


def test_the_picture_shows_what_the_commands_print(folder):
    """All of it but times, rates and the folder's name."""
    picture = html.unescape((SAMPLE_DATA / "run.svg").read_text(encoding="utf-8")).replace("\xa0", " ")
    pieces = re.findall(r'<text class="run-r\d" [^>]*clip-path="url\(#run-line-(\d+)\)">(.*?)</text>', picture)
    lines = {}
    for number, piece in pieces:
        lines[int(number)] = lines.get(int(number), "") + piece + " "
    shown = "\n".join(lines[number] for number in sorted(lines))
    commands = re.findall(r"^\$ (.*?) *$", shown, re.MULTILINE)
    assert len(commands) == 2
    printed = "".join(f"$ {command}\n{run_line(command)}" for command in commands)

    def settled(text):
        text = text.replace(os.fspath(folder), "/tmp/demo")  # noqa: S108 - a name in the picture
        return re.sub(r"[\d.,]+ (s|images/s|[KM]iB/s)\b|─+", "", text).split()

    assert settled(shown) == settled(printed), "record it again: python sample_data/record_run.py"
