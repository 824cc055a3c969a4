import code
import io
import os
import pkgutil
import pty
import re
import shlex
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner
from rich.console import Console

import shardkit
from shardkit.cli import main
from shardkit.cli.printing.lines import Paragraph
from shardkit.cli.progress import displays
from shardkit.testing import write_class_folders

from .calling import TIMEOUT_SECONDS, call, environment, run_forked, start, start_forked, start_reading

CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """As many images, that take no time."""
    return write_class_folders(tmp_path_factory.mktemp("source"), {"ant": 60, "bee": 40}, kind="JPEG")


@pytest.fixture(scope="module")
def slow_source(tmp_path_factory):
    """Enough to do for the bar to be drawn."""
    folder = tmp_path_factory.mktemp("slow")
    return write_class_folders(folder, {"ant": 60, "bee": 40}, width=400, height=300, kind="JPEG")


def run_on_terminal(*arguments, stdout_too=False, columns="100", start=start_forked):
    """Exit code, standard output and what the terminal on standard error was sent; one stream where `stdout_too`."""
    master, slave = pty.openpty()
    with open(slave, "r+b", buffering=0) as terminal:
        process = start(
            *arguments,
            stdin=terminal,
            stdout=terminal if stdout_too else subprocess.PIPE,
            stderr=terminal,
            env=environment(TERM="xterm-256color", COLUMNS=columns),
            text=False,
        )
    reader, sent = start_reading(master)
    out, _ = process.communicate(timeout=TIMEOUT_SECONDS)
    reader.join(TIMEOUT_SECONDS)
    os.close(master)
    return process.returncode, out, bytes(sent)


@pytest.mark.parametrize(
    "closed", [*(pytest.param(one, marks=pytest.mark.slow) for one in (">&-", "2>&-")), ">&- 2>&-"]
)
def test_whoever_closed_the_outputs_gets_a_dataset_and_0(closed, tmp_path):
    source = write_class_folders(tmp_path / "source", {"ant": 3, "bee": 1})
    command = shlex.join([sys.executable, "-m", "shardkit", "convert", str(source), str(tmp_path / "out")])
    done = subprocess.run(
        ["/bin/sh", "-c", f"{command} {closed}"], env=environment(), timeout=TIMEOUT_SECONDS, check=False
    )
    assert done.returncode == 0
    assert (tmp_path / "out" / "manifest.json").exists()


def test_on_a_terminal_a_live_bar_is_drawn_and_taken_away_and_the_result_is_on_standard_output(slow_source, tmp_path):
    # Enlarged, so that each phase is seen in the middle.
    words = ["--shards", "20", "--size", "900x900", "--workers", "1"]
    code, out, sent = run_on_terminal("convert", slow_source, tmp_path / "out", *words, start=start)
    assert code == 0
    for phase in (b"checking", b"writing"):
        assert phase in sent
    assert sent.startswith(b"\rstarting"), "before the modules of a conversion are loaded"
    assert not re.search(rb"(\r[^\r]+\x1b\[K)\1", sent), "what has not changed is not drawn again"
    assert "━".encode() in sent
    assert re.search(rb"\d+ of 100", sent)
    assert sent.rstrip().endswith(b"\x1b[2K"), "the last line of the bar is erased"
    assert sent.count(b"\x1b[?25l") == sent.count(b"\x1b[?25h"), "the cursor is shown again"
    assert not CONTROL.search(out)
    assert b"100" in out
    assert b"checking" not in out


def test_verify_on_a_terminal_draws_a_bar_too_and_quiet_sends_nothing(slow_source, tmp_path):
    assert call("convert", slow_source, tmp_path / "out", "--shards", "20").exit_code == 0
    code, out, sent = run_on_terminal("verify", tmp_path / "out", "--deep")
    assert code == 0
    assert b"verifying" in sent
    assert out.count(b"\n") == 1
    code, _, sent = run_on_terminal("verify", tmp_path / "out", "--quiet", stdout_too=True)
    assert (code, sent) == (0, b"")


def test_numbers_are_whole_on_a_terminal_of_80_columns_too(source, tmp_path):
    code, _, sent = run_on_terminal("convert", source, tmp_path / "out", stdout_too=True, columns="80")
    assert code == 0
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", sent.decode())
    table = plain[plain.rindex("split  ") : plain.index("2 classes")]
    assert "…" not in table, table
    [row] = [line.split() for line in table.splitlines() if line.startswith("train")]
    assert (row[:4], row[-1]) == (["train", "2", "1", "100"], "100")


def test_without_a_terminal_there_are_no_control_characters_anywhere(source, tmp_path):
    # Even where the environment speaks of a terminal with colours.
    coloured = environment(TERM="xterm-256color", COLORTERM="truecolor")
    for arguments in (
        ["convert", source, tmp_path / "out"],
        ["verify", tmp_path / "out"],
        ["info", tmp_path / "out"],
    ):
        done = run_forked(*arguments, env=coloured)
        assert done.returncode == 0
        assert not CONTROL.search((done.stdout + done.stderr).encode())


def test_quiet_says_nothing_of_what_went_well(source, tmp_path):
    for arguments in (["convert", source, tmp_path / "out"], ["plan", source], ["verify", tmp_path / "out"]):
        result = call(*arguments, "--quiet")
        assert (result.exit_code, result.output) == (0, "")


@pytest.mark.slow
def test_quiet_on_a_terminal_sends_nothing_at_all(source, tmp_path):
    code, _, sent = run_on_terminal("convert", source, tmp_path / "out", "--quiet", stdout_too=True)
    assert (code, sent) == (0, b"")


def test_quiet_still_tells_errors(tmp_path):
    result = call("convert", tmp_path / "nowhere", tmp_path / "out", "--quiet")
    assert result.exit_code == 2
    assert "there is no such file or folder" in result.stderr


@pytest.mark.usefixtures("frequent_progress")
def test_without_a_terminal_a_long_phase_says_a_plain_line_now_and_then(slow_source, tmp_path, monkeypatch):
    monkeypatch.setattr(displays, "FIRST_LOG_SECONDS", 0.02)
    monkeypatch.setattr(displays, "LOG_SECONDS", 0.02)
    result = call("convert", slow_source, tmp_path / "out", "--shards", "20", "--resize", "200", "--workers", "1")
    assert re.search(r"^checking: (100 images found so far|\d+ of 100 images.*)$", result.stderr, re.MULTILINE)
    assert re.search(r"^writing: \d+ of 100 images", result.stderr, re.MULTILINE)


@pytest.mark.parametrize(
    ("slow", "words", "line"),
    [
        ("shardkit.cli.printing.dataset_summary.info_summary", ["info", "OUT"], "reading"),
        ("shardkit.records.selection.find_example", ["show", "OUT", "KEY"], "reading"),
        ("shardkit.exporting.export_dataset", ["export", "OUT", "--to", "dataset-card"], "exporting"),
    ],
    ids=["info", "show", "export"],
)
def test_a_command_that_reads_large_indexes_says_so(source, tmp_path, monkeypatch, slow, words, line):
    out = tmp_path / "out"
    key = call("convert", source, out, "--check", "header") and next(iter(shardkit.open(out, "train"))).key
    monkeypatch.setattr(displays, "FIRST_LOG_SECONDS", 0.02)
    monkeypatch.setattr(displays, "LOG_SECONDS", 0.02)
    function = pkgutil.resolve_name(slow)
    monkeypatch.setattr(slow, lambda *given: time.sleep(0.2) or function(*given))
    result = call(*[{"OUT": out, "KEY": key}.get(word, word) for word in words])
    assert result.exit_code == 0, result.stderr
    assert line in result.stderr.splitlines()
    assert line not in result.stdout.splitlines()


def next_steps(stdout):
    """The commands and the Python lines at the end of what `convert` prints."""
    commands, python = re.fullmatch(
        r".*\nNext:\n(.*?)\n\nIn Python, the first batch:\n(.*)", stdout, re.DOTALL
    ).groups()
    return commands, python


@pytest.mark.parametrize("name", ["out", "with blank/it's", "long" * 18])
def test_the_next_steps_run_when_they_are_pasted_and_fit_80_columns(name, source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    commands, python = next_steps(call("convert", source, name, "--check", "header").stdout)
    assert max(map(len, [*commands.splitlines(), *python.splitlines()])) <= 80 + (len(name) - 60) * (len(name) > 60)
    commands = [shlex.split(command) for command in commands.replace("\\\n", " ").splitlines()]
    assert [words[1] for words in commands] == ["verify", "info", "view", "report", "script"]
    assert commands[4][3:] == [">", "train.py"]
    for words in (*commands[:2], [*commands[2], "--help"], commands[3], commands[4][:3]):
        assert words[0] == "shardkit"
        assert call(*words[1:]).exit_code == 0, words
    compile(python, "pasted", "exec")
    assert not any(line.startswith(" ") for line in python.splitlines()[:2]), "Python refuses an indented line"


def test_the_python_of_the_next_steps_prints_a_batch(source, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    _, python = next_steps(call("convert", source, "with blank/it's", "--check", "header").stdout)
    console = code.InteractiveConsole()
    for line in [*python.splitlines(), ""]:  # as pasted
        is_unfinished = console.push(line)
    assert not is_unfinished
    printed = capsys.readouterr()
    assert "(32, 224, 224, 3) tf.Tensor(" in printed.out, printed.err
    assert "Error" not in printed.err


def test_the_python_of_the_next_steps_prints_a_batch_without_labels(tmp_path, monkeypatch, capsys):
    source = write_class_folders(tmp_path / "source", {"ant": 3})
    for image in (source / "ant").iterdir():
        image.rename(source / image.name)
    (source / "ant").rmdir()
    _, python = next_steps(call("convert", source, tmp_path / "out", "--layout", "unlabelled").stdout)
    console = code.InteractiveConsole()
    for line in python.splitlines():
        console.push(line)
    printed = capsys.readouterr()
    assert "(3, 224, 224, 3)\n" in printed.out, printed.err


def test_a_long_line_wraps_between_words_and_a_command_does_not(tmp_path):
    long = tmp_path / ("folder-" * 12)
    source = write_class_folders(long / "source", {"ant": 2, "bee": 2})
    code, _, sent = run_on_terminal("convert", source, long / "out", stdout_too=True, columns="60")
    assert code == 0
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", sent.decode()).replace("\r", "").splitlines()
    assert f"    {long}/out --deep" in lines
    code, _, sent = run_on_terminal("plan", tmp_path / "nowhere at all", columns="60")
    assert code == 2
    assert max(map(len, sent.decode().split())) <= len(f"{tmp_path}/nowhere")


@pytest.mark.parametrize(("no_color", "is_red"), [("", True), ("1", False)])
def test_errors_are_red_where_colours_are_wanted(no_color, is_red, monkeypatch, tmp_path):
    monkeypatch.setenv("NO_COLOR", no_color)
    for arguments in (["info", str(tmp_path / "no")], ["convert", str(tmp_path)]):
        result = CliRunner().invoke(main, arguments, color=True)
        assert ("\x1b[31mError:\x1b[0m" in result.stderr) == is_red
        assert "\x1b" not in CliRunner().invoke(main, arguments).stderr


@pytest.mark.parametrize(("no_color", "is_green"), [(None, True), ("1", False)])
def test_no_problems_is_green_in_a_terminal(no_color, is_green):
    environment = {} if no_color is None else {"NO_COLOR": no_color}
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80, _environ={"TERM": "xterm-256color", **environment})
    console.print(Paragraph("OUT: no problems", "green"))
    assert ("\x1b[32m" in out.getvalue()) == is_green
