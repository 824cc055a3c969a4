import errno
import io
import pickle
import platform
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest
from PIL import Image

from shardkit import images, naming
from shardkit.conversion.inventory.columns import Reject
from shardkit.conversion.planning import plan_file
from shardkit.conversion.writing import shard as writing
from shardkit.conversion.writing.output import finished_shards
from shardkit.conversion.writing.output.finished_shards import FailedShard, rejects_path
from shardkit.dataset import example, tfrecord
from shardkit.dataset.index.file import key_hashes, parse_index
from shardkit.errors import DataError, MachineError
from shardkit.options.groups import ConvertOptions
from shardkit.parallel import run_token
from shardkit.parallel.run_token import Fence, Run
from shardkit.sources import SourceOptions
from shardkit.sources.opening import open_source
from shardkit.storage import TEMPORARY, open_folder, retry
from shardkit.testing import files_of, picture, plan_without_beam, work_on, write_job, write_tree

FILES = {
    "cat/a.png": picture(1),
    "cat/\u732b \U0001f600.jpg": picture(2, kind="JPEG", width=30, height=20),
    "cat/wide.png": picture(3, width=64, height=16),
    "dog/b.bmp": picture(4, kind="BMP"),
    "dog/c.jpg": picture(5, kind="JPEG"),
    "dog/d.png": picture(6),
}


class Job:
    """A source planned, its shards to be written."""

    def __init__(self, root, files=FILES, **options):
        self.source_path, self.output_path = write_tree(root / "source", files), root / "out"
        # Two folders may be images and masks; a single one is a class here.
        is_one = len({path.partition("/")[0] for path in files}) == 1
        chosen = SourceOptions(layout="class-folders" if is_one else None)
        self.source, self.output = open_source(str(self.source_path), chosen), open_folder(str(self.output_path))
        self.output.create()
        self.plan = plan_without_beam(self.source, ConvertOptions.of(options))
        plan_file.write_rows(self.output, self.plan)
        self.tasks = plan_file.shard_tasks(self.plan)
        self.token = Run(self.output).start()

    def write(self, output=None):
        """Write all shards; those that failed."""
        job = write_job(self.source.folder, self.plan)
        written = [one for task in self.tasks for one in work_on(job.write, task, output or self.output, self.token)]
        return [one for one in written if isinstance(one, FailedShard)]

    def is_done(self, task):
        return finished_shards.find_finished_shard(self.output, task.name, self.plan.digest) is not None

    def late_rejects(self):
        return finished_shards.late_rejects(self.output, self.plan.digest)

    def shards(self):
        """Every file named like a shard or an index."""
        return {name: data for name, data in files_of(self.output).items() if naming.is_shard_file(name)}


@pytest.fixture
def job(tmp_path):
    return Job(tmp_path, shards=2)


def test_every_example_is_written_in_the_order_of_the_plan(job):
    job.write()
    keys = []
    for task in job.tasks:
        with job.output.open(task.name.records) as file:
            for _, data in tfrecord.read_records(file, name=task.name.records):
                keys += example.decode(data)["key"]
    assert [key.decode() for key in keys] == job.plan.rows(0, job.plan.num_examples)["key"].to_pylist()
    assert len(keys) == len(FILES)


def test_every_row_of_the_index_is_true(job):
    job.write()
    for task in job.tasks:
        shard = job.output.read(task.name.records)
        table, summary = parse_index(job.output.read(task.name.index), where="x")
        records = list(tfrecord.read_records(io.BytesIO(shard), name="x"))
        assert (summary.num_examples, summary.num_bytes) == (len(records), len(shard))
        for row, (offset, data) in zip(table.to_pylist(), records, strict=True):
            features = example.decode(data)
            raw = FILES[row["key"]]
            image = data[row["image_start"] : row["image_start"] + row["image_bytes"]]
            assert (row["offset"], row["length"]) == (offset, len(data))
            assert features["image"] == [image]
            assert features["key"] == [row["key"].encode()]
            assert features["label"] == [row["label"]]
            assert (features["height"], features["width"]) == ([row["height"]], [row["width"]])
            assert row["label_name"] == row["key"].split("/")[0] == job.plan.classes[row["label"]]
            assert row["format"] == images.inspect(image).format
            assert row["key_hash"] == key_hashes([row["key"]])[0]
            assert row["source_bytes"] == len(raw)
            assert row["group"] is None
            assert (image == raw) == (row["changes"] == "")
            assert row["changes"] == ("format:bmp" if row["key"].endswith(".bmp") else "")


def test_tensorflow_reads_what_is_written(job):
    import tensorflow as tf

    job.write()
    paths = [str(job.output_path / task.name.records) for task in job.tasks]
    spec = {
        "image": tf.io.FixedLenFeature([], tf.string),
        "key": tf.io.FixedLenFeature([], tf.string),
        **{name: tf.io.FixedLenFeature([], tf.int64) for name in ("label", "height", "width")},
    }
    found = set()
    for data in tf.data.TFRecordDataset(paths):
        features = tf.io.parse_single_example(data, spec)
        shape = tf.io.decode_image(features["image"]).shape
        assert shape[:2] == (features["height"], features["width"])
        found.add(features["key"].numpy().decode())
    assert found == set(FILES)


@pytest.mark.parametrize("options", [{}, {"resize": 5}, {"check": "header"}, {"size": (9, 5)}], ids=str)
def test_a_shard_written_twice_has_the_same_bytes(options, tmp_path):
    job = Job(tmp_path, shards=2, **options)
    job.write()
    first = job.shards()
    assert len(first) == 4
    for name in first:
        job.output.remove(name)
    job.write()
    assert job.shards() == first


def test_a_finished_shard_is_left_alone(job):
    job.write()
    times = {name: job.output.stat(name).mtime_ns for name in job.shards()}
    for path in job.source_path.rglob("*.png"):
        path.unlink()
    assert job.write() == []
    assert {name: job.output.stat(name).mtime_ns for name in job.shards()} == times


@pytest.mark.parametrize("ending", ["tfrecord", "index.parquet"])
def test_a_shard_of_which_one_file_is_missing_is_written_again(job, ending):
    job.write()
    before = job.shards()
    job.output.remove(f"{job.tasks[0].name.stem}.{ending}")
    assert not job.is_done(job.tasks[0])
    job.write()
    assert job.shards() == before


def test_the_index_comes_last_because_it_is_the_done_mark(job, monkeypatch):
    written = []
    kind = type(job.output)
    write = kind.atomic_write
    monkeypatch.setattr(
        kind, "atomic_write", lambda folder, path, **more: (written.append(path), write(folder, path, **more))[1]
    )
    job.write()
    assert written == [path for task in job.tasks for path in (task.name.records, task.name.index)]


def change_size(path):
    path.write_bytes(path.read_bytes() + b"x")


def change_a_byte(path):
    raw = bytearray(path.read_bytes())
    raw[-20] ^= 1
    path.write_bytes(raw)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (change_size, "the file has changed since it was checked"),
        (change_a_byte, "the file has changed since it was checked"),
        (lambda path: path.unlink(), "was good when it was checked and now cannot be read: No such file or directory"),
        (lambda path: (path.unlink(), path.mkdir()), "now cannot be read: Is a directory"),
        (lambda path: path.write_bytes(b""), "the file has changed since it was checked"),
    ],
)
def test_a_source_that_changed_is_reported_by_key_and_its_shard_not_written(job, change, sentence):
    change(job.source_path / "cat/a.png")
    (failed,) = job.write()
    assert failed.exit_code == DataError.exit_code == 1
    assert f"{job.source_path}/cat/a.png: " in failed.error
    assert sentence in failed.error
    assert failed.error.count("overwrite=True") == 1
    (bad,) = [task for task in job.tasks if not job.is_done(task)]
    assert not any(name.startswith(bad.name.stem) for name in files_of(job.output))
    assert not any(TEMPORARY in name for name in files_of(job.output))


LATE = {
    **FILES,
    "cat/empty.png": b"",
    "cat/text.png": b"no image at all",
    "dog/cut.jpg": picture(7, kind="JPEG")[:-30],
}


def test_under_header_check_bad_files_are_late_rejects_and_shrink_their_shard(tmp_path):
    job = Job(tmp_path, LATE, shards=2, check="header")
    (job.source_path / "dog/d.png").unlink()
    counted = finished_shards.LateRejectsCount(job.output, job.plan.digest)
    assert counted.count() == 0
    assert job.write() == []
    assert counted.count() == finished_shards.LateRejectsCount(job.output, job.plan.digest).count() == 4
    assert finished_shards.LateRejectsCount(job.output, "of another plan").count() == 0
    late = {one.key: one for one in job.late_rejects()}
    assert {key: one.reason for key, one in late.items()} == {
        "cat/empty.png": "empty",
        "cat/text.png": "not_an_image",
        "dog/cut.jpg": "truncated",
        "dog/d.png": "unreadable",
    }
    assert late["dog/cut.jpg"].source_bytes == len(LATE["dog/cut.jpg"])
    assert all(one.message for one in late.values())
    counts = [parse_index(job.output.read(task.name.index), where="x")[1].num_examples for task in job.tasks]
    assert sum(counts) == len(LATE) - 4


def test_a_shard_of_nothing_but_late_rejects_is_an_empty_shard(tmp_path):
    job = Job(tmp_path, {"cat/1.png": b"", "cat/2.png": b""}, check="header", shards=1)
    job.write()
    assert job.output.read(job.tasks[0].name.records) == b""
    table, summary = parse_index(job.output.read(job.tasks[0].name.index), where="x")
    assert (len(table), summary.num_examples, summary.num_bytes) == (0, 0, 0)


def test_the_late_rejects_are_reported_before_the_done_mark(tmp_path, monkeypatch):
    job = Job(tmp_path, LATE, shards=1, check="header")
    written = []
    kind = type(job.output)
    write = kind.atomic_write
    monkeypatch.setattr(
        kind, "atomic_write", lambda folder, path, **more: (written.append(path), write(folder, path, **more))[1]
    )
    job.write()
    name = job.tasks[0].name
    assert written.index(rejects_path(name)) < written.index(name.index)


FULL = """
import pickle, resource, sys
from shardkit.testing import work_on
job, output, task, token = pickle.load(sys.stdin.buffer)
resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 10, 4 << 10))  # 4 KiB
[failed] = work_on(job.write, task, output, token)
sys.stdout.buffer.write(pickle.dumps(failed))
"""


def test_a_disk_that_is_full_is_reported_as_the_machines_fault_and_no_part_is_left(tmp_path):
    job = Job(tmp_path, {"cat/1.png": picture(1, width=100, height=100)}, shards=1)
    write = write_job(job.source.folder, job.plan)
    task = pickle.dumps((write, job.output, job.tasks[0], job.token))
    done = subprocess.run([sys.executable, "-c", FULL], input=task, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    failed = pickle.loads(done.stdout)  # noqa: S301 - our own bytes
    assert failed.exit_code == MachineError.exit_code == 3
    assert failed.error.startswith(f"{job.output_path}/{failed.name.records}: cannot write: ")
    assert "File too large" in failed.error
    assert set(files_of(job.output)) == {plan_file.rows_path(0), run_token.PATH}


def test_an_image_that_passed_its_check_and_cannot_be_normalised_is_a_late_reject(job, monkeypatch):
    normalise = images.normalise

    def fail(data, info, form):
        if info.format == "BMP":
            raise images.BadImage("damaged", "The BMP is odd.")
        return normalise(data, info, form)

    monkeypatch.setattr(images, "normalise", fail)
    assert job.write() == []
    assert job.late_rejects() == [Reject("dog/b.bmp", "damaged", "The BMP is odd.", len(FILES["dog/b.bmp"]))]
    assert all(map(job.is_done, job.tasks))


@pytest.mark.parametrize("codec", ["PIL.Image.Image.save", "PIL.BmpImagePlugin.BmpImageFile.load"])
def test_whatever_a_codec_raises_rejects_one_image(codec, job, monkeypatch):
    def fail(*_, **__):
        msg = "list index out of range"
        raise IndexError(msg)

    monkeypatch.setattr(codec, fail)
    job.write()
    [late] = job.late_rejects()
    assert (late.key, late.reason) == ("dog/b.bmp", "damaged")
    assert "list index out of range" in late.message


def test_a_mask_that_cannot_be_read_rejects_its_image_where_nothing_was_checked_before(tmp_path):
    grey = io.BytesIO()
    Image.new("L", (8, 8)).save(grey, "PNG")
    files = {f"images/{i}.png": picture(i) for i in range(4)} | {f"masks/{i}.png": grey.getvalue() for i in range(4)}
    job = Job(tmp_path, files, shards=1, check="header")
    (job.source_path / "masks" / "2.png").unlink()
    assert job.write() == []
    [late] = job.late_rejects()
    assert (late.key, late.reason) == ("images/2.png", "unreadable")
    assert "masks/2.png" in late.message


def test_no_memory_is_the_machines_fault(job, monkeypatch):
    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr(images, "normalise", fail)
    assert {(one.exit_code, one.error.rpartition(": ")[2]) for one in job.write()} == {(3, "no memory left")}


@pytest.mark.parametrize("size", [0, 1, (1 << 20) - 17, (1 << 20) - 16, (1 << 20) - 4, 1 << 20, (1 << 20) + 1, 5 << 20])
def test_records_of_every_size_pass_the_blocks_whole(size, monkeypatch):
    file = io.BytesIO()
    hashed = writing.HashedWriter(file)
    blocks = io.BufferedWriter(hashed, writing.BLOCK_BYTES)
    records = [b"first", bytes(size), b"between", b"\1" * size, b"last"]
    for record in records:
        for part in tfrecord.frame(record):
            blocks.write(part)
    blocks.flush()
    data = file.getvalue()
    assert [record for _, record in tfrecord.read_records(io.BytesIO(data), name="x")] == records
    import hashlib

    assert hashed.sha256 == hashlib.sha256(data).hexdigest()


def test_resizing_is_told_in_the_index(tmp_path):
    job = Job(tmp_path, resize=10, shards=1)
    job.write()
    table, _ = parse_index(job.output.read(job.tasks[0].name.index), where="x")
    sizes = {row["key"]: (row["width"], row["height"], row["changes"]) for row in table.to_pylist()}
    assert sizes["cat/wide.png"] == (40, 10, "resized")
    assert sizes["cat/a.png"] == (8, 8, "")
    assert Counter(changes for *_, changes in sizes.values()) == {"": 3, "resized": 2, "format:bmp": 1}


def test_only_rejects_of_finished_shards_outlive_a_run(job):
    fence, rejects = Fence(job.output, job.token), [Reject(f"{number}", "empty", "it is 猫", 0) for number in range(2)]
    for task, reject in zip(job.tasks, rejects, strict=True):
        finished_shards.report(task, fence, [reject])
    assert job.late_rejects() == rejects
    finished_shards.remove_stale_reports(job.output, [job.tasks[1].name])
    assert job.late_rejects() == rejects[1:]


def test_reports_of_other_plans_and_temporary_files_are_ignored(job):
    task = replace(job.tasks[0], plan_digest="0" * 64)
    finished_shards.report(task, Fence(job.output, job.token), [Reject("a", "empty", "", 0)])
    write_tree(job.output_path, {f"{finished_shards.REPORTS}/{TEMPORARY}1-abc": b"to"})
    assert job.late_rejects() == []


def replaced(job):
    """Another run takes over."""
    Run(job.output).start()


def cancelled(job):
    """The driver removes the run's file: Ctrl-C, SIGTERM, failure."""
    job.output.remove(run_token.PATH)


def stopped(job):
    """Another worker of the run has failed."""
    Run(job.output, job.token).stop_workers()


@pytest.mark.parametrize("ended", [replaced, cancelled, stopped])
def test_a_worker_of_an_ended_run_writes_nothing_and_reports_nothing(ended, job):
    ended(job)
    before = files_of(job.output)
    job.write()
    assert files_of(job.output) == before


@pytest.mark.parametrize("ended", [replaced, cancelled])
@pytest.mark.parametrize("moment", ["within the shard", "before the rename"])
def test_a_run_that_ends_while_a_shard_is_written_leaves_no_part_of_it(moment, ended, job, monkeypatch):
    read, num_read = writing.read_image, []

    def reading(*arguments):
        num_read.append(1)
        if len(num_read) == 2:
            ended(job)
        return read(*arguments)

    monkeypatch.setattr(writing, "read_image", reading)
    monkeypatch.setattr(run_token, "CHECK_SECONDS", 0 if moment == "within the shard" else 1000)
    job.write()
    assert len(num_read) == (2 if moment == "within the shard" else job.plan.splits[0].shard_counts[0])
    assert job.shards() == {}
    assert not any(TEMPORARY in name or "shards/" in name for name in files_of(job.output))


def test_a_plan_of_another_run_is_not_written_from(job):
    other = plan_without_beam(job.source, ConvertOptions.of({"shards": 2, "seed": 1}))
    plan_file.write_rows(job.output, other)
    job.write()
    assert job.shards() == {}


def test_a_shard_of_another_plan_is_not_finished(job):
    job.write()
    assert all(map(job.is_done, job.tasks))
    names = [task.name for task in job.tasks]
    assert finished_shards.finished_shards(job.output, names, job.plan.digest) == set(names)
    assert finished_shards.finished_shards(job.output, names, "0" * 64) == set()
    write_tree(job.output_path, {names[0].index: b"torn"})
    assert finished_shards.finished_shards(job.output, names, job.plan.digest) == {names[1]}


def test_a_host_without_the_output_is_named(job):
    job.output.remove_tree(naming.WORK_FOLDER)
    with pytest.raises(MachineError, match=rf"{job.output_path}/\.shardkit: host {platform.node()} does not see"):
        job.write()


@pytest.mark.parametrize(("number", "is_passing"), [(errno.EIO, True), (None, True), (errno.EACCES, False)])
@pytest.mark.parametrize("place", ["read", "atomic_write"])
def test_errors_that_may_pass_are_tried_again_a_bounded_number_of_times(number, is_passing, place, job, monkeypatch):
    monkeypatch.setattr(retry, "PAUSES_SECONDS", (0, 0))
    kind, left = type(job.output), []
    call = getattr(kind, place)

    def failing(folder, path, **more):
        if path.endswith((".png", ".tfrecord")) and left:
            left.pop()
            raise OSError(number, "stumbled") if number else OSError("stumbled")
        return call(folder, path, **more)

    monkeypatch.setattr(kind, place, failing)
    for failures in (2, 3):
        left[:] = [1] * failures
        errors = [failed.error for failed in job.write()]
        if is_passing and failures == 2:
            assert errors == []
            assert all(map(job.is_done, job.tasks))
            for name in job.shards():
                job.output.remove(name)
        else:
            assert any("stumbled" in error for error in errors)
            return


def test_shards_go_to_an_object_store_the_same(job, s3_bucket):
    job.write()
    store = open_folder(f"{s3_bucket}/out")
    plan_file.write_rows(store, job.plan)
    job.token = Run(store).start()
    job.write(store)
    assert {name: data for name, data in files_of(store).items() if naming.is_shard_file(name)} == job.shards()
