"""A real Flink: Ctrl-C and an immediate rerun with other options, and a worker that does not see the source.

Needs Java and `SHARDKIT_FLINK_JOB_SERVER_JAR`: the job server's jar, or a Java class path with it and its dependencies.
Flink itself is in it. See pipelines/README.md, "Flink", for the command.
"""

import os
import platform
import shutil
import signal
import time

import numpy as np
import pytest
from PIL import Image

from ..cli.calling import call, convert, digests, run, start
from .flink_cluster import Cluster

JAR = "SHARDKIT_FLINK_JOB_SERVER_JAR"
pytestmark = pytest.mark.timeout(1200)  # a round takes minutes
ROUNDS = int(os.environ.get("SHARDKIT_FLINK_ROUNDS", "4"))
NAMED_SECONDS = 60
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(JAR not in os.environ, reason=f"{JAR} names no job server"),
    pytest.mark.xdist_group("flink"),
]


@pytest.fixture(scope="module")
def flink(tmp_path_factory):
    cluster = Cluster(tmp_path_factory.mktemp("flink"), os.environ[JAR])
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.end()


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Images that take a tenth of a second each, so that Ctrl-C comes in the middle."""
    root = tmp_path_factory.mktemp("large")
    noise = np.random.default_rng(0).integers(0, 256, (150, 200, 3), np.uint8)
    for i in range(80):
        path = root / f"class_{i % 4}" / f"{i:03d}.jpg"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(np.roll(noise, i, axis=1)).resize((3000, 2250)).save(path, quality=85)
    return root


@pytest.fixture(scope="module")
def wanted(large, tmp_path_factory):
    """The digests of the conversion in this process, by --resize."""
    folder = tmp_path_factory.mktemp("wanted")
    for size in (200, 300):
        convert(large, folder / str(size), "--shards", "16", "--resize", str(size))
    return {size: digests(folder / str(size)) for size in (200, 300)}


@pytest.mark.parametrize("number", range(ROUNDS))
def test_ctrl_c_and_a_rerun_with_other_options_publish_the_bytes_of_the_rerun(number, flink, large, wanted, tmp_path):
    output, chance = tmp_path / "out", np.random.default_rng(number)
    first, second = ((300, 200), (200, 300))[number % 2]
    before = flink.jobs()
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored, see test_killing
    words = ["convert", large, output, "--shards", "16", *flink.options, "--resize"]
    driver = start(*words, first)
    signal.signal(signal.SIGINT, handler)
    if number % 2:
        shards = chance.integers(1, 12)
        while len(list(output.glob("*.index.parquet"))) < shards:
            assert driver.poll() is None, driver.communicate()
            time.sleep(0.05)
        time.sleep(chance.random())
    else:
        time.sleep(chance.uniform(3, 15))
    driver.send_signal(signal.SIGINT)
    driver.communicate(timeout=60)
    assert driver.returncode == 130
    interrupted = flink.jobs().keys() - before.keys()
    done = run(*words, second, "--overwrite", timeout=300)
    assert done.returncode == 0, done.stderr
    assert digests(output) == wanted[second]
    after = flink.jobs()
    assert {after[job] for job in interrupted} <= {"CANCELED", "FINISHED"}
    assert call("verify", output, "--deep").exit_code == 0
    time.sleep(5)  # workers that were left would still write
    assert digests(output) == wanted[second]


@pytest.mark.parametrize("command", ["doctor", "convert"])
def test_a_worker_that_does_not_see_the_source_is_named_within_a_minute(command, flink, source, tmp_path):
    # /proc/self/cwd is another folder for the pool's workers, as a path below a mount is on a host without it.
    shutil.copytree(source, tmp_path / "photos")
    started = time.monotonic()
    done = run(command, "/proc/self/cwd/photos", tmp_path / "out", *flink.options, cwd=tmp_path)
    seconds = time.monotonic() - started
    assert done.returncode == 3, done.stderr
    assert f"host {platform.node()}" in done.stdout + done.stderr
    assert seconds < NAMED_SECONDS
