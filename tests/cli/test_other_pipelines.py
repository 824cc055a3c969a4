"""`pipelines` is a common name: users have folders and modules of that name of their own."""

import os
import subprocess
import sys

import pytest

from shardkit.testing import write_tree

from .calling import CHECKOUT, TIMEOUT_SECONDS, environment

THEIRS = {
    "a package": {"pipelines/__init__.py": b"raise SystemExit('theirs was imported')\n", "pipelines/convert.py": b""},
    "a folder": {"pipelines/convert.py": b"raise SystemExit('theirs was imported')\n"},
    "a module": {"pipelines.py": b"raise SystemExit('theirs was imported')\n"},
}
SCRIPT = "import sys; sys.argv[0] = 'shardkit'; from shardkit.cli import main; sys.exit(main())"


@pytest.mark.parametrize(
    ("how", "theirs"),
    [
        ("-m", "a package"),
        ("-m", "a folder"),
        ("-m", "a module"),
        ("console script, PYTHONPATH of theirs first", "a package"),
    ],
)
def test_a_users_own_pipelines_in_the_working_folder_do_not_come_first(how, theirs, source, tmp_path):
    write_tree(tmp_path / "working", THEIRS[theirs])
    changed = {}
    if how == "-m":
        command = [sys.executable, "-m", "shardkit"]
    else:
        # What pip installs as bin/shardkit: its folder comes first on the path, not the working one.
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "shardkit").write_text(SCRIPT)
        command = [sys.executable, str(tmp_path / "bin" / "shardkit")]
        if "PYTHONPATH" in how:
            changed["PYTHONPATH"] = os.pathsep.join([str(tmp_path / "working"), str(CHECKOUT)])
    done = subprocess.run(
        [*command, "convert", str(source), "out", "--quiet"],
        cwd=tmp_path / "working",
        env=environment(**changed),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout + done.stderr == ""
    assert (tmp_path / "working" / "out" / "manifest.json").exists()


def test_theirs_imported_before_ours_is_said_in_a_sentence(source, tmp_path):
    write_tree(tmp_path / "working", {"pipelines/__init__.py": b"", "pipelines/options.py": b""})
    script = f"import pipelines\n{SCRIPT}"
    done = subprocess.run(
        [sys.executable, "-c", script, "convert", str(source), "out"],
        cwd=tmp_path / "working",
        env=environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 2
    assert f"the package 'pipelines' of {tmp_path}/working hides shardkit's own" in done.stderr
    assert "Traceback" not in done.stderr
