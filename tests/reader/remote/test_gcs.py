"""A dataset on gs://: TensorFlow's own client and pyarrow's, against a server on this machine."""

import itertools
import json
import shutil
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from ...cli import calling
from ...storage.gcs.emulator import GcsEmulator
from ..processes import PIPE, Process
from ..training_fixtures import TIMEOUT_SECONDS, command, environment, run_all, shapes  # noqa: F401 - a fixture

GLOBAL_BATCH_SIZE = 16
NUM_STEPS = 15  # an epoch of 192 examples and a quarter
BUCKET = "photos"


@pytest.fixture(scope="module")
def emulator(shapes, tmp_path_factory):  # noqa: F811 - a fixture
    root = tmp_path_factory.mktemp("store")
    shutil.copytree(shapes, root / BUCKET / "shapes")
    incomplete = shutil.copytree(shapes, root / BUCKET / "incomplete")
    for shard in incomplete.glob("train-*.tfrecord"):
        shard.unlink()
    with GcsEmulator(root) as started:
        yield started


@pytest.fixture(scope="module")
def facts(shapes, emulator, found_once):  # noqa: F811 - a fixture
    """The facts of the dataset in a local folder, and of the same one on gs://."""
    datasets = {"local": shapes, "remote": f"gs://{BUCKET}/shapes"}

    def run_programs(folder):
        run_all(
            [
                command("remote_batches.py", url, folder / name, GLOBAL_BATCH_SIZE, NUM_STEPS)
                for name, url in datasets.items()
            ],
            [environment(), environment(**emulator.environment())],
        )

        return [json.loads((folder / name).read_text()) for name in datasets]

    return found_once("remote-batches", run_programs)


@pytest.mark.parametrize("order", ["full", "block", "cached"])
def test_the_batches_of_a_remote_dataset_are_those_of_the_local_one(facts, order):
    local, remote = facts
    assert remote[order] == local[order]


@pytest.mark.parametrize("order", ["full", "block", "cached"])
def test_a_remote_dataset_is_read_in_the_order_that_is_listed_with_every_example_once_an_epoch(facts, order):
    _, remote = facts
    assert remote[order]["keys"] == remote[order]["listed"]
    epoch = list(itertools.chain.from_iterable(remote[order]["keys"]))[:192]
    assert len(set(epoch)) == 192


def run_command(emulator, *words):
    """Run shardkit with gs:// on this machine; return its exit code, standard output and standard error."""
    done = calling.run_forked(*words, env=calling.environment(**emulator.environment()))
    return done.returncode, done.stdout, done.stderr


def test_info_of_a_remote_dataset_is_that_of_the_local_one(shapes, emulator):  # noqa: F811 - a fixture
    printed = [run_command(emulator, "info", url, "--json") for url in (str(shapes), f"gs://{BUCKET}/shapes")]
    assert [code for code, _, _ in printed] == [0, 0]
    assert json.loads(printed[0][1])["digest"] == json.loads(printed[1][1])["digest"]


def test_verify_reads_every_byte_of_the_shards_of_a_remote_dataset(shapes, emulator):  # noqa: F811 - a fixture
    before = emulator.counts()["read_bytes"]
    code, printed, _ = run_command(emulator, "verify", f"gs://{BUCKET}/shapes")
    assert code == 0
    assert "no problems: 240 examples in 6 shards" in printed
    assert emulator.counts()["read_bytes"] - before >= sum(path.stat().st_size for path in shapes.glob("*.tfrecord"))


def test_verify_names_every_shard_that_is_missing_from_a_remote_dataset(emulator):
    code, printed, _ = run_command(emulator, "verify", f"gs://{BUCKET}/incomplete")
    assert code == 1
    for index in range(3):
        assert f"train-0000{index}-of-00003.tfrecord: is missing" in printed


@pytest.mark.parametrize("url", [f"gs://{BUCKET}/nothing", "gs://no-such-bucket/shapes"])
@pytest.mark.parametrize("words", [["info"], ["verify"]])
def test_a_missing_dataset_is_named_in_one_sentence_without_retries(emulator, words, url):
    before = emulator.counts()["requests"]
    code, printed, complaint = run_command(emulator, *words, url)
    assert code == 1
    assert f"{url}/manifest.json" in printed + complaint
    assert "Traceback" not in complaint
    # The manifest, a conversion that is not finished, and what the error says of the folder, from its listing. Retries
    # would repeat all of these.
    assert emulator.counts()["requests"] - before <= 12


def test_a_missing_shard_stops_training_with_its_name_and_without_retries(emulator, tmp_path):
    words = command("remote_batches.py", f"gs://{BUCKET}/incomplete", tmp_path / "facts", GLOBAL_BATCH_SIZE, 1)
    before = emulator.counts()["requests"]
    process = Process(words, environment(**emulator.environment()), stderr=PIPE)
    _, error = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode != 0
    assert f"gs://{BUCKET}/incomplete/train-0000" in error
    # The indexes, and for each record that is read ahead one attempt and one read for the error.
    assert emulator.counts()["requests"] - before < 400


def test_requests_are_served_at_the_same_time(tmp_path):
    (tmp_path / BUCKET).mkdir()
    (tmp_path / BUCKET / "object").write_bytes(b"0123456789")
    with GcsEmulator(tmp_path, latency_seconds=2) as slow, ThreadPoolExecutor(24) as pool:
        assert list(pool.map(read_object, [slow] * 24)) == [b"0123456789"] * 24
        counts = slow.counts()
    assert (counts["requests"], counts["reads"], counts["read_bytes"]) == (24, 24, 240)
    assert counts["most_at_once"] >= 16  # all 24, but for those that a busy machine starts two seconds late


def test_all_requests_share_one_link_and_none_is_faster(tmp_path):
    (tmp_path / BUCKET).mkdir()
    (tmp_path / BUCKET / "object").write_bytes(bytes(100_000))
    with GcsEmulator(tmp_path, bytes_per_second=1_000_000) as slow, ThreadPoolExecutor(4) as pool:
        start = time.monotonic()
        list(pool.map(read_object, [slow] * 4))
        assert time.monotonic() - start >= 0.4  # a lower bound: 400 kB cannot arrive sooner


def read_object(emulator):
    address = emulator.environment()["CLOUD_STORAGE_EMULATOR_ENDPOINT"]
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{address}/{BUCKET}/object") as answer:
        return answer.read()
