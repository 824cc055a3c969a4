import platform
import shutil

import pytest

from shardkit.conversion.planning import plan_file
from shardkit.testing import picture, write_class_folders

from .calling import call, is_one_sentence


def test_a_source_that_vanishes_meanwhile_is_said_so(tmp_path, monkeypatch):
    source = write_class_folders(tmp_path / "source", {"ant": 4, "bee": 1})
    write_rows = plan_file.write_rows

    def vanishing(output, plan):
        write_rows(output, plan)
        shutil.rmtree(source)

    monkeypatch.setattr(plan_file, "write_rows", vanishing)
    result = call("convert", source, tmp_path / "out")
    assert result.exit_code == 3
    assert f"{source}/ant: host {platform.node()} sees no file in this folder, the driver did; mount" in result.stderr
    assert is_one_sentence(result.stderr)


@pytest.mark.parametrize("arguments", [[], ["--help"], ["convert", "--help"], ["info", "-h"], ["--version"]], ids=str)
def test_help_and_version_are_shown(arguments):
    result = call(*arguments)
    assert result.exit_code == (0 if arguments else 2)
    assert ("0.1.0" if "--version" in arguments else "Usage: ") in result.output


@pytest.mark.parametrize(
    ("paths", "folders"),
    [
        (["photos/ant/1.jpg", "photos/ant/2.PNG", "OUT"], ["photos", "photos/ant"]),
        (["photos/ant/1.jpg", "photos/bee/2.jpg", "OUT"], ["photos"]),
        (["1.jpg", "2.jpg", "3.jpg", "OUT"], ["."]),
        (["/x/1.jpg", "2.jpg", "OUT"], ["."]),
        (["photos/ant/1.png", "OUT"], ["photos"]),  # photos/ant alone would be one class
        (["photos/*/*.jpg", "OUT"], ["photos"]),
        (["photos/{ant,bee}", "OUT"], ["photos"]),
        (["*.jpg", "OUT"], ["."]),
        (["/nowhere/[ab]*", "OUT"], []),  # there is no such folder
    ],
)
def test_files_and_patterns_as_source_are_refused_with_the_commands_for_their_folder(
    paths, folders, tmp_path, monkeypatch
):
    monkeypatch.chdir(write_class_folders(tmp_path / "photos", {"ant": 2, "bee": 1}).parent)
    (tmp_path / "photos" / "ant" / "1.png").write_bytes(picture(1))
    result = call("convert", *paths)
    assert result.exit_code == 2
    commands = [line.partition("  #")[0].strip() for line in result.stderr.splitlines()[1:]]
    assert commands == [f"shardkit convert {folder} OUT" for folder in folders]
    assert not (tmp_path / "OUT").exists()


def test_a_folder_that_is_named_like_a_pattern_is_a_source(tmp_path):
    source = write_class_folders(tmp_path / "photos [2024]", {"ant": 2, "bee": 2})
    assert call("plan", source, "--check", "header").exit_code == 0


def test_a_runner_that_beam_does_not_know_is_refused_by_its_name(source, tmp_path):
    result = call("convert", source, tmp_path / "out", "--runner=Sparkle")
    assert result.exit_code == 2
    assert "Sparkle" in result.stderr
    assert is_one_sentence(result.stderr)
