"""A disk or a network that fails for some minutes: nothing is left out, and the same command goes on afterwards."""

import errno
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from PIL import Image

from shardkit.dataset.manifest import read_manifest
from shardkit.errors import MachineError, SpecialFileError
from shardkit.naming import RUN_LOG
from shardkit.storage import LocalFolder, is_of_machine
from shardkit.testing import encoded, files_of, picture, write_class_folders, write_tree

from .calling import call, environment, is_one_sentence, run_forked

# Numbers that mean one file, and all the others that systems give for disks, network mounts and full tables of files.
OF_A_FILE = ["EACCES", "EPERM", "ELOOP", "ENOENT"]
OF_THE_MACHINE = [
    *(
        "EIO",
        "ESTALE",
        "ETIMEDOUT",
        "EREMOTEIO",
        "ENOTCONN",
        "ENODEV",
        "ENXIO",
        "EHOSTDOWN",
        "EHOSTUNREACH",
        "ENETDOWN",
    ),
    *(
        "ENETUNREACH",
        "ECONNRESET",
        "ECONNREFUSED",
        "EAGAIN",
        "EBUSY",
        "ENOMEM",
        "EMFILE",
        "ENFILE",
        "EUCLEAN",
        "EBADMSG",
    ),
]
OTHERS = pytest.mark.slow  # the same for another call or number: each starts a process
FEW = "*/ant/00[0-2].png"  # fewer than are tolerated


@pytest.fixture(scope="session")
def failing_disk(made_once):
    """The environment of a process whose disk fails for some paths."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not os.path.isdir("/proc/self/fd"):
        pytest.skip("making a disk fail needs Linux and a C compiler")

    def build(folder):
        written = Path(__file__).with_name("failing_disk.c")
        command = [compiler, "-shared", "-fPIC", "-Wall", "-Werror", "-o", folder / "failing_disk.so", written, "-ldl"]
        subprocess.run(command, check=True)

    library = made_once("failing-disk", build) / "failing_disk.so"

    def failing(paths, number, calls):
        fault = {"FAULT_PATHS": paths, "FAULT_ERRNO": str(number), "FAULT_CALLS": calls}
        return environment(LD_PRELOAD=str(library), **fault)

    return failing


@pytest.fixture
def photos(tmp_path):
    return write_class_folders(tmp_path / "photos", {"ant": 40, "bee": 30})


def count(output):
    return read_manifest(str(output)).splits["train"].num_examples


def failing_reads(monkeypatch, number, paths=r"ant/00[0-2]\.png", calls=("read",)):
    """Let reads of a few images fail in this process, at once and not after retries."""
    monkeypatch.setattr("shardkit.storage.retry.PAUSES_SECONDS", ())

    def failing(call):
        def fail_or_call(folder, path=""):
            if re.search(paths, path):
                raise OSError(number, os.strerror(number))
            return call(folder, path)

        return fail_or_call

    for name in calls:
        monkeypatch.setattr(LocalFolder, name, failing(getattr(LocalFolder, name)))


@pytest.mark.parametrize("name", [*OF_THE_MACHINE, *OF_A_FILE])
def test_every_error_is_of_the_machine_but_for_a_few(name):
    error = OSError(getattr(errno, name), "")
    assert (is_of_machine(error), is_of_machine(MachineError("")), is_of_machine(SpecialFileError(""))) == (
        name in OF_THE_MACHINE,
        True,
        False,
    )


@pytest.mark.parametrize(("name", "check"), [("EIO", "decode"), ("ESTALE", "header"), ("ETIMEDOUT", "decode")])
def test_an_error_of_the_machine_rejects_no_image(name, check, photos, tmp_path, monkeypatch):
    number = getattr(errno, name)
    with monkeypatch.context() as patched:
        failing_reads(patched, number)
        result = call("convert", photos, tmp_path / "out", "--check", check)
    assert (result.exit_code, is_one_sentence(result.stderr)) == (3, True)
    assert f"ant/000.png: cannot be read: {os.strerror(number)}" in result.stderr.replace("00[1-2]", "000")
    repairing, _, leaving_out = result.stderr.partition("if only this file fails, ")
    assert ("--overwrite" in repairing, "--overwrite" in leaving_out) == (False, check == "header")
    assert not (tmp_path / "out" / "manifest.json").exists()
    healed = call("convert", photos, tmp_path / "out", "--check", check)
    assert (healed.exit_code, "rejected: none" in healed.stdout, count(tmp_path / "out")) == (0, True, 70)


@pytest.mark.parametrize(("name", "check"), [("EACCES", "decode"), ("EPERM", "header"), ("ELOOP", "decode")])
def test_an_error_of_a_file_rejects_it(name, check, photos, tmp_path, monkeypatch):
    failing_reads(monkeypatch, getattr(errno, name))
    result = call("convert", photos, tmp_path / "out", "--check", check)
    assert (result.exit_code, count(tmp_path / "out")) == (0, 67)
    assert "3 unreadable" in call("info", tmp_path / "out").stdout


@pytest.mark.parametrize(
    ("calls", "number", "check"),
    [
        ("read", errno.EIO, "decode"),  # after the retries, as with every disk that is broken
        ("read", errno.EREMOTEIO, "header"),
        pytest.param("open", errno.ENODEV, "decode", marks=OTHERS),
        ("open", errno.ENXIO, "header"),  # as of a socket
        ("stat", errno.EUCLEAN, "decode"),  # the size of an entry: as an empty file, it would be rejected
    ],
)
def test_a_failing_source_ends_with_3_and_the_same_command_has_all_images(
    calls, number, check, failing_disk, photos, tmp_path
):
    command = ("convert", photos, tmp_path / "out", "--check", check)
    failed = run_forked(*command, env=failing_disk(FEW, number, calls))
    assert (failed.returncode, is_one_sentence(failed.stderr)) == (3, True), failed.stderr
    assert os.strerror(number) in failed.stderr
    assert call(*command).exit_code == 0
    assert files_of(tmp_path / "out").keys() == files_of(whole(photos, tmp_path, check)).keys()
    assert shards(tmp_path / "out") == shards(tmp_path / "whole")


def whole(photos, tmp_path, check):
    assert call("convert", photos, tmp_path / "whole", "--check", check).exit_code == 0
    return tmp_path / "whole"


def shards(output):
    return {name: data for name, data in files_of(output).items() if name.endswith(".tfrecord")}


@pytest.mark.parametrize("check", ["decode", "header"])
def test_a_file_that_alone_fails_is_left_out_by_the_printed_options(check, failing_disk, tmp_path):
    write_class_folders(tmp_path / "photos", {"ant [x]": 5, "bee": 5})
    environment = failing_disk("*/ant */003.png", errno.EREMOTEIO, "read")
    command = ("convert", tmp_path / "photos", tmp_path / "out", "--check", check)
    said = run_forked(*command, env=environment).stderr
    options = shlex.split(said.partition("leave it out with ")[2])
    again = run_forked(*command, *options, env=environment)
    assert (again.returncode, count(tmp_path / "out")) == (0, 9), again.stderr


@pytest.mark.parametrize(("name", "path"), [("read", "bee/008.png"), ("scan", "bee")])
def test_a_file_of_several_sources_is_named_by_the_path_that_the_user_gave(name, path, tmp_path, monkeypatch):
    write_class_folders(tmp_path / "a", {"ant": 5, "bee": 5})
    write_class_folders(tmp_path / "b", {"ant": 9, "bee": 9})
    failing_reads(monkeypatch, errno.EIO, path, [name])
    result = call("convert", f"train={tmp_path / 'b'}", f"validation={tmp_path / 'a'}", tmp_path / "out")
    assert result.exit_code == 3
    assert re.search(rf"{tmp_path}/[ab]/{path}: cannot ", result.stderr), result.stderr


@pytest.mark.parametrize("check", ["decode", "header"])
def test_a_finished_conversion_looks_again_at_what_it_could_not_read(check, photos, tmp_path, monkeypatch):
    out = tmp_path / "out"
    command = ("convert", photos, out, "--check", check, "--shards", "2")
    with monkeypatch.context() as patched:
        failing_reads(patched, errno.EACCES)
        assert call(*command).exit_code == 0
        before = files_of(out)
        still = call(*command)
        assert (still.exit_code, "nothing to do" in still.stderr) == (0, True)
    said = call(*command)
    assert (said.exit_code, files_of(out) | {RUN_LOG: before[RUN_LOG]}) == (1, before)
    assert "3 images that were rejected when this dataset was made can be used now: ant/000.png" in said.stderr
    append, again = (shlex.split(line, comments=True)[1:] for line in said.stderr.splitlines()[-2:])
    shutil.copytree(out, tmp_path / "copy")

    assert call(*append).exit_code == 0
    after = files_of(out)
    assert all(after[name] == data for name, data in before.items() if name.endswith(".tfrecord"))
    assert count(out) == 70
    for repeated in (command, append):
        result = call(*repeated)
        assert (result.exit_code, "nothing to do" in result.stderr) == (0, True), result.stderr

    shutil.rmtree(out)
    (tmp_path / "copy").rename(out)
    assert call(*again).exit_code == 0
    assert call("convert", photos, tmp_path / "whole", "--check", check, "--shards", "2").exit_code == 0
    assert shards(out) == shards(tmp_path / "whole")


def write_boxes(root):
    """Write a table of boxes: the image 3 alone has a class, and it has a box outside itself."""
    boxes = [f"{i:03}.png,1,1,5,5,{'zebra' if i == 3 else 'cat'}\n" for i in range(6)]
    table = ["filename,xmin,ymin,xmax,ymax,class\n", *boxes, "003.png,20,20,25,25,cat\n"]
    return write_tree(write_class_folders(root, {"images": 6}), {"boxes.csv": "".join(table)})


def write_masks(root):
    return write_tree(
        root,
        {f"images/{i:03}.png": picture(i) for i in range(6)}
        | {f"masks/{i:03}.png": encoded(Image.new("L", (8, 8), i % 2)) for i in range(6)},
    )


@pytest.mark.parametrize("check", ["decode", "header"])
@pytest.mark.parametrize(
    ("write", "paths", "calls"),
    [
        (write_boxes, "images/003", ("read",)),
        (write_boxes, "images/003", ("read", "stat")),  # as in a folder that may not be searched
        (write_masks, "images/003", ("read",)),
        (write_masks, "masks/003", ("read",)),
    ],
)
def test_what_belongs_to_an_image_that_can_be_read_now_is_no_change_of_the_source(
    write, paths, calls, check, tmp_path, monkeypatch
):
    out = tmp_path / "out"
    command = ("convert", write(tmp_path / "source"), out, "--check", check, "--max-rejected", "50%")
    with monkeypatch.context() as patched:
        failing_reads(patched, errno.EACCES, paths, calls)
        assert call(*command).exit_code == 0
        still = call(*command)
        assert (still.exit_code, "nothing to do" in still.stderr) == (0, True), still.stderr
    said = call(*command)
    assert "1 image that was rejected when this dataset was made can be used now: images/003.png" in said.stderr
    append = shlex.split(said.stderr.splitlines()[-2], comments=True)[1:]
    assert (call(*append).exit_code, count(out)) == (0, 6)
    again = call(*command)
    assert (again.exit_code, "nothing to do" in again.stderr) == (0, True), again.stderr


def test_an_interrupted_conversion_goes_on_with_what_can_be_read_now(photos, tmp_path, monkeypatch):
    out = tmp_path / "out"
    with monkeypatch.context() as patched:
        failing_reads(patched, errno.EACCES)
        patched.setattr("shardkit.conversion.writing.steps.publish", interrupted)
        with pytest.raises(ZeroDivisionError):
            call("convert", photos, out)
    result = call("convert", photos, out)
    assert result.exit_code == 0, result.stderr
    assert "3 images that an earlier run rejected can be used now; writing all shards" in result.stderr
    assert (count(out), "rejected: none" in result.stdout) == (70, True)


def interrupted(*_):
    raise ZeroDivisionError


@pytest.mark.parametrize(
    ("paths", "calls", "files"),
    [
        ("*/photos/ant", "list", {}),
        ("*/labels.csv", "read", {"labels.csv": "image,label\nant/000.png,ant\nbee/000.png,bee\n"}),
        ("*/class_names.json", "open", {"class_names.json": '{"0": "ant", "1": "bee"}', "labels.csv": "image,label\n"}),
    ],
)
def test_a_folder_or_a_file_of_labels_that_fails_ends_with_3(paths, calls, files, failing_disk, tmp_path):
    source = write_class_folders(tmp_path / "photos", {"ant": 3, "bee": 3})
    if len(files) == 2:
        files["labels.csv"] += "".join(
            f"{name}/00{i}.png,{j}\n" for j, name in enumerate(("ant", "bee")) for i in (0, 1)
        )
    write_tree(source, files)
    result = run_forked("convert", source, tmp_path / "out", env=failing_disk(paths, errno.EREMOTEIO, calls))
    assert (result.returncode, is_one_sentence(result.stderr)) == (3, True), result.stderr
    assert paths.removeprefix("*/") in result.stderr


@pytest.mark.parametrize(
    "number", [errno.ENOSPC, *(pytest.param(one, marks=OTHERS) for one in (errno.EIO, errno.EDQUOT, errno.EROFS))]
)
def test_an_output_that_cannot_be_written_ends_with_3_and_the_same_command_goes_on(
    number, failing_disk, photos, tmp_path
):
    command = ("convert", photos, tmp_path / "out", "--shards", "2")
    failed = run_forked(*command, env=failing_disk("*/out/.shardkit-tmp-*", number, "write"))
    assert (failed.returncode, is_one_sentence(failed.stderr)) == (3, True), failed.stderr
    assert os.strerror(number) in failed.stderr
    assert call(*command).exit_code == 0
    assert count(tmp_path / "out") == 70


@pytest.mark.parametrize(
    "ending",
    [
        ".tfrecord",
        *(pytest.param(one, marks=OTHERS) for one in (".index.parquet", "manifest.json", "rejected.parquet")),
    ],
)
def test_verify_does_not_call_a_dataset_damaged_that_it_cannot_read(ending, failing_disk, photos, tmp_path):
    assert call("convert", photos, tmp_path / "out").exit_code == 0
    result = run_forked("verify", tmp_path / "out", env=failing_disk(f"*{ending}", errno.EREMOTEIO, "read"))
    assert (result.returncode, is_one_sentence(result.stderr)) == (3, True), result.stdout + result.stderr
    assert os.strerror(errno.EREMOTEIO) in result.stderr
    assert call("verify", tmp_path / "out").exit_code == 0


@pytest.mark.parametrize(
    ("kind", "calls"),
    [
        ("zip", "read"),
        *(pytest.param(*one, marks=OTHERS) for one in (("tar", "open"), ("tar", "read"), ("gztar", "read"))),
    ],
)
def test_an_archive_that_cannot_be_read_ends_with_3(kind, calls, failing_disk, photos, tmp_path):
    archive = shutil.make_archive(str(tmp_path / "photos"), kind, photos)
    result = run_forked("convert", archive, tmp_path / "out", env=failing_disk(archive, errno.EREMOTEIO, calls))
    assert (result.returncode, is_one_sentence(result.stderr)) == (3, True), result.stderr
    assert os.strerror(errno.EREMOTEIO) in result.stderr
