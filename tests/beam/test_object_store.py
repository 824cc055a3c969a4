import contextlib
import os
import shutil
import subprocess
import sys

import pytest

from shardkit.storage import RemoteFolder, open_folder, retry
from shardkit.testing import digests_of, upload, write_class_folders

from ..cli.calling import TIMEOUT_SECONDS, call, convert, environment, without_progress

OPTIONS = ["--splits", "train=0.7,validation=0.3", "--split-by", "stratified", "--shards", "2"]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A small one: a request to the server costs more than a picture."""
    return write_class_folders(tmp_path_factory.mktemp("source"), {"ant": 9, "bee": 5})


@pytest.fixture(scope="module")
def dataset(source, tmp_path_factory):
    """The source converted on disk."""
    output = tmp_path_factory.mktemp("dataset") / "dataset"
    convert(source, output, *OPTIONS)
    return output


def test_a_dataset_in_an_object_store_has_the_bytes_of_one_on_disk_and_is_checked_and_shown_there(
    source, dataset, s3_bucket
):
    output = f"{s3_bucket}/deep/down/dataset"
    convert(source, output, *OPTIONS)
    wanted = digests_of(dataset)
    assert digests_of(output) == wanted
    assert call("verify", output, "--deep").stdout.startswith(f"{output}: no problems: 14 examples in 4 shards")
    assert f"{output}: dataset 'dataset', format 1" in call("info", output).stdout
    assert call("info", f"{output}/manifest.json").exit_code == 0
    assert "nothing to do" in convert(source, output, *OPTIONS)
    assert digests_of(output) == wanted


@pytest.mark.slow  # the same steps as in a local folder, with other requests
def test_an_append_in_an_object_store_writes_the_bytes_of_one_on_disk(dataset, s3_bucket, tmp_path):
    new = write_class_folders(tmp_path / "new", {"ant/new": 3, "cat": 6}, width=9)
    local, remote = shutil.copytree(dataset, tmp_path / "local"), f"{s3_bucket}/grown"
    upload(remote, dataset)
    for one in (local, remote):
        said = call("append", one, new)
        assert said.exit_code == 0, said.stderr
    logs = {"run-log.jsonl", "append-0001/run-log.jsonl"}
    assert digests_of(remote, but=logs) == digests_of(local, but=logs)
    (kept,) = (path.name for path in (local / "manifests").iterdir())
    pinned = f"{remote}@sha256:{kept.removesuffix('.json')}"
    assert call("verify", pinned).stdout.startswith(f"{remote}: no problems: 14 examples in 4 shards")
    assert "nothing to do" in call("append", remote, new).stderr
    assert call("verify", remote, "--leaks").stdout.startswith(f"{remote}: no problems: 23 examples")


@pytest.mark.parametrize("check", ["decode", pytest.param("header", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_a_source_in_an_object_store_gives_the_bytes_of_one_on_disk(check, source, s3_bucket, tmp_path):
    upload(f"{s3_bucket}/source", source)
    convert(source, tmp_path / "from-disk", *OPTIONS, "--check", check)
    convert(f"{s3_bucket}/source/", tmp_path / "from-store", *OPTIONS, "--check", check)
    assert digests_of(tmp_path / "from-store") == digests_of(tmp_path / "from-disk")


@pytest.mark.slow  # the same is tested on the other store
def test_source_and_output_may_lie_in_one_bucket_and_in_one_another(source, dataset, s3_bucket):
    upload(f"{s3_bucket}/data", source)
    convert(f"{s3_bucket}/data", f"{s3_bucket}/data/out", *OPTIONS)
    assert digests_of(f"{s3_bucket}/data/out") == digests_of(dataset)
    assert "nothing to do" in convert(f"{s3_bucket}/data", f"{s3_bucket}/data/out", *OPTIONS)
    assert "OUTPUT is SOURCE itself" in convert(f"{s3_bucket}/data", f"{s3_bucket}/data/", *OPTIONS, exit_code=2)


def test_an_interrupted_conversion_goes_on_in_the_store_and_nothing_partial_is_ever_there(
    source, dataset, s3_bucket, monkeypatch
):
    output = f"{s3_bucket}/dataset"
    writing, written = RemoteFolder.atomic_write, []

    class Torn:
        def __init__(self, file):
            self._file = file

        def write(self, data):
            self._file.write(data[: len(data) // 2])
            # Closing an open stream of pyarrow would publish that half.
            raise OSError(5, "the connection broke")

    @contextlib.contextmanager
    def dying(self, path, **more):
        is_dying = sum(name.endswith(".index.parquet") for name in written) >= 2
        if is_dying and not path.endswith(".tfrecord"):
            raise OSError(5, "the store is gone")
        with writing(self, path, **more) as file:
            yield Torn(file) if is_dying else file
        written.append(path)

    with monkeypatch.context() as patched:
        patched.setattr(RemoteFolder, "atomic_write", dying)
        patched.setattr(retry, "PAUSES_SECONDS", (0, 0))
        said = convert(source, output, *OPTIONS, "--workers", "1", exit_code=3)
    assert "the store is gone" in said or "the connection broke" in said
    assert "Traceback" not in said
    there = digests_of(output)
    assert "manifest.json" not in there
    wanted = digests_of(dataset)
    shards = {path: data for path, data in there.items() if not path.startswith(".shardkit/")}
    assert 4 <= len(shards) < len(wanted)
    assert shards.items() <= wanted.items(), "every object that is there is whole"
    assert call("verify", output).exit_code == 1
    assert "resuming: 2 of 4 shards" in convert(source, output, *OPTIONS)
    assert digests_of(output) == wanted


@pytest.mark.slow  # the same is tested on the other store
def test_a_different_dataset_in_the_store_is_refused_and_replaced_by_overwrite(source, dataset, s3_bucket):
    output = f"{s3_bucket}/dataset"
    convert(source, output, "--shards", "5")
    before = digests_of(output)
    said = convert(source, output, *OPTIONS, exit_code=1)
    assert "--shards was 5 and is 2" in said
    assert {path: data for path, data in digests_of(output).items() if not path.startswith(".shardkit/")} == before
    convert(source, output, *OPTIONS, "--overwrite")
    assert digests_of(output) == digests_of(dataset)


def test_a_changed_byte_in_the_store_is_found(source, s3_bucket):
    output = f"{s3_bucket}/dataset"
    convert(source, output, "--shards", "2")
    folder = open_folder(output)
    data = bytearray(folder.read("train-00001-of-00002.tfrecord"))
    data[100] ^= 1
    with folder.atomic_write("train-00001-of-00002.tfrecord") as file:
        file.write(data)
    result = call("verify", output)
    assert result.exit_code == 1
    assert "train-00001-of-00002.tfrecord, record 0" in result.stdout


@pytest.mark.parametrize(("command", "exit_code"), [("plan", 2), ("info", 1), ("verify", 1), ("convert", 2)])
def test_a_bucket_that_is_not_there_is_said_in_a_sentence(command, exit_code, s3_bucket, tmp_path):
    result = call(command, "s3://no-such-bucket-here/data", *([tmp_path / "out"] if command == "convert" else []))
    assert result.exit_code == exit_code
    assert "no-such-bucket-here" in result.output
    assert "Traceback" not in result.output


def test_an_output_in_a_bucket_that_is_not_there_is_said_in_a_sentence(source, s3_bucket):
    said = convert(source, "s3://no-such-bucket-here/out", exit_code=3)
    assert "no-such-bucket-here" in said
    assert len(said.splitlines()) <= 3


def test_a_process_ends_cleanly_after_using_a_store(source, s3_bucket):
    # pyarrow's S3 threads have kept processes from ending.
    done = subprocess.run(
        [sys.executable, "-m", "shardkit", "convert", str(source), f"{s3_bucket}/dataset"],
        env=environment(**{name: value for name, value in os.environ.items() if name.startswith("AWS_")}),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert without_progress(done.stderr) == [f"{source}: read as <label>/…/image"]


@pytest.mark.slow  # the same is tested on the other store
def test_odd_keys_survive_the_store(tmp_path, s3_bucket):
    source = write_class_folders(tmp_path / "source", {"größe 1+1=2": 2, "猫&?#%20": 3})
    upload(f"{s3_bucket}/source", source)
    convert(source, tmp_path / "from-disk")
    convert(f"{s3_bucket}/source", f"{s3_bucket}/out+put=1")
    assert digests_of(f"{s3_bucket}/out+put=1") == digests_of(tmp_path / "from-disk")


def test_a_url_that_cannot_be_read_is_refused_with_a_sentence(source, s3_bucket):
    said = convert(source, f"{s3_bucket}/out put", exit_code=2)
    assert f"{s3_bucket}/out put" in said
