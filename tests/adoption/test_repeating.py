"""An adoption that is run again: after it ended, after files changed, and after a kill at any moment."""

import os
import re
import shlex
import signal

import pytest

import shardkit
from shardkit.errors import CallError, ManifestError
from shardkit.storage import TEMPORARY, LocalFolder
from shardkit.testing import digests_of

from ..cli.calling import MODULES, call, environment
from ..dataset.foreign.records import imagenet, write
from ..reader.processes import PIPE, Process
from .checking import problems

NAMES = {1: ("n01", "tench"), 2: ("n02", "shark")}


@pytest.fixture
def old(tmp_path):
    """Two files of tensorflow/models' ImageNet, one in a folder of its own; and the file of class names."""
    for number, path in enumerate(("train-00000-of-00001", "more/validation-00000-of-00001")):
        numbers = range(4 * number, 4 * number + 4)
        write(tmp_path / "old" / path, [imagenet(i, 1 + i % 2, *NAMES[1 + i % 2]) for i in numbers])
    (tmp_path / "names.txt").write_text("tench\nshark\n")
    return tmp_path / "old"


def test_the_same_command_again_is_nothing_to_do(old, tmp_path):
    command = "adopt", old, "--into", tmp_path / "new", "--classes", tmp_path / "names.txt"
    assert call(*command).exit_code == 0
    before, written = digests_of(tmp_path / "new"), (tmp_path / "new" / "manifest.json").stat()
    (index,) = (tmp_path / "new").rglob("validation*.parquet")
    index.unlink()
    again = call(*command)
    assert (again.exit_code, "already holds the adoption of these files; nothing to do" in again.stderr) == (0, True)
    assert digests_of(tmp_path / "new") == before
    assert (tmp_path / "new" / "manifest.json").stat() == written  # a reader sees no new manifest
    other = call("adopt", old, "--into", tmp_path / "new")
    assert (other.exit_code, "adopted before, with other --classes" in other.stderr) == (2, True)
    other = call(*command, "--split-files", "train")
    assert (other.exit_code, "adopted before, with other --split-files; add" in other.stderr) == (2, True)


def printed(text):
    """The command between backticks that adopts again."""
    program, *arguments = shlex.split(re.findall("`(shardkit adopt .*?)`", text)[-1])
    assert program == "shardkit"
    return arguments


CHANGES = {
    "other records": lambda old: write(old / "train-00000-of-00001", [imagenet(i, 1, *NAMES[1]) for i in (15, 16)]),
    "another order": lambda old: write(
        old / "train-00000-of-00001", [imagenet(i, 1 + i % 2, *NAMES[1 + i % 2]) for i in (2, 1, 0, 3)]
    ),
    "a new file": lambda old: write(old / "train-1.tfrecord", [imagenet(9, 1, *NAMES[1])]),
    "a file that is gone": lambda old: (old / "more/validation-00000-of-00001").unlink(),
}


OPTIONS = [
    *(
        "--split-files",
        "train=train*",
        "--split-files",
        "held=*",
        "--key-feature",
        "image/filename",
        "--name",
        "my name",
    ),
    *("--label-feature", "image/class/label", "--image-feature", "image/encoded", "--label-type", "class"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_printed_about_a_changed_file_adopts_it_with_the_same_options(change, old, tmp_path, monkeypatch):
    command = "adopt", "old", "--into", "the new", "--classes", "names.txt", *OPTIONS
    monkeypatch.chdir(tmp_path)
    assert call(*command).exit_code == 0
    before = shardkit.read_manifest("the new")
    CHANGES[change](old)
    outputs = [call(*command)]
    if change != "a new file":  # which the adopted dataset lacks
        outputs += [call("verify", "the new")]
    if change == "other records":
        outputs += [call("convert", "the new", "converted")]
    monkeypatch.chdir("/")
    assert (change == "another order") == ("has changed since" in outputs[0].output)  # its size is the same
    (again,) = {tuple(printed(one.output)) for one in outputs}
    assert {one.exit_code for one in outputs} <= {1, 2}
    assert call(*again).exit_code == 0
    after = shardkit.read_manifest(before.root.url)
    assert (after.name, after.classes, after.options) == (before.name, before.classes, before.options)
    assert after.digest != before.digest
    assert [*after.splits] == ["train", "held"][: 1 if "gone" in change else 2]
    assert problems(after.root.url, deep=False) == []


def test_adopting_again_keeps_the_names_of_the_classes_unless_told_otherwise(old):
    first = shardkit.adopt(old, classes=["tench", "shark"])
    assert shardkit.adopt(old, overwrite=True).digest == first.digest
    assert shardkit.adopt(old, classes=["a", "b"], overwrite=True).classes == ["0", "a", "b"]
    with pytest.raises(CallError, match="adopted before, with other classes; add overwrite=True"):
        shardkit.adopt(old)


class Killed(BaseException):
    """What no block cleans up after, as no process does after SIGKILL."""


class Killing:
    """`LocalFolder.atomic_write` whose process is killed at one of its writes: before, during or after the rename."""

    def __init__(self, root, number, moment):
        self.root, self.left, self.moment, self.write = str(root), number, moment, LocalFolder.atomic_write

    def __call__(self, folder, path, **given):
        if folder.path != self.root:
            return self.write(folder, path, **given)
        self.left -= 1
        return self.killed(folder, path) if self.left == 0 else self.write(folder, path, **given)

    def killed(self, folder, path):
        killing = self

        class Write:
            def __enter__(self):
                place = os.path.dirname(f"{folder.path}/{path}")
                os.makedirs(place, exist_ok=True)
                self.temporary = f"{place}/{TEMPORARY}1-killed"
                self.file = open(self.temporary, "wb")
                return self.file

            def __exit__(self, *_):
                self.file.close()
                if killing.moment == "after":
                    os.replace(self.temporary, f"{folder.path}/{path}")
                raise Killed

        return Write()


@pytest.mark.parametrize("had_one", [False, True])
def test_a_kill_at_any_write_leaves_nothing_for_good_and_the_same_command_ends_well(
    had_one, old, tmp_path, monkeypatch
):
    for moment in ("during", "after"):
        for number in (1, 2, 3):  # two indexes and the manifest
            place = tmp_path / f"{moment}-{number}"
            other = shardkit.adopt(old, into=place) if had_one else None
            with monkeypatch.context() as patched:
                killing = Killing(place, number, moment)
                patched.setattr(LocalFolder, "atomic_write", lambda *given, kill=killing, **more: kill(*given, **more))
                with pytest.raises(Killed):
                    shardkit.adopt(old, into=place, classes=["tench", "shark"], overwrite=had_one)
            if (number, moment) == (3, "after"):
                assert shardkit.read_manifest(str(place)).classes == ["0", "tench", "shark"]
            elif other is not None:
                assert shardkit.read_manifest(str(place)).classes == other.classes
            else:
                with pytest.raises(ManifestError, match="an adoption was interrupted"):
                    shardkit.read_manifest(str(place))
            manifest = shardkit.adopt(old, into=place, classes=["tench", "shark"], overwrite=had_one)
            assert manifest.classes == ["0", "tench", "shark"]
            assert problems(place) == []
            left = [path.name for path in place.rglob("*") if path.name.startswith(TEMPORARY)]
            assert (left, len([*(place / "indexes").iterdir()])) == ([], 1)


# Not a fork of this process: gRPC, if a test before has loaded it, may abort in a fork that then runs Python.
KILLED = """
import os, signal, sys
import shardkit

replace, left = os.replace, [int(sys.argv[2])]

def counted(source, target):
    if target.startswith(sys.argv[1]):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    replace(source, target)

os.replace = counted
remove = os.remove

def killed(path):
    if path.startswith(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
    remove(path)

if sys.argv[2] == "0":
    os.remove = killed
shardkit.adopt(sys.argv[1])
"""


@pytest.mark.parametrize("number", [2, 3, 0], ids=["at an index", "at the manifest", "with the lock"])
def test_the_same_command_ends_well_after_sigkill(number, old, tmp_path):
    records = digests_of(old)
    (tmp_path / "killed.py").write_text(KILLED)
    process = Process([tmp_path / "killed.py", old, number], environment(), stderr=PIPE, modules=MODULES)
    _, error = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL, error
    assert [*old.rglob(f"{TEMPORARY}*")] != []
    again = call("adopt", old)
    assert again.exit_code == 0, again.output
    assert ("nothing to do" in again.stderr) == (number == 0)
    assert digests_of(old).items() >= records.items()
    assert [*old.rglob(f"{TEMPORARY}*")] == []
    assert problems(old) == []
