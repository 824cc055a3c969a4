"""Conversions from and to an S3 store that fails: the right bytes, or a sentence and exit code 3, in a limited time."""

import json
import time

import pytest

from shardkit.parallel import run_token
from shardkit.storage import amazon, open_folder, retry
from shardkit.testing import digests_of, files_of, upload, write_class_folders

from ..cli.calling import call, convert, is_one_sentence, run
from .crashing import start_until

OPTIONS = ["--layout", "class-folders", "--shards", "2", "--max-rejected", "40%"]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return write_class_folders(tmp_path_factory.mktemp("source"), {"ant": 3, "bee": 2})


@pytest.fixture(scope="module")
def dataset(source, tmp_path_factory):
    """The source's dataset on disk."""
    output = tmp_path_factory.mktemp("dataset") / "OUT"
    convert(source, output, *OPTIONS)
    return output


@pytest.fixture
def stored(source, s3_bucket, monkeypatch):
    """The URL of the source in a bucket; who waits for the store does so for a short time."""
    monkeypatch.setattr(amazon, "MAX_ATTEMPTS", 2)
    monkeypatch.setattr(retry, "PAUSES_SECONDS", (0, 0))
    upload(f"{s3_bucket}/photos", source)
    return f"{s3_bucket}/photos"


def refused(said):
    """Whether the error is one sentence with a remedy, about a file in a store."""
    return is_one_sentence(said) and "Error: s3://" in said and said.rstrip().endswith("run the same command again")


def test_what_passes_changes_no_byte(dataset, stored, s3_bucket, s3_server):
    s3_server.fail("GET [^?]*/ant/", times=1, status=503, code="SlowDown")
    s3_server.fail("GET [^?]*/bee/", times=1, cuts=True)
    s3_server.fail("HEAD", after=20, every=25, resets=True)
    s3_server.fail("PUT", after=5, every=20, status=500, code="InternalError")
    s3_server.fail(" copy", after=3, times=1, status=200, code="InternalError")
    s3_server.fail("list-type", after=5, times=1, status=503, code="SlowDown")
    s3_server.fail("DELETE", after=5, times=1, resets=True)
    s3_server.fail("", every=40, seconds=0.2)
    before = s3_server.num_failed()
    convert(stored, f"{s3_bucket}/OUT", *OPTIONS)
    assert s3_server.num_failed() - before > 10
    s3_server.recover()
    assert digests_of(f"{s3_bucket}/OUT") == digests_of(dataset)


@pytest.mark.parametrize("check", ["decode", pytest.param("header", marks=pytest.mark.slow)])
def test_an_image_that_the_store_does_not_give_is_not_left_out(stored, s3_server, tmp_path, check):
    """Two of five rejected images would be tolerated."""
    s3_server.fail("GET [^?]*/ant/001", status=503, code="SlowDown")
    said = convert(stored, tmp_path / "OUT", *OPTIONS, "--check", check, exit_code=3)
    assert refused(said), said
    assert "photos/ant/001.png: the store is overloaded" in said
    assert not (tmp_path / "OUT/manifest.json").exists()


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        pytest.param("GET [^?]*/photos/(ant|bee)/", "s3:GetObject", marks=pytest.mark.slow),
        ("list-type.*photos", "s3:ListBucket"),
        pytest.param("PUT .*/OUT/", "s3:PutObject", marks=pytest.mark.slow),
        pytest.param("DELETE .*/OUT/", "s3:DeleteObject", marks=pytest.mark.slow),
    ],
)
def test_a_permission_that_is_missing_is_named(stored, s3_bucket, s3_server, pattern, named):
    s3_server.fail(pattern, status=403, code="AccessDenied")
    said = convert(stored, f"{s3_bucket}/OUT", *OPTIONS, exit_code=3)
    assert refused(said), said
    assert named in said
    s3_server.recover()
    assert not any(name.endswith((".json", ".parquet", ".tfrecord")) for name in names(f"{s3_bucket}/OUT"))


def names(url):
    return {entry.name for entry in open_folder(url).scan() if not entry.name.startswith(".")}


# Of some 300 requests: in the inventory, while shards are written, while they are published.
@pytest.mark.slow
@pytest.mark.parametrize("after", range(10, 300, 29))
def test_credentials_that_expire_end_the_run_and_the_next_one_resumes(
    stored, dataset, s3_bucket, s3_server, monkeypatch, after
):
    output = f"{s3_bucket}/OUT"
    started = time.monotonic()
    s3_server.fail("", after=after, status=400, code="ExpiredToken")
    said = convert(stored, output, *OPTIONS, exit_code=3)
    assert "Traceback" not in said
    assert "expired or are not valid" in said
    assert "renew them" in said
    assert time.monotonic() - started < 120
    s3_server.recover()
    found = digests_of(output)
    assert "manifest.json" not in found
    assert {name: one for name, one in found.items() if not name.startswith(".")}.items() <= digests_of(dataset).items()
    # The run could not remove its own token.
    monkeypatch.setattr(run_token, "STALE_SECONDS", 0.0)
    convert(stored, output, *OPTIONS)
    assert digests_of(output) == digests_of(dataset)


@pytest.mark.slow
def test_a_store_that_is_gone_ends_the_run(stored, s3_bucket, s3_server):
    s3_server.fail("", after=150, resets=True)
    said = convert(stored, f"{s3_bucket}/OUT", *OPTIONS, exit_code=3)
    assert "the store does not answer" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("words", [["verify"], ["info"], pytest.param(["plan"], marks=pytest.mark.slow)])
def test_other_commands_say_it_too(stored, s3_server, words):
    s3_server.fail("", status=403, code="AccessDenied")
    result = call(*words, stored)
    assert result.exit_code == 3
    assert refused(result.stderr), result.output


def test_verify_does_not_call_a_dataset_damaged_that_the_store_does_not_give(
    dataset, s3_bucket, s3_server, monkeypatch
):
    monkeypatch.setattr(retry, "PAUSES_SECONDS", (0, 0))
    monkeypatch.setattr(amazon, "MAX_ATTEMPTS", 1)
    upload(f"{s3_bucket}/OUT", dataset)
    s3_server.fail("GET .*tfrecord", status=503, code="SlowDown")
    result = call("verify", f"{s3_bucket}/OUT")
    assert result.exit_code == 3
    assert refused(result.stderr), result.output


@pytest.mark.slow  # two minutes, in which the second run waits as a user would
def test_of_two_runs_the_second_is_refused_until_the_first_is_dead_for_two_minutes(s3_bucket, s3_server, tmp_path):
    source = write_class_folders(tmp_path / "many", {"ant": 40, "bee": 20})
    output, options = f"{s3_bucket}/OUT", ["--shards", "12", "--workers", "1"]
    convert(source, tmp_path / "wanted", *options)
    s3_server.fail("PUT .*tfrecord", seconds=1)  # the first run takes a while

    def finished():
        return [name for name in names(output) if name.endswith(".index.parquet")]

    first = start_until(lambda: len(finished()) >= 2, "convert", source, output, *options)
    refusal = run("convert", source, output, *options)
    assert refusal.returncode == 3
    assert "another shardkit is writing into this folder" in refusal.stderr
    first.kill()
    first.communicate()
    s3_server.recover()
    killed, there = time.monotonic(), files_of(output)
    assert json.loads(there[run_token.PATH])["process"] == first.pid
    while (done := run("convert", source, output, *options)).returncode == 3:
        assert "another shardkit is writing into this folder" in done.stderr
        assert time.monotonic() - killed < run_token.STALE_SECONDS + 30
        time.sleep(5)
    assert done.returncode == 0, done.stderr
    assert "resuming: " in done.stderr
    assert time.monotonic() - killed > run_token.STALE_SECONDS - run_token.HEARTBEAT_SECONDS - 2
    assert digests_of(output) == digests_of(tmp_path / "wanted")
