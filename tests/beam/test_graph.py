"""What passes through Beam: names, paths and rows of an inventory's batch; never an image, never a plan."""

import builtins
import itertools
import os
import threading
from collections import Counter
from functools import partial

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.portability import common_urns
from apache_beam.portability.api import beam_runner_api_pb2
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.portability.fn_api_runner.execution import GroupingBuffer
from apache_beam.testing.util import assert_that

from shardkit import images
from shardkit.beam import CheckImages, ConvertImages, Example, ReadAllImages, ReadDataset, ReadImages, WriteDataset
from shardkit.beam.conversion import convert_task, take_inventory, work_on_each
from shardkit.beam.exchanges import SpreadAgain
from shardkit.conversion.planning import plan_file
from shardkit.conversion.writing import shard as writing
from shardkit.conversion.writing.inventory_tasks import DECODE_BATCH_ROWS
from shardkit.conversion.writing.job import ConversionTask, InventoryTask
from shardkit.dataset.manifest import read_manifest
from shardkit.errors import DataError
from shardkit.options.groups import ConvertOptions
from shardkit.parallel.driver_view import DriverView
from shardkit.parallel.for_each import Guard
from shardkit.parallel.run_token import Run
from shardkit.sources.opening import open_source
from shardkit.storage import open_folder
from shardkit.testing import picture, plan_without_beam, write_job, write_tree
from shardkit.verification.dataset import CheckJob
from shardkit.verification.examples import ExampleSpec

from ..cli.calling import IN_PROCESS_RUNNER, call

RESHUFFLE = common_urns.composites.RESHUFFLE.urn
IMAGE_SIDE = 80  # pixels: noise of that size takes 15 kB
NUM_IMAGES = 40


@pytest.fixture(autouse=True)
def cheap_pickles():
    """Graphs are as large here as they are sent: compressed."""


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    """Two classes of pictures that are large against their names."""
    files = {
        f"{'ab'[i % 2]}/{i:03d}.jpg": picture(i, width=IMAGE_SIDE, height=IMAGE_SIDE, kind="JPEG")
        for i in range(NUM_IMAGES)
    }
    return write_tree(tmp_path_factory.mktemp("photographs"), files)


@pytest.fixture
def shuffled(monkeypatch):
    """Encoded bytes of everything that was grouped while the test runs: all that a cluster would send and store."""
    append, sizes = GroupingBuffer.append, []

    def noting(self, elements_data):
        sizes.append(len(elements_data))
        append(self, elements_data)

    monkeypatch.setattr(GroupingBuffer, "append", noting)
    return sizes


@pytest.mark.parametrize("check", ["decode", pytest.param("header", marks=pytest.mark.slow)])
def test_no_image_bytes_cross_a_shuffle_while_converting(check, photographs, shuffled, tmp_path):
    num_bytes = sum(path.stat().st_size for path in photographs.rglob("*.jpg"))
    result = call("convert", photographs, tmp_path / "out", "--shards", "4", "--check", check, IN_PROCESS_RUNNER)
    assert result.exit_code == 0, result.output
    assert len(shuffled) >= 3, "parts, names and shards pass by"
    assert 0 < sum(shuffled) < num_bytes / 10


def test_no_image_bytes_cross_a_shuffle_while_verifying(photographs, shuffled, tmp_path):
    assert call("convert", photographs, tmp_path / "out", "--shards", "4").exit_code == 0
    shuffled.clear()
    assert call("verify", tmp_path / "out", "--deep", IN_PROCESS_RUNNER).exit_code == 0
    assert 0 < sum(shuffled) < 4000


def graph_bytes(pcoll):
    """Size of the graph that a runner is sent."""
    return len(pcoll.pipeline.to_runner_api().SerializeToString())


def task_of(root, output, check="decode"):
    guard = Guard(open_folder(str(output)), "x", DriverView.of([open_folder(str(root))]))
    guard.folder.create()
    return InventoryTask.of(open_source(str(root)), guard, ConvertOptions(check=check), None, is_explicit=True)


def made(transform, task):
    return transform(beam.Pipeline(FnApiRunner()) | beam.Create([task], reshuffle=False))


def test_the_graph_of_the_inventory_grows_with_folders_and_not_with_files(tmp_path):
    sizes = []
    for num_files in (2, 500):
        files = {f"{'a' if i else 'b'}/{i}.png": b"" for i in range(num_files)}
        task = task_of(write_tree(tmp_path / str(num_files).zfill(3), files), tmp_path / "out")
        sizes.append(graph_bytes(made(take_inventory, task)))
    assert abs(sizes[1] - sizes[0]) < 100
    assert sizes[1] < 150_000  # Dataflow takes 10 MB


def num_reshuffles(pipeline):
    transforms = pipeline.to_runner_api().components.transforms.values()
    return sum(one.spec.urn == RESHUFFLE for one in transforms)


def steps_of(transforms, name):
    """The steps of a transform in a graph, as Flink sees them: a Reshuffle is one."""
    one = transforms[name]
    if one.spec.urn == RESHUFFLE or not one.subtransforms:
        return [one]
    return [step for inner in one.subtransforms for step in steps_of(transforms, inner)]


def idle_reshuffles(pipeline):
    """Pairs of Reshuffles with no GroupByKey between: Flink leaves out the second one."""
    graph = pipeline.to_runner_api()
    steps = [step for root in graph.root_transform_ids for step in steps_of(graph.components.transforms, root)]
    # A transform without steps of its own may give what it gets.
    made_by = {out: step for step in steps for out in {*step.outputs.values()} - {*step.inputs.values()}}

    def before(step):
        """The Reshuffles that what a step gets has passed last; side inputs are copied to all workers."""
        is_pardo = step.spec.urn == common_urns.primitives.PAR_DO.urn
        payload = beam_runner_api_pb2.ParDoPayload.FromString(step.spec.payload) if is_pardo else None
        for tag, read in step.inputs.items():
            if payload is None or tag not in payload.side_inputs:
                made = made_by[read]
                if made.spec.urn == RESHUFFLE:
                    yield made.unique_name
                elif made.spec.urn != common_urns.primitives.GROUP_BY_KEY.urn:
                    yield from before(made)

    return [(first, step.unique_name) for step in steps if step.spec.urn == RESHUFFLE for first in before(step)]


def read_and_write(pipeline, reader):
    read = pipeline | reader.with_rejects()
    return read.examples | CheckImages() | WriteDataset("out", source=read.source, rejects=read.rejects)


PIPELINES = {
    "ReadImages": lambda pipeline: read_and_write(pipeline, ReadImages("nothing here")),
    "ReadAllImages": lambda pipeline: pipeline | beam.Create(["nothing here"]) | ReadAllImages(),
    "ReadDataset": lambda pipeline: pipeline | ReadDataset("nothing here", "train"),
    "ConvertImages": lambda pipeline: pipeline | ConvertImages("nothing here", "out"),
    "convert": lambda pipeline: convert_task(beginning_of(pipeline)),
    "plan": lambda pipeline: take_inventory(beginning_of(pipeline)),
    "verify": lambda pipeline: work_on_each(beginning_of(pipeline), "Work", print),
}


def beginning_of(pipeline):
    return pipeline | beam.Create([None], reshuffle=False).with_output_types(ConversionTask)


@pytest.mark.parametrize("name", PIPELINES)
def test_no_reshuffle_is_behind_another_one_with_nothing_grouped_between(name):
    pipeline = beam.Pipeline(FnApiRunner())
    _ = PIPELINES[name](pipeline)
    assert num_reshuffles(pipeline) > 0
    assert idle_reshuffles(pipeline) == []


def test_reshuffles_that_flink_leaves_out_are_found():
    pipeline = beam.Pipeline(FnApiRunner())
    once = pipeline | beam.Create([1], reshuffle=False) | "First" >> beam.Reshuffle() | beam.Map(print)
    _ = once | "Second" >> beam.Reshuffle()
    _ = once | SpreadAgain()
    assert idle_reshuffles(pipeline) == [("First", "Second")]


def test_groups_batches_and_shards_are_rebalanced(tmp_path):
    # Grouping hashes the keys: 4 workers got 2, 8, 4 and 2 of 16 shards. See tests/engines for what they get.
    task = task_of(write_tree(tmp_path / "source", {"a/1.png": b"", "b/2.png": b""}), tmp_path / "out")
    assert num_reshuffles(made(take_inventory, task).pipeline) == 2
    assert num_reshuffles(made(convert_task, task).pipeline) == 3
    assert num_reshuffles(made(lambda items: work_on_each(items, "Work", print), task).pipeline) == 1


def test_the_graph_of_verifying_carries_no_rows_either(dataset, tmp_path):
    manifest = read_manifest(str(dataset))
    shards = list(enumerate(shard for _, shard in manifest.shards()))
    folder = open_folder(str(tmp_path))
    job = CheckJob(folder, "0" * 64, ExampleSpec(manifest.features, manifest.classes), deep=True)
    check = partial(Guard(folder, "x", DriverView.of([folder])).call, job.check)
    created = beam.Pipeline(FnApiRunner()) | beam.Create(shards, reshuffle=False)
    assert graph_bytes(work_on_each(created, "VerifyShards", check)) < 30_000


@pytest.mark.parametrize("workers", [1, 3])
def test_the_work_is_shared_out_over_the_threads(workers, monkeypatch, tmp_path):
    check, threads, all_here = images.check_fully, set(), threading.Barrier(workers)

    def checking(data):
        if threading.get_ident() not in threads:
            threads.add(threading.get_ident())
            # Passes only when so many threads are in here at once.
            all_here.wait(timeout=30)
        return check(data)

    monkeypatch.setattr(images, "check_fully", checking)
    # In one folder, which one thread lists.
    write_tree(tmp_path / "source", {f"a/{i}.png": picture(i) for i in range(DECODE_BATCH_ROWS * workers)})
    options = ["--workers", workers, "--layout", "class-folders"]
    result = call("convert", tmp_path / "source", tmp_path / "out", *options)
    assert result.exit_code == 0, result.output
    assert len(threads) == workers


def _are_three_times_the_same(rows):
    assert sorted(Counter(rows).values()) == [3, 3]


def test_a_retried_and_a_doubled_task_do_no_harm(photographs, tmp_path):
    # Runners run an element twice after a failure, and twice at once when a worker is slow.
    source, output = open_source(str(photographs)), open_folder(str(tmp_path / "out"))
    plan = plan_without_beam(source, ConvertOptions.of({"shards": 2}))
    output.create()
    plan_file.write_rows(output, plan)
    tasks, run = plan_file.shard_tasks(plan) * 3, Run(output).start()
    with beam.Pipeline(FnApiRunner()) as pipeline:
        created = pipeline | beam.Create(tasks, reshuffle=False)
        work = write_job(source.folder, plan).write
        written = work_on_each(created, "WriteShards", partial(Guard(output, run).call, work))
        assert_that(written | beam.Map(repr), _are_three_times_the_same)
    assert sorted(entry.name for entry in output.scan()) == sorted(
        [".shardkit", *(name for task in tasks[:2] for name in (task.name.records, task.name.index))]
    )
    assert call("convert", photographs, tmp_path / "anew", "--shards", "2").exit_code == 0
    for task in tasks[:2]:
        assert output.read(task.name.records) == (tmp_path / "anew" / task.name.records).read_bytes()


def test_the_plan_on_disk_has_one_row_group_a_shard(photographs, tmp_path, monkeypatch):
    monkeypatch.setattr(plan_file, "SHARDS_PER_FILE", 3)
    output = open_folder(str(tmp_path / "out"))
    plan = plan_without_beam(open_source(str(photographs)), ConvertOptions.of({"shards": 7}))
    output.create()
    plan_file.write_rows(output, plan)
    paths = sorted((tmp_path / "out" / plan_file.FOLDER).iterdir())
    groups = [[file.row_group(i).num_rows for i in range(file.num_row_groups)] for file in map(pq.read_metadata, paths)]
    assert [len(counts) for counts in groups] == [3, 3, 1]
    assert [count for counts in groups for count in counts] == plan.splits[0].shard_counts


TRANSFORMS = {
    "ReadDataset": lambda: ReadDataset("nothing here", "train"),
    "ReadImages": lambda: ReadImages("nothing here"),
    "CheckImages": CheckImages,
    "WriteDataset": lambda: WriteDataset("out"),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_building_a_graph_twice_from_one_transform_reads_and_writes_nothing(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    transform = TRANSFORMS[name]()
    with monkeypatch.context() as patched:
        patched.setattr(builtins, "open", refusing(open, tmp_path))
        for function in (os.open, os.scandir, os.listdir, os.stat, os.mkdir):
            patched.setattr(os, function.__name__, refusing(function, tmp_path))
        pipeline = beam.Pipeline(FnApiRunner())  # one: Beam ties a transform that begins a pipeline to it
        rows = pipeline | beam.Create([]).with_output_types(Example)
        begin = rows if name in {"CheckImages", "WriteDataset"} else pipeline
        _ = begin | transform
        _ = begin | "Again" >> transform
        assert graph_bytes(rows) > 0
    assert list(tmp_path.iterdir()) == []


def refusing(function, *folders):
    """A function that fails for a path in one of the folders."""

    def called(path=".", *args, **kwargs):
        if not isinstance(path, int) and os.path.abspath(path).startswith(tuple(map(str, folders))):
            pytest.fail(f"{function.__name__}({path!r})")
        return function(path, *args, **kwargs)

    return called


def test_errors_of_many_shards_are_one_sentence_and_a_number(photographs, monkeypatch, tmp_path):
    def failing(*_):
        message = "photograph.jpg: is a drawing"
        raise DataError(message)

    monkeypatch.setattr(writing, "read_image", failing)
    result = call("convert", photographs, tmp_path / "out", "--shards", "4")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[1:] == ["Error: photograph.jpg: is a drawing (4 shards failed in all)"]
    monkeypatch.undo()
    assert call("convert", photographs, tmp_path / "out", "--shards", "4").exit_code == 0, "nothing of it is kept"
    assert pa.__version__ in (tmp_path / "out" / "manifest.json").read_text()


def test_shards_that_were_finished_before_an_error_are_not_written_again(photographs, monkeypatch, tmp_path):
    read, calls = writing.read_image, itertools.count()

    def failing(*given):
        if next(calls) >= 25:  # in the third of four shards of 10 images
            message = "photograph.jpg: is a drawing"
            raise DataError(message)
        return read(*given)

    words = ["convert", photographs, tmp_path / "out", "--shards", "4", "--workers", "1"]
    with monkeypatch.context() as patched:
        patched.setattr(writing, "read_image", failing)
        assert call(*words).exit_code == 1
    assert "resuming: 2 of 4 shards are already finished" in call(*words).stderr
