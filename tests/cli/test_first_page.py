"""One shell runs all commands of README.md in order, as they are printed, in one copy of the checkout.

Only pip is replaced: a stand-in in the new virtual environment makes importable what is installed here, and writes the
console scripts. It refuses an extra that setup.cfg lacks. .ci/run runs the commands for tests and lint, and
tests/reader/test_readme_snippets.py the program that trains, on what the first command writes.
"""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from shardkit.testing import digests_of

from ..pages import BLOCKS, CHECKOUT
from ..reader.processes import PIPE, Process
from .calling import TIMEOUT_SECONDS, call, environment

COMMANDS = [block for block in BLOCKS if block.page == "README.md" and block.language == "sh" and block.name]
# What must be there after each block.
LEAVES = {
    "first-command": "OUT/manifest.json",
    "own-folder": "DATASET/manifest.json",
    "api-reference": "build/api/index.html",
}
PYTHON = """#!/bin/sh
# python3 -m venv FOLDER: with the stand-in for pip.
set -e
"{python}" "$@" --without-pip
cp "{pip}" "$3/bin/pip"
"""
PIP = """#!{python}
import configparser, pathlib, re, sys

action, requirement = sys.argv[1:]
assert action == "install" and requirement.startswith("."), sys.argv
setup = configparser.ConfigParser()
setup.read("setup.cfg")
extras = re.findall(r"[a-z]+", requirement)
unknown = set(extras) - set(setup["options.extras_require"])
assert not unknown, unknown
environment = pathlib.Path(sys.argv[0]).parent.parent
[packages] = environment.glob("lib/python*/site-packages")
(packages / "installed.pth").write_text("".join(f"import site; site.addsitedir({{one!r}})\\n" for one in {folders!r}))
commands = dict(line.split(" = ") for line in setup["options.entry_points"]["console_scripts"].split("\\n") if line)
commands |= {{"pdoc": "pdoc.__main__:cli"}} if "docs" in extras else {{}}
for name, place in commands.items():
    module, _, function = place.partition(":")
    script = environment / "bin" / name
    script.write_text(f"#!{{environment}}/bin/python\\nfrom {{module}} import {{function}}\\n{{function}}()\\n")
    script.chmod(0o755)
"""


@pytest.fixture(scope="module")
def checkout(made_once):
    """The folder in which all commands were run; `printed.txt` has what they printed."""
    return made_once("first-page", run_all_commands)


def run_all_commands(folder):
    """Run the commands in a copy of the checkout."""
    hidden = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "OUT", "BY_BEAM", "DATASET", "photos")
    shutil.copytree(CHECKOUT, folder, symlinks=True, ignore=hidden, dirs_exist_ok=True)
    shims = folder / "stand-ins"
    shims.mkdir()
    folders = [path for path in sys.path if path.endswith("-packages")] + os.environ.get("PYTHONPATH", "").split(":")
    written = {"pip": PIP.format(python=sys.executable, folders=[path for path in folders if path])}
    written["python3"] = PYTHON.format(python=sys.executable, pip=shims / "pip")
    for name, text in written.items():
        (shims / name).write_text(text)
        (shims / name).chmod(0o755)
    commands = "".join(block.code for block in COMMANDS if block.name != "api-reference" or has_pdoc())
    commands, _, reference = commands.partition("PDOC_ALLOW_EXEC=1 pdoc ")
    variables = environment(PATH=f"{shims}{os.pathsep}{os.environ['PATH']}")
    del variables["PYTHONPATH"]
    done = subprocess.run(
        ["/bin/sh", "-ex"], input=commands, cwd=folder, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / "printed.txt").write_text(done.stdout + done.stderr)
    if reference:  # in a process that has imported TensorFlow, which is half of the command's time
        words = [folder / ".venv" / "bin" / "pdoc", *shlex.split(reference)]
        pdoc = Process(words, environment(PDOC_ALLOW_EXEC="1"), cwd=folder, stdout=PIPE, stderr=PIPE)
        printed = pdoc.communicate(timeout=TIMEOUT_SECONDS)
        assert pdoc.returncode == 0, printed


def has_pdoc():
    """Whether the extra `docs` is installed."""
    return importlib.util.find_spec("pdoc") is not None


def test_the_first_page_has_these_commands():
    assert [block.name for block in COMMANDS] == list(LEAVES)


@pytest.mark.parametrize("name", LEAVES)
def test_all_commands_of_the_first_page_run_in_one_folder(name, checkout):
    if name == "api-reference" and not has_pdoc():
        pytest.skip("the extra `docs` is not installed")
    assert (checkout / LEAVES[name]).is_file()


def test_they_print_no_warning_and_what_to_do_next(checkout):
    printed = (checkout / "printed.txt").read_text()
    assert "Warn" not in printed
    assert "Error" not in printed
    assert re.search(r"\nrejected: none\n[^\n]* images/s[^\n]*\n\nNext:\n", printed)
    assert "Next:\n  shardkit verify OUT --deep\n  shardkit info OUT\n" in printed


def test_beam_writes_the_dataset_of_the_first_command(checkout):
    printed = (checkout / "printed.txt").read_text()
    assert "They are equal: the same examples with the same splits, labels, images and annotations." in printed
    assert digests_of(checkout / "OUT") == digests_of(checkout / "BY_BEAM")


def test_the_first_command_finds_nothing_to_say_about_the_sample(checkout):
    printed = (checkout / "printed.txt").read_text()
    # No note stands between the rate of the first command and what to do next.
    first = printed[: printed.index("\nNext:\n")]
    assert re.search(r"\n4 classes: [^\n]*\nrejected: none\n[^\n]* images/s[^\n]*\n\Z", first), first


def test_the_commands_that_are_printed_next_run_there(checkout, monkeypatch):
    monkeypatch.chdir(checkout)
    for words in (["verify", "OUT", "--deep"], ["info", "OUT"]):
        assert call(*words).exit_code == 0
