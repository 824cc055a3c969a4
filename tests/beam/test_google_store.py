"""Conversions to and from gs://, by pyarrow's own client against a server on this machine."""

import contextlib
import os
import re
import shutil

import pytest

from shardkit.parallel import run_token
from shardkit.storage import RemoteFolder, google, remote, retry
from shardkit.testing import digests_of, write_class_folders

from ..cli.calling import call, convert, environment, is_one_sentence, run
from ..storage.gcs.fixtures import bucket, google_server
from .crashing import finished_shards, start_until

__all__ = ["bucket", "google_server"]

OPTIONS = ["--splits", "train=0.7,validation=0.3", "--split-by", "stratified", "--shards", "2"]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return write_class_folders(tmp_path_factory.mktemp("source"), {"ant": 9, "bee": 5})


@pytest.fixture(scope="module")
def dataset(source, tmp_path_factory):
    """The source converted on disk."""
    output = tmp_path_factory.mktemp("dataset") / "dataset"
    convert(source, output, *OPTIONS)
    return output


@pytest.fixture
def impatient(monkeypatch):
    """What fails is tried again for a second only; the client takes no less."""
    monkeypatch.setattr(google, "RETRY_SECONDS", 1)


def published(bucket):
    """Names of the objects that users see: without those of the work that goes on."""
    names = (name.removeprefix("out/") for name in bucket.objects())
    return {name for name in names if not name.startswith(".shardkit")}


def test_a_dataset_on_gs_has_the_bytes_of_one_on_disk_and_is_checked_and_shown_there(source, dataset, bucket):
    output = f"{bucket.url}/deep/down/dataset"
    convert(source, output, *OPTIONS)
    there = bucket.folder / "deep/down/dataset"
    assert digests_of(there) == digests_of(dataset)
    assert (there / "run-log.jsonl").is_file()
    assert call("verify", output).stdout.startswith(f"{output}: no problems: 14 examples in 4 shards")
    assert "every image decoded" in call("verify", output, "--deep").stdout
    assert "no image in two splits" in call("verify", output, "--leaks").stdout
    assert f"{output}: dataset 'dataset', format 1" in call("info", output).stdout
    assert call("info", f"{output}/manifest.json").exit_code == 0
    assert "nothing to do" in convert(source, output, *OPTIONS)
    assert digests_of(there) == digests_of(dataset)
    assert bucket.server.counts()["unfinished"] == 0


@pytest.mark.parametrize("check", ["decode", pytest.param("header", marks=pytest.mark.slow)])
def test_a_source_on_gs_gives_the_bytes_of_one_on_disk(check, source, bucket, tmp_path):
    shutil.copytree(source, bucket.folder / "source")
    convert(source, tmp_path / "from-disk", *OPTIONS, "--check", check)
    convert(f"{bucket.url}/source/", tmp_path / "from-store", *OPTIONS, "--check", check)
    assert digests_of(tmp_path / "from-store") == digests_of(tmp_path / "from-disk")


def test_a_source_with_split_folders_is_told_apart_on_gs(bucket, tmp_path):
    source = write_class_folders(
        tmp_path / "source", {"train/ant": 4, "train/bee": 3, "validation/ant": 2, "validation/bee": 2}
    )
    shutil.copytree(source, bucket.folder, dirs_exist_ok=True)
    assert "<split>/<label>" in convert(bucket.url, tmp_path / "from-store")
    convert(source, tmp_path / "from-disk")
    assert digests_of(tmp_path / "from-store") == digests_of(tmp_path / "from-disk")


def test_source_and_output_may_lie_in_one_bucket_and_in_one_another(source, dataset, bucket):
    shutil.copytree(source, bucket.folder / "data")
    url = f"{bucket.url}/data"
    convert(url, f"{url}/out", *OPTIONS)
    assert digests_of(bucket.folder / "data/out") == digests_of(dataset)
    assert "nothing to do" in convert(url, f"{url}/out", *OPTIONS)
    assert "OUTPUT is SOURCE itself" in convert(url, f"{url}/", *OPTIONS, exit_code=2)


def test_an_output_folder_that_a_console_made_is_empty(source, dataset, bucket):
    (bucket.folder / "out").mkdir()
    (bucket.folder / "out/.folder-object").write_bytes(b"")
    convert(source, f"{bucket.url}/out", *OPTIONS)
    assert digests_of(bucket.folder / "out", but=("run-log.jsonl", ".folder-object")) == digests_of(dataset)


def test_odd_names_survive_the_store(tmp_path, bucket):
    source = write_class_folders(tmp_path / "source", {"größe 1+1=2": 2, "猫&?#%20": 3})
    shutil.copytree(source, bucket.folder / "source")
    convert(source, tmp_path / "from-disk")
    convert(f"{bucket.url}/source", f"{bucket.url}/out+put=1")
    assert digests_of(bucket.folder / "out+put=1") == digests_of(tmp_path / "from-disk")


def test_a_different_dataset_on_gs_is_refused_and_replaced_by_overwrite(source, dataset, bucket):
    output = f"{bucket.url}/out"
    convert(source, output, "--shards", "5")
    before = digests_of(bucket.folder / "out", but=())
    assert "--shards was 5 and is 2" in convert(source, output, *OPTIONS, exit_code=1)
    assert digests_of(bucket.folder / "out", but=()) == before
    convert(source, output, *OPTIONS, "--overwrite")
    assert digests_of(bucket.folder / "out") == digests_of(dataset)


def test_files_of_somebody_else_are_left_alone(source, bucket):
    (bucket.folder / "out").mkdir()
    (bucket.folder / "out/thesis.txt").write_bytes(b"years")
    assert "'thesis.txt'" in convert(source, f"{bucket.url}/out", *OPTIONS, "--overwrite", exit_code=2)
    assert bucket.objects() == {"out/thesis.txt"}


@pytest.mark.slow  # the same is tested on the other store
def test_a_changed_byte_on_gs_is_found(source, bucket):
    output = f"{bucket.url}/out"
    convert(source, output, "--shards", "2")
    shard = bucket.folder / "out/train-00001-of-00002.tfrecord"
    data = bytearray(shard.read_bytes())
    data[100] ^= 1
    shard.write_bytes(data)
    result = call("verify", output)
    assert result.exit_code == 1
    assert "train-00001-of-00002.tfrecord, record 0" in result.stdout


def test_an_interrupted_conversion_goes_on_from_its_finished_shards(source, dataset, bucket, monkeypatch):
    output = f"{bucket.url}/out"
    writing, written = RemoteFolder.atomic_write, []

    @contextlib.contextmanager
    def dying(self, path, **more):
        if sum(name.endswith(".index.parquet") for name in written) >= 2:
            raise OSError(5, "the store is gone")
        with writing(self, path, **more) as file:
            yield file
        written.append(path)

    with monkeypatch.context() as patched:
        patched.setattr(RemoteFolder, "atomic_write", dying)
        patched.setattr(retry, "PAUSES_SECONDS", (0, 0))
        said = convert(source, output, *OPTIONS, "--workers", "1", exit_code=3)
    assert "the store is gone" in said
    there = {path: digest for path, digest in digests_of(bucket.folder / "out").items() if not path.startswith(".")}
    assert len(there) == 4, "two shards and their indexes"
    assert there.items() <= digests_of(dataset).items()
    assert call("verify", output).exit_code == 1
    assert "resuming: 2 of 4 shards" in convert(source, output, *OPTIONS)
    assert digests_of(bucket.folder / "out") == digests_of(dataset)


def process_environment(bucket):
    variables = bucket.server.environment()
    return environment(**{name: value for name, value in variables.items() if not name.lower().startswith("https_")})


@pytest.mark.slow  # interrupted in this process above; test_killing kills real processes that write to a disk
def test_a_killed_conversion_goes_on_from_its_finished_shards(bucket, tmp_path):
    source = write_class_folders(tmp_path / "source", {"ant": 40, "bee": 20}, width=120, height=90)
    options = ["--shards", "12", "--workers", "2"]
    convert(source, tmp_path / "wanted", *options)

    def finished():
        return [name for name in published(bucket) if name.endswith(".index.parquet")]

    process = start_until(
        lambda: len(finished()) >= 3, "convert", source, f"{bucket.url}/out", *options, env=process_environment(bucket)
    )
    process.kill()
    process.communicate()
    assert "manifest.json" not in published(bucket), "it had ended already"
    wanted, there = digests_of(tmp_path / "wanted"), digests_of(bucket.folder / "out")
    assert all(there[name] == wanted[name] for name in published(bucket))
    before, num = finished_shards(bucket.folder / "out"), len(finished())
    refused = run("convert", source, f"{bucket.url}/out", *options, env=process_environment(bucket))
    assert refused.returncode == 3
    assert "another shardkit is writing into this folder" in refused.stderr
    token = bucket.folder / "out" / run_token.PATH
    long_ago = token.stat().st_mtime - run_token.STALE_SECONDS
    os.utime(token, (long_ago, long_ago))
    done = run("convert", source, f"{bucket.url}/out", *options, env=process_environment(bucket))
    # Threads of pyarrow's have kept processes from ending.
    assert done.returncode == 0, done.stderr
    went_on = re.search(r"resuming: (\d+) of 12 shards", done.stderr)
    # What was asked for when the signal came, one shard a worker, the server may have done after it.
    assert num <= int(went_on[1]) <= num + 2
    assert len(done.stderr.splitlines()) == 2
    assert before.items() <= finished_shards(bucket.folder / "out").items(), "a finished shard was written again"
    assert digests_of(bucket.folder / "out") == wanted


@pytest.fixture(scope="module")
def large_source(tmp_path_factory):
    """Shards of three parts of an upload, when those are small."""
    return write_class_folders(tmp_path_factory.mktemp("large"), {"ant": 3, "bee": 3}, width=300, height=300)


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(remote, "UPLOAD_BYTES", 256 << 10)  # 256 KiB, the store's least


@pytest.mark.usefixtures("small_parts")
def test_an_upload_that_breaks_in_the_middle_is_taken_up_again(large_source, bucket, tmp_path):
    convert(large_source, tmp_path / "wanted", "--shards", "2")
    bucket.server.fail(r"PUT .* bytes 262144-", status=0, times=1)
    before = bucket.server.counts()["failed"]
    convert(large_source, f"{bucket.url}/out", "--shards", "2", "--workers", "1")
    assert bucket.server.counts()["failed"] - before == 1
    assert digests_of(bucket.folder / "out") == digests_of(tmp_path / "wanted")


@pytest.mark.usefixtures("small_parts", "impatient")
@pytest.mark.slow
def test_a_shard_whose_upload_fails_for_ever_is_not_there_in_part(large_source, bucket, tmp_path):
    convert(large_source, tmp_path / "wanted", "--shards", "2")
    bucket.server.fail(r"PUT .* bytes 262144-", status=0)
    said = convert(large_source, f"{bucket.url}/out", "--shards", "2", "--workers", "1", exit_code=3)
    assert is_one_sentence(said), said
    assert f"{bucket.url}/out/train-0000" in said
    assert published(bucket) == set()
    bucket.server.recover()
    convert(large_source, f"{bucket.url}/out", "--shards", "2", "--workers", "1")
    assert digests_of(bucket.folder / "out") == digests_of(tmp_path / "wanted")


@pytest.mark.usefixtures("impatient")
def test_an_object_that_cannot_be_moved_to_its_name_is_not_there(source, dataset, bucket):
    name = "train-00000-of-00002.index.parquet"
    bucket.server.fail(f"rewriteTo/.*/{name}", status=503)
    said = convert(source, f"{bucket.url}/out", *OPTIONS, exit_code=3)
    assert is_one_sentence(said), said
    assert "Backend Error" in said
    assert name not in published(bucket)
    assert "manifest.json" not in published(bucket)
    bucket.server.recover()
    assert "resuming: 3 of 4 shards" in convert(source, f"{bucket.url}/out", *OPTIONS)
    assert digests_of(bucket.folder / "out") == digests_of(dataset)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("pattern", "status", "found"),
    [
        ("POST /upload/", 403, "testing@example.com does not have access"),
        ("POST /upload/", 503, "Backend Error"),
        ("", 403, "testing@example.com does not have access"),
        ("", 401, "an error"),
        ("", 503, "Backend Error"),
        ("", 0, "Server returned nothing"),
    ],
)
def test_a_store_that_refuses_is_said_in_a_sentence(source, bucket, pattern, status, found):
    bucket.server.fail(pattern, status=status)
    before = bucket.server.counts()["failed"]
    said = convert(source, f"{bucket.url}/out", *OPTIONS, exit_code=3)
    assert is_one_sentence(said), said
    assert f"{bucket.url}/out" in said
    assert found in said
    assert bucket.objects() == set()
    # Each of them is tried for a minute, really.
    assert bucket.server.counts()["failed"] - before <= 4


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("command", "status"), [("plan", 403), ("info", 403), ("verify", 403), ("convert", 403), ("info", 503)]
)
def test_what_cannot_be_read_is_said_in_a_sentence(bucket, tmp_path, command, status):
    bucket.server.fail("", status=status)
    result = call(command, f"{bucket.url}/data", *([tmp_path / "out"] if command == "convert" else []))
    assert result.exit_code == 3
    assert is_one_sentence(result.stderr), result.output
    assert bucket.url in result.stderr


@pytest.mark.usefixtures("impatient")
def test_without_credentials_a_sentence_says_so(bucket, monkeypatch):
    monkeypatch.setenv("GCE_METADATA_ROOT", "127.0.0.1:1")  # nobody there, as on a machine that is not Google's
    result = call("info", f"{bucket.url}/data")
    assert result.exit_code == 3
    assert is_one_sentence(result.stderr), result.output
    assert "authentication" in result.stderr


@pytest.mark.parametrize(("command", "exit_code"), [("plan", 2), ("info", 1), ("verify", 1), ("convert", 2)])
def test_a_bucket_that_is_not_there_is_said_in_a_sentence(command, exit_code, bucket, tmp_path):
    result = call(command, "gs://no-such-bucket-here/data", *([tmp_path / "out"] if command == "convert" else []))
    assert result.exit_code == exit_code
    assert "no-such-bucket-here" in result.output
    assert "Traceback" not in result.output


def test_an_output_in_a_bucket_that_is_not_there_is_said_in_a_sentence(source, bucket):
    said = convert(source, "gs://no-such-bucket-here/out", exit_code=3)
    assert is_one_sentence(said), said
    assert "no-such-bucket-here" in said
    assert "The specified bucket does not exist" in said


def test_a_url_that_cannot_be_read_is_refused_with_a_sentence(source, bucket):
    said = convert(source, f"{bucket.url}/out put", exit_code=2)
    assert f"{bucket.url}/out put" in said
    assert "retry_limit_seconds" not in said, "the user did not write that"
