"""A folder that reads is read the same by the reading that its dataset stores: a repeated convert has nothing to do."""

import json
import zlib

import pytest

from shardkit.testing import write_tree

from ..cli.calling import call
from . import all_folders  # noqa: F401 - it registers them
from .outcomes import outcomes
from .reading import placed, printed
from .tree import FOLDERS

OUTCOMES = outcomes()
RULES = {"--accept", "--max-rejected"}  # which are no part of a reading


def _readable():
    """One of sixteen of the folders that are read, at once or when asked; all of them with `-m "slow or not slow"`."""
    for number, folder in enumerate(FOLDERS):
        if OUTCOMES[folder.name].outcome == "right" or OUTCOMES[folder.name].number:
            is_kept = zlib.crc32(folder.name.encode()) % 16 == 0
            yield pytest.param(number, id=folder.name, marks=() if is_kept else pytest.mark.slow)


def _without_reading(command):
    """The command without the options that say how its source is read."""
    first = next((at for at, word in enumerate(command) if word.startswith("--")), len(command))
    return [word for at, word in enumerate(command) if at < first or not RULES.isdisjoint(command[at - 1 : at + 1])]


@pytest.mark.parametrize("number", _readable())
def test_a_repeated_convert_reads_by_what_the_first_one_stored(number, tmp_path):
    tree = FOLDERS[number].make()
    write_tree(tmp_path / "source", tree.files)
    given = [placed(tmp_path / "source", source) for source in tree.sources]
    first = call("convert", *given, tmp_path / "OUT")
    command = ["convert", *given, tmp_path / "OUT"]
    if right := OUTCOMES[FOLDERS[number].name].number:
        command = [*printed(first.stderr)][right - 1][0]
        first = call(*command)
        command = _without_reading(command)
    assert first.exit_code == 0, first.stderr
    again = call(*command)
    assert again.exit_code == 0, again.stderr
    assert "nothing to do" in again.stderr
    stored = json.loads((tmp_path / "OUT" / "manifest.json").read_text())["source"].get("reading")
    assert (stored is not None) == (" remembers" in again.stderr.partition("\n")[0]), again.stderr
