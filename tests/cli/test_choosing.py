"""At a terminal one key says which reading is meant; the answer is saved, and used again."""

import os
import pty
import shlex
import time

import pytest

from shardkit.dataset.manifest import read_manifest
from shardkit.testing import write_class_folders

from .calling import TIMEOUT_SECONDS, call, environment, start_forked, start_reading

ASKED = b"q to quit: "


@pytest.fixture
def plants(tmp_path, monkeypatch):
    """Three folders, one of which may be no class."""
    monkeypatch.chdir(tmp_path)
    write_class_folders(tmp_path / "plants", {"ash": 8, "oak": 9, "unklar": 3})
    return tmp_path


def answered(key, *arguments, **variables):
    """Exit code and all that was shown by a command at whose question somebody presses a key."""
    master, slave = pty.openpty()
    with open(slave, "r+b", buffering=0) as terminal:
        env = environment(TERM="xterm-256color", COLUMNS="100", **variables)
        process = start_forked(*arguments, stdin=terminal, stdout=terminal, stderr=terminal, env=env, text=False)
    reader, shown = start_reading(master)
    end = time.monotonic() + TIMEOUT_SECONDS
    # What is typed before the question waits for a key is dropped, as a key that was meant for another program.
    while reader.is_alive() and time.monotonic() < end:
        if shown.endswith(ASKED) or shown.rstrip().endswith(ASKED + key):
            os.write(master, key)
        time.sleep(0.1)
    process.communicate(timeout=TIMEOUT_SECONDS)
    reader.join(TIMEOUT_SECONDS)
    os.close(master)
    return process.returncode, shown.decode()


def test_one_key_chooses_and_the_answer_is_saved_and_used_again(plants):
    code, shown = answered(b"2", "convert", "plants", "OUT")
    assert code == 0, shown
    assert "without unklar/" in shown
    assert list(read_manifest("OUT").classes) == ["ash", "oak"]
    saved = (plants / "plants.reading.yaml").read_text()
    assert "ignore: [/unklar/]" in saved
    later = next(line for line in shown.splitlines() if "later: " in line).partition("later: ")[2]
    assert later == "shardkit convert plants OUT --reading plants.reading.yaml"
    assert call(*shlex.split(later)[1:]).exit_code == 0  # nothing to do
    assert call("convert", "plants", "AGAIN", "--config", "plants.reading.yaml").exit_code == 0


def test_q_ends_with_exit_code_2_and_leaves_nothing(plants):
    code, shown = answered(b"q", "convert", "plants", "OUT")
    assert code == 2, shown
    assert sorted(path.name for path in plants.iterdir()) == ["plants"]


def test_the_first_reading_can_be_edited(plants):
    editor = plants / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/{path: 0}/{path: 0, map: {unklar: oak}}/' \"$1\"\n")
    editor.chmod(0o755)
    code, shown = answered(b"e", "convert", "plants", "OUT", EDITOR=str(editor))
    assert code == 0, shown
    assert list(read_manifest("OUT").classes) == ["ash", "oak"]


def test_a_file_that_is_there_already_is_kept(plants):
    (plants / "plants.reading.yaml").write_text("mine\n")
    code, shown = answered(b"1", "plan", "plants")
    assert code == 0, shown
    assert (plants / "plants.reading.yaml").read_text() == "mine\n"
    assert "path: 0" in (plants / "plants.reading-2.yaml").read_text()


def test_without_a_terminal_commands_are_printed_that_work(plants):
    refused = call("convert", "plants", "OUT")
    assert refused.exit_code == 2
    assert "unklar is called like images without a class; choose one of:" in refused.stderr
    commands = [line for line in refused.stderr.splitlines() if line.startswith("  shardkit ")]
    assert len(commands) == 2
    for number, command in enumerate(commands):
        _, name, source, _, *options = shlex.split(command, comments=True)
        assert call(name, source, f"OUT{number}", *options).exit_code == 0
    assert [len(read_manifest(f"OUT{number}").classes) for number in (0, 1)] == [3, 2]
    assert not (plants / "OUT").exists()


def test_another_reading_with_overwrite_keeps_nothing_of_the_first(plants):
    assert call("convert", "plants", "OUT", "--label", "path:0", "--ignore", "/unklar/").exit_code == 0
    assert call("convert", "plants", "OUT", "--label", "path:0", "--overwrite").exit_code == 0
    assert list(read_manifest("OUT").classes) == ["ash", "oak", "unklar"]


def test_plan_explain_names_images_of_each_class_of_each_reading(plants):
    refused = call("plan", "plants", "--explain")
    assert refused.exit_code == 2
    _, _, images = refused.stderr.partition("\n\n")
    assert images.splitlines() == [
        "as it was recognised; 3 classes, 20 images:",
        "  ash: ash/000.png, ash/001.png, ash/002.png",
        "  oak: oak/000.png, oak/001.png, oak/002.png",
        "  unklar: unklar/000.png, unklar/001.png, unklar/002.png",
        "without unklar/; 2 classes, 17 images; leaves out 3 of 20 images:",
        "  ash: ash/000.png, ash/001.png, ash/002.png",
        "  oak: oak/000.png, oak/001.png, oak/002.png",
    ]


def test_a_report_about_a_source_asks_alike_and_prints_reports(plants):
    refused = call("report", "plants", "-o", "page.html")
    assert refused.exit_code == 2
    commands = [line for line in refused.stderr.splitlines() if line.startswith("  shardkit report plants ")]
    assert len(commands) == 2, refused.stderr
    assert call(*shlex.split(commands[1], comments=True)[1:]).exit_code == 0
    assert (plants / "page.html").exists()
