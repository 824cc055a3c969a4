"""A folder that reads is read the same by the reading that its dataset stores: a repeated convert has nothing to do."""

import json
import zlib

import pytest

from shardkit.testing import write_tree

from ..cli.calling import call
from . import all_folders  # noqa: F401 - it registers them
from .reading import placed
from .tree import FOLDERS


def _right():
    """One of eight of the folders that are read at once; all of them with `-m "slow or not slow"`."""
    for number, folder in enumerate(FOLDERS):
        if folder.today == "right":
            is_kept = zlib.crc32(folder.name.encode()) % 8 == 0
            yield pytest.param(number, id=folder.name, marks=() if is_kept else pytest.mark.slow)


@pytest.mark.parametrize("number", _right())
def test_a_repeated_convert_reads_by_what_the_first_one_stored(number, tmp_path):
    tree = FOLDERS[number].make()
    write_tree(tmp_path / "source", tree.files)
    given = [placed(tmp_path / "source", source) for source in tree.sources]
    first = call("convert", *given, tmp_path / "OUT")
    assert first.exit_code == 0, first.stderr
    again = call("convert", *given, tmp_path / "OUT")
    assert again.exit_code == 0, again.stderr
    assert "nothing to do" in again.stderr
    stored = json.loads((tmp_path / "OUT" / "manifest.json").read_text())["source"].get("reading")
    assert (stored is not None) == (" remembers" in again.stderr.partition("\n")[0]), again.stderr
