"""What a question leaves behind, and what its commands give."""

import json
import shlex

import pytest

from shardkit import read_manifest
from shardkit.refusals import UnclearError
from shardkit.sources import SourceOptions
from shardkit.sources.opening import open_source
from shardkit.sources.readings.given import given_reading
from shardkit.testing import listed, picture, write_archive, write_tree

from ...cli.calling import call

PETS = {f"{name}/{i}.png": picture(4 * n + i) for n, name in enumerate(("cat", "dog", "unknown")) for i in range(4)}


def commands_of(stderr):
    return [shlex.split(line, comments=True)[1:] for line in stderr.splitlines() if line.startswith("  shardkit ")]


@pytest.mark.parametrize("name", ["pets", "pets.zip", "pets.tar", "pets.tar.gz"])
def test_a_question_leaves_nothing_behind_and_its_commands_give_what_they_say(name, tmp_path):
    write = write_archive if "." in name else write_tree
    write(tmp_path / name, PETS)
    asked = call("convert", tmp_path / name, tmp_path / "out")
    assert asked.exit_code == 2
    assert "asks first, because unknown is called like images without a class" in asked.stderr
    assert [path.name for path in tmp_path.iterdir()] == [name]
    whole, without = commands_of(asked.stderr)
    assert call(*whole, "--quiet").exit_code == 0
    assert read_manifest(tmp_path / "out").classes == ["cat", "dog", "unknown"]
    assert call(*without, "--overwrite").exit_code == 0
    assert read_manifest(tmp_path / "out").classes == ["cat", "dog"]


def test_a_question_offers_its_readings_as_data(tmp_path):
    with pytest.raises(UnclearError) as raised:
        open_source(str(write_tree(tmp_path, PETS)))
    whole, *without = map(json.dumps, raised.value.readings)
    assert "unknown" not in whole
    assert without
    assert all("unknown" in one for one in without)


def test_an_archive_is_unpacked_once_for_a_question_and_once_for_its_commands(tmp_path, monkeypatch):
    from shardkit.archives import unpacking

    unpacked = []
    unpack = unpacking._decompressed
    monkeypatch.setattr(unpacking, "_decompressed", lambda *given: unpacked.append(given[1]) or unpack(*given))
    write_archive(tmp_path / "pets.tar.gz", PETS)
    assert call("convert", tmp_path / "pets.tar.gz", tmp_path / "out").exit_code == 2
    assert unpacked == ["pets.tar.gz"] * 2


def test_the_readings_of_a_question_are_tried_on_an_archive_that_is_unpacked_once(tmp_path, monkeypatch):
    from shardkit.archives import unpacking

    unpacked = []
    unpack = unpacking._decompressed
    monkeypatch.setattr(unpacking, "_decompressed", lambda *given: unpacked.append(given[1]) or unpack(*given))
    write_archive(tmp_path / "source.tar.gz", PETS)
    asked = call("convert", tmp_path / "source.tar.gz", tmp_path / "out")
    assert (asked.exit_code, len(commands_of(asked.stderr))) == (2, 2)
    assert unpacked == ["source.tar.gz"] * 2  # for the call, and for all of its readings
    assert not (tmp_path / "out").exists()


def test_a_table_whose_label_has_no_usual_name_is_offered_with_its_archive(tmp_path):
    images = {f"H{n}.jpg": picture(n) for n in range(24)}
    write_archive(tmp_path / "kuvat.zip", images)
    names = ("Usnea", "Cladonia")
    table = "kuva;suku;kunta\n" + "".join(f"H{n}.jpg;{names[n % 2]};{'AB'[n // 2 % 2]}\n" for n in range(24))
    (tmp_path / "naytteet.csv").write_text(table)
    with pytest.raises(UnclearError) as raised:
        open_source(str(tmp_path))
    reading = given_reading({"reading": raised.value.readings[0]})
    found = listed(open_source(str(tmp_path), SourceOptions(reading=reading)))
    assert {row["label_name"] for row in found.good} == {*names}
