"""Real clusters: Flink and Spark as processes of this host, killed and interrupted.

README.md has the command and what each engine needs.
"""

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from shardkit.conversion.writing.inventory_tasks import DECODE_BATCH_ROWS
from shardkit.testing import digests_of, picture, write_tree

from ..beam.crashing import nothing_left, start_until
from ..cli.calling import call, convert, environment, run
from .flink_cluster import FlinkCluster
from .spark_cluster import SparkCluster

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), pytest.mark.xdist_group("clusters")]
ROUNDS = int(os.environ.get("SHARDKIT_ENGINE_ROUNDS", "10"))
SIZES = (200, 300)
SHARDS = 16
JOB_SECONDS = 300
NAMED_SECONDS = 60
SPREAD_BATCHES = 10
# The program, and the step that checks images, in the program's words; fused steps have the names of their transforms.
CHECKS = {
    "convert": "CheckImages",
    "convert_images.py": "CheckImages",
    "read_and_write.py": "{ReadImages, WriteDataset}",
}.items()
CLUSTERS = {"flink": FlinkCluster, "spark": SparkCluster}
BOOT = "SHARDKIT_BEAM_BOOT"
on_flink = pytest.mark.parametrize("cluster", ["flink"], indirect=True)


@pytest.fixture(scope="module", params=CLUSTERS)
def cluster(request, tmp_path_factory):
    """A cluster with two hosts of one slot, and its job server."""
    kind = CLUSTERS[request.param]
    missing = [name for name in kind.needs if name not in os.environ]
    if missing:
        pytest.skip(f"{' and '.join(missing)} not set, see tests/engines/README.md")
    made = kind(tmp_path_factory.mktemp(request.param))
    try:
        made.begin()
        print(f"{request.param} {made.version}")
        yield made
    finally:
        made.end()


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Images that take a tenth of a second each, so that a kill comes in the middle."""
    root = tmp_path_factory.mktemp("large")
    noise = np.random.default_rng(0).integers(0, 256, (150, 200, 3), np.uint8)
    for i in range(240):
        path = root / f"class_{i % 4}" / f"{i:03d}.jpg"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(np.roll(noise, i, axis=1)).resize((3000, 2250)).save(path, quality=85)
    return root


@pytest.fixture(scope="module")
def wanted(large, tmp_path_factory):
    """The digests of the conversion without Beam, by --resize."""
    folder = tmp_path_factory.mktemp("wanted")
    for size in SIZES:
        convert(large, folder / str(size), "--shards", SHARDS, "--resize", size)
    return {size: digests_of(folder / str(size)) for size in SIZES}


@pytest.fixture
def words(large, cluster, tmp_path):
    """The words of a conversion on the cluster, as far as the value of --resize."""
    return ["convert", large, tmp_path / "out", "--shards", SHARDS, *cluster.options, "--resize"]


def finished(output):
    """The number of shards that are finished."""
    return len(list(output.glob("*.index.parquet")))


def check(output, digests_wanted):
    """Check that a dataset has the wanted bytes and nothing else, and that verify finds it sound."""
    assert digests_of(output) == digests_wanted
    assert nothing_left(output)
    verified = call("verify", output, "--deep")
    assert verified.exit_code == 0, verified.output


def test_the_bytes_are_those_of_a_conversion_without_beam(words, wanted, tmp_path):
    done = run(*words, 200, timeout=JOB_SECONDS)
    assert done.returncode == 0, done.stderr
    check(tmp_path / "out", wanted[200])


def interrupted(words, is_time):
    """Start a command, and press Ctrl-C when it is time; the seconds that it took to end."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored, see test_killing
    try:
        driver = start_until(is_time, *words, seconds=JOB_SECONDS)
    finally:
        signal.signal(signal.SIGINT, handler)
    pressed = time.monotonic()
    driver.send_signal(signal.SIGINT)
    _, said = driver.communicate(timeout=60)
    assert driver.returncode == 130, said
    return time.monotonic() - pressed, said.decode()


def some_time(output, number):
    """A function that tells when to press Ctrl-C: by turns while images are checked, in between, and while written."""
    chance = np.random.default_rng(number)
    seconds, shards, began = chance.uniform(3, 20), chance.integers(1, 9), time.monotonic()

    def is_time():
        if number % 3 == 0:
            return time.monotonic() - began > seconds
        if number % 3 == 1:
            return finished(output) >= shards
        # Writing begins with the plan.
        has_plan = (output / ".shardkit" / "plan.parquet").exists()
        return has_plan and not time.sleep(seconds / 4)

    return is_time


@pytest.mark.parametrize("number", range(ROUNDS))
def test_ctrl_c_and_a_rerun_with_other_options_publish_the_bytes_of_the_rerun(number, cluster, words, wanted, tmp_path):
    output = tmp_path / "out"
    first, second = (SIZES, SIZES[::-1])[number % 2]
    before = cluster.jobs()
    seconds, said = interrupted([*words, first], some_time(output, number))
    states = {job: state for job, state in cluster.jobs().items() if job not in before}
    print(f"Ctrl-C after {finished(output)} shards took {seconds:.1f} s; its jobs: {states}\n{said}")
    began = time.monotonic()
    done = run(*words, second, "--overwrite", timeout=JOB_SECONDS)
    print(f"the rerun took {time.monotonic() - began:.1f} s")
    assert done.returncode == 0, done.stderr
    check(output, wanted[second])
    time.sleep(5)  # workers that were left would still write
    check(output, wanted[second])
    assert {state for job, state in cluster.jobs().items() if job not in before} <= cluster.over


@pytest.mark.parametrize("number", [1, 2])
def test_ctrl_c_and_the_same_command_continue_with_the_shards_that_are_missing(number, words, wanted, tmp_path):
    output = tmp_path / "out"
    interrupted([*words, 200], some_time(output, number))
    there = finished(output)
    done = run(*words, 200, timeout=JOB_SECONDS)
    assert done.returncode == 0, done.stderr
    assert (f"resuming: {there} of {SHARDS} shards" in done.stderr) == (there > 0), done.stderr
    check(output, wanted[200])


@pytest.mark.parametrize("victim", ["worker", "host"])
def test_a_job_survives_kill_9_of_a_worker_and_of_a_host(victim, cluster, words, wanted, tmp_path):
    output = tmp_path / "out"
    failures = cluster.failures()
    began = time.monotonic()
    driver = start_until(lambda: finished(output) >= 4, *words, 300, seconds=JOB_SECONDS)
    killed = time.monotonic()
    getattr(cluster, f"kill_{victim}")()
    print(f"kill -9 after {finished(output)} shards, {killed - began:.1f} s")
    try:
        _, said = driver.communicate(timeout=JOB_SECONDS)
    finally:
        driver.kill()
    print(f"ended {time.monotonic() - killed:.1f} s later\n{said.decode()}")
    assert driver.returncode == 0, said.decode()
    assert cluster.failures() > failures, "the job ended before it could notice"
    check(output, wanted[300])


def test_what_is_read_and_written_has_the_bytes_of_a_conversion(cluster, large, wanted, tmp_path):
    program = Path(__file__).with_name("read_and_write.py")
    words = [sys.executable, program, large, tmp_path / "out", SHARDS, 200, *cluster.options]
    subprocess.run(list(map(str, words)), check=True, env=environment(), timeout=JOB_SECONDS)
    check(tmp_path / "out", wanted[200])


@pytest.mark.parametrize("number", range(ROUNDS))
def test_what_is_read_and_written_survives_kill_9_of_a_worker_in_a_bundle(number, cluster, large, wanted, tmp_path):
    output, failures, chance = tmp_path / "out", cluster.failures(), np.random.default_rng(number)
    shards, seconds = (chance.integers(1, SHARDS // 2), 0) if number % 2 == 0 else (0, chance.uniform(0, 3))
    words = [sys.executable, Path(__file__).with_name("read_and_write.py"), large, output, SHARDS, 200]
    with subprocess.Popen([*map(str, words), *cluster.options], env=environment()) as driver:
        begun = output / ".shardkit" / "staged" / "begun"
        cluster.wait(lambda: begun.exists() and finished(output) >= shards, JOB_SECONDS)
        time.sleep(seconds)  # checking leaves no files meanwhile
        used, step = cluster.kill_busy_worker(), f"written, {finished(output)} shards" if shards else "checked"
        killed = time.monotonic()
        assert driver.wait(JOB_SECONDS) == 0
    digest = json.loads((output / "manifest.json").read_bytes())["digest"]
    print(f"killed after {used:.1f} s of CPU while {step}; ended {time.monotonic() - killed:.1f} s later: {digest}")
    assert cluster.failures() > failures, "the job ended before it could notice"
    check(output, wanted[200])


@pytest.mark.parametrize("command", ["doctor", "convert"])
def test_a_worker_that_does_not_see_the_source_is_named_within_a_minute(command, cluster, source, tmp_path):
    # /proc/self/cwd is another folder for the workers, as a path below a mount is on a host without it.
    shutil.copytree(source, tmp_path / "photos")
    began = time.monotonic()
    done = run(command, "/proc/self/cwd/photos", tmp_path / "out", *cluster.options, cwd=tmp_path)
    seconds = time.monotonic() - began
    print(f"{seconds:.1f} s\n{done.stdout}{done.stderr}")
    assert done.returncode == 3, done.stderr
    assert f"host {platform.node()}" in done.stdout + done.stderr
    assert seconds < NAMED_SECONDS


def test_doctor_finds_a_cluster_ready(cluster, source, tmp_path):
    done = run("doctor", source, tmp_path / "out", *cluster.options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ready to convert" in done.stdout


@on_flink
@pytest.mark.parametrize("slots", [1, 2])
def test_shards_are_spread_evenly_over_slots(slots, cluster, words, wanted, tmp_path):
    began = time.monotonic()
    done = run(*words, 300, f"--parallelism={slots}", timeout=JOB_SECONDS)
    assert done.returncode == 0, done.stderr
    shards = cluster.taken("WriteShards")
    print(f"{slots} slots: {time.monotonic() - began:.1f} s, shards by task: {shards}")
    assert shards == [SHARDS // slots] * slots
    check(tmp_path / "out", wanted[300])


@pytest.fixture(scope="module")
def spread(tmp_path_factory):
    """Many small images in one folder, and a table of them: one task lists them, in batches of 128."""
    root = tmp_path_factory.mktemp("spread")
    rows = [(f"all/{i:04d}.png", "ab"[i % 2]) for i in range(SPREAD_BATCHES * DECODE_BATCH_ROWS)]
    write_tree(root, {path: picture(i) for i, (path, _) in enumerate(rows)})
    (root / "labels.csv").write_text("image,label\n" + "".join(f"{path},{label}\n" for path, label in rows))
    return root / "labels.csv"


@on_flink
@pytest.mark.parametrize(("program", "step"), CHECKS)
def test_images_are_checked_and_shards_written_in_all_slots(program, step, cluster, spread, tmp_path):
    # Flink leaves out a Reshuffle behind another one: one slot then did all, and nothing else was wrong.
    if program == "convert":
        done = run("convert", spread, tmp_path / "out", "--shards", SHARDS, *cluster.options, timeout=JOB_SECONDS)
        assert done.returncode == 0, done.stderr
    else:
        words = [sys.executable, Path(__file__).with_name(program), spread, tmp_path / "out", SHARDS, 200]
        command = [*map(str, words), *cluster.options]
        subprocess.run(command, check=True, env=environment(), timeout=JOB_SECONDS)
    batches, shards = cluster.taken(step), cluster.taken("WriteShards")
    print(f"{program}: batches of images by task: {batches}, shards: {shards}")
    assert sum(batches) == SPREAD_BATCHES
    assert max(batches) - min(batches) <= 2, "each task that groups deals them out from a task of its own choice"
    assert shards == [SHARDS // 2] * 2


@on_flink
@pytest.mark.parametrize("environment", ["LOOPBACK", "PROCESS", "boot"])
def test_other_environments_write_the_same_bytes(environment, cluster, source, by_default, tmp_path):
    options = ["--environment_type=LOOPBACK"]
    if environment != "LOOPBACK":
        if environment == "boot" and BOOT not in os.environ:
            pytest.skip(f"{BOOT} names no boot program of Beam, see tests/engines/README.md")
        program = os.environ[BOOT] if environment == "boot" else str(cluster.worker_program())
        options = ["--environment_type=PROCESS", f"--environment_config={json.dumps({'command': program})}"]
    small = ["--shards", "3", "--resize", "6"]
    done = run("convert", source, tmp_path / "out", *small, *cluster.runner, *options, timeout=JOB_SECONDS)
    assert done.returncode == 0, done.stderr
    check(tmp_path / "out", digests_of(by_default))
