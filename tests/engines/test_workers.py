"""Workers in processes of their own that see other folders or have other libraries than the driver.

`/proc/self/cwd` is the working directory of whoever opens it: a path below it is another folder for a worker that was
started elsewhere, as a path below a mount point is on a host without the mount.
"""

import os
import platform
import shutil
import sys

import pytest

from shardkit.testing import write_class_folders, write_tree

from ..cli.calling import CHECKOUT, IN_PROCESS_RUNNER, call, environment, run

HOST = f"host {platform.node()}"
SHARED = "/proc/self/cwd"
OTHER_VERSION = """
import sys
from shardkit import software
versions = {**software.versions(), "pillow": "9.0"}
software.versions = lambda: versions
from apache_beam.runners.worker.sdk_worker_main import main
main(sys.argv)
"""


@pytest.fixture
def driver(tmp_path, monkeypatch):
    """The driver's working directory; the workers' is `worker` next to it, a copy of it by default."""
    write_class_folders(tmp_path / "driver" / "photos", {"ant": 12, "bee": 9, "cat": 4})
    monkeypatch.chdir(tmp_path / "driver")
    return tmp_path / "driver"


@pytest.fixture
def worker(driver):
    return shutil.copytree(driver, driver.parent / "worker")


@pytest.fixture
def remote(job_service, driver):
    """Options of a runner whose workers are started in `worker`, by default in `driver`."""

    def options(folder=driver, program="-m apache_beam.runners.worker.sdk_worker_main"):
        return [
            *("--runner=PortableRunner", f"--job_endpoint={job_service}"),
            "--environment_type=beam:env:harness_subprocess_python:v1",
            f"--environment_config=cd {folder} && exec {sys.executable} {program}",
        ]

    return options


def test_a_class_folder_that_one_host_has_not_mounted_is_an_error_that_names_the_host(driver, worker, remote):
    shutil.rmtree(worker / "photos" / "cat")
    (worker / "photos" / "cat").mkdir()
    done = call("convert", f"{SHARED}/photos", driver / "out", *remote(worker))
    assert done.exit_code == 3, done.output
    assert (
        f"Error: {SHARED}/photos/cat: {HOST} sees no file in this folder, the driver did; mount the source"
        in done.stderr
    )
    assert not (driver / "out" / "manifest.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["convert", "plan"])
def test_a_folder_with_fewer_files_on_one_host_is_an_error_that_names_the_host(command, driver, worker, remote):
    (worker / "photos" / "bee" / "003.png").unlink()
    output = [driver / "out"] if command == "convert" else []
    done = call(command, f"{SHARED}/photos", *output, *remote(worker))
    assert done.exit_code == 3, done.output
    assert f"{SHARED}/photos/bee: {HOST} sees 8 files and folders, the driver saw 9; give every" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("change", [shutil.rmtree, lambda photos: (photos / "cat").rename(photos / "cow")])
def test_another_source_on_one_host_is_an_error_that_names_the_host(change, driver, worker, remote):
    change(worker / "photos")
    done = call("convert", f"{SHARED}/photos", driver / "out", *remote(worker))
    assert done.exit_code == 3, done.output
    assert f"Error: {SHARED}/photos: {HOST} sees " in done.stderr


@pytest.mark.slow
def test_an_output_that_one_host_does_not_share_is_an_error_that_names_the_host(driver, worker, remote):
    done = call("convert", driver / "photos", f"{SHARED}/out", *remote(worker))
    assert done.exit_code == 3, done.output
    assert (
        f"{SHARED}/out/.shardkit: {HOST} does not see this folder, which the driver writes; every worker" in done.stderr
    )


@pytest.mark.slow
def test_an_image_that_only_one_host_lacks_is_not_left_out(driver, worker, remote):
    # A table says nothing about folders: without the driver's own look, the image would be rejected as missing.
    for root in (driver, worker):
        lines = [f"bee/{i:03d}.png,{'ab'[i % 2]}" for i in range(9)] + ["cat/000.png,a"]
        write_tree(root, {"photos/labels.csv": "\n".join(["image,label", *lines]).encode()})
    (worker / "photos" / "cat" / "000.png").unlink()
    done = call("convert", f"{SHARED}/photos/labels.csv", driver / "out", "--max-rejected", "90%", *remote(worker))
    assert done.exit_code == 3, done.output
    assert f"Error: {SHARED}/photos/cat/000.png: {HOST} rejected this image (there is no file" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", ["convert", "verify"])
def test_another_version_on_one_host_is_an_error_that_names_the_host(command, driver, remote):
    (driver / "other.py").write_text(OTHER_VERSION)
    words = ["convert", driver / "photos", driver / "out"]
    if command == "verify":
        assert call(*words).exit_code == 0
        words = ["verify", driver / "out"]
    done = call(*words, *remote(program=driver / "other.py"))
    assert done.exit_code == 3, done.output
    assert f"Error: {HOST} would write other bytes than the driver, it has pillow 9.0 (the driver: " in done.stderr


@pytest.mark.slow
def test_verify_does_not_call_shards_missing_that_one_host_does_not_see(driver, remote):
    assert call("convert", driver / "photos", driver / "out", "--shards", "2").exit_code == 0
    worker = shutil.copytree(driver, driver.parent / "worker")
    (worker / "out" / "train-00001-of-00002.tfrecord").unlink()
    done = call("verify", f"{SHARED}/out", *remote(worker))
    assert done.exit_code == 3, done.output
    assert f"Error: {SHARED}/out: {HOST} sees " in done.stderr


@pytest.mark.slow
def test_shards_are_spread_over_worker_processes_evenly(driver, tmp_path):
    # Beam's own runner with two worker processes; each notes the shards that it writes.
    notes = tmp_path / "notes"
    notes.mkdir()
    write_tree(tmp_path / "site", {"sitecustomize.py": NOTING.format(notes=str(notes)).encode()})
    options = [IN_PROCESS_RUNNER, "--direct_num_workers=2", "--direct_running_mode=multi_processing"]
    paths = os.pathsep.join([str(tmp_path / "site"), str(CHECKOUT)])
    words = ["convert", driver / "photos", driver / "out", "--shards", "16", *options]
    done = run(*words, env=environment(PYTHONPATH=paths), timeout=600)
    assert done.returncode == 0, done.stderr
    counts = sorted(len(path.read_text().splitlines()) for path in notes.iterdir())
    assert sum(counts) == 16
    assert len(counts) == 2, counts
    assert counts[-1] <= 10, counts


# Python imports a module of this name at its start.
NOTING = """
import builtins, os, sys
importing = builtins.__import__
def noting(name, *rest, **more):
    module = importing(name, *rest, **more)
    executor = sys.modules.get("shardkit.conversion.writing.shard")
    job = getattr(executor, "WriteJob", None)
    if job is not None and not hasattr(job, "is_noting"):
        write = job.write
        def write_noting(self, task, fence):
            with open(f"{notes}/{{os.getpid()}}", "a") as file:
                file.write(task.name.stem + chr(10))
            return write(self, task, fence)
        job.write, job.is_noting = write_noting, True
    return module
builtins.__import__ = noting
"""
