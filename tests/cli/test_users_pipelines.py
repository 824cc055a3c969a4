"""`pipelines` is a common name: users have packages, folders and modules of that name."""

import os
import subprocess
import sys

import pytest

from shardkit.testing import write_tree

from .calling import CHECKOUT, TIMEOUT_SECONDS, environment

THEIRS = {
    "a package": {"pipelines/__init__.py": b"NAME = 'theirs'\n", "pipelines/convert.py": b""},
    "a module": {"pipelines.py": b"NAME = 'theirs'\n"},
}
# Their program imports their package, calls shardkit, and imports from theirs again.
PROGRAM = """
import sys
import pipelines
import shardkit.beam.conversion
from shardkit.cli import main
main(["convert", sys.argv[1], "out", "--quiet"], standalone_mode=False)
from pipelines import NAME
print(NAME)
"""


@pytest.mark.parametrize("theirs", ["a package", pytest.param("a module", marks=pytest.mark.slow)])
def test_a_users_pipelines_stays_importable_and_does_no_harm(theirs, source, tmp_path):
    write_tree(tmp_path, THEIRS[theirs])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(source)],
        cwd=tmp_path,
        env=environment(PYTHONPATH=os.pathsep.join([str(tmp_path), str(CHECKOUT)])),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["theirs"]
    assert (tmp_path / "out" / "manifest.json").exists()
