"""Jobs are submitted as Beam submits them, to a stand-in for Dataflow's API: nobody here has run one on Dataflow."""

from functools import partial

import pytest

from shardkit.beam.conversion import BeamExecutor
from shardkit.beam.options import runner_config
from shardkit.conversion.inventory.parts import Inventory
from shardkit.conversion.planning import plan_file
from shardkit.conversion.planning.plan import make_plan
from shardkit.conversion.writing.job import InventoryTask
from shardkit.options.groups import ConvertOptions
from shardkit.parallel.driver_view import DriverView
from shardkit.parallel.for_each import Guard
from shardkit.parallel.progress import Phase, Silent
from shardkit.sources.opening import open_source
from shardkit.storage import open_folder
from shardkit.testing import inventory_table, write_job

from ..cli.calling import call
from .dataflow_server import BUCKET, JOB_ID, DataflowServer

NUM_FILES = 100_000
NUM_SHARDS = 100_000
MAX_INVENTORY_GRAPH = 200_000  # bytes
MAX_WRITING_GRAPH = 2_000_000  # bytes; Dataflow accepts 10 MB


class Saying(Silent):
    """Keeps the messages."""

    def __init__(self):
        self.said = []

    def say(self, text):
        self.said.append(text)


@pytest.fixture
def dataflow(monkeypatch):
    """A stand-in for Dataflow and Cloud Storage, and the runner that submits to it."""
    pytest.importorskip("apitools", reason="apache-beam[gcp] is not installed")
    pytest.importorskip("google.cloud.dataflow_v1beta3", reason="apache-beam[gcp] is not installed")
    with DataflowServer() as server:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
        flags = [
            "--runner=DataflowRunner",
            "--project=shardkit-test",
            "--region=us-central1",
            f"--temp_location=gs://{BUCKET}/temp",
            "--sdk_container_image=europe-docker.pkg.dev/shardkit-test/images/shardkit:1",
            "--no_auth",
            f"--dataflow_endpoint={server.url}",
        ]
        yield server, BeamExecutor(runner_config(flags))


def phase(listener):
    return Phase(listener, "checking", None, lambda: 0)


def graph(server):
    """The pipeline that was submitted, and everything that was sent."""
    assert len(server.jobs) == 1
    [pipeline] = [data for name, data in server.uploads.items() if name.endswith("pipeline.pb")]
    return pipeline, b"".join(server.uploads.values()) + repr(server.jobs).encode()


@pytest.mark.slow
def test_the_inventory_of_many_files_is_a_small_job_that_names_none(dataflow, tmp_path):
    server, executor = dataflow
    folders = [tmp_path / "source" / f"class-{i}" for i in range(20)]
    for folder in folders:
        folder.mkdir(parents=True)
        for i in range(NUM_FILES // len(folders)):
            (folder / f"photograph-{i:06d}.jpg").touch()
    source = open_source(str(tmp_path / "source"))
    guard = Guard(open_folder(f"gs://{BUCKET}/out"), "x", DriverView.of([]))
    listener = Saying()
    task = InventoryTask.of(source, guard, ConvertOptions(), None, is_explicit=True)
    executor.run_job(task, phase(listener))
    pipeline, sent = graph(server)
    assert len(pipeline) < MAX_INVENTORY_GRAPH
    assert b"photograph-0" not in sent
    assert "europe-docker.pkg.dev/shardkit-test/images/shardkit:1" in sent.decode(errors="replace")
    assert listener.said == [
        f"the job's page: https://console.cloud.google.com/dataflow/jobs/us-central1/{JOB_ID}?project=shardkit-test"
    ]


@pytest.mark.slow
def test_the_writing_of_many_shards_is_a_job_that_names_no_image(dataflow):
    server, executor = dataflow
    inventory = inventory_table([f"class-{i % 7}" for i in range(NUM_SHARDS)])
    plan = make_plan(Inventory(inventory, "class folders", {}), ConvertOptions.of({"shards": NUM_SHARDS}))
    output = open_folder(f"gs://{BUCKET}/out")
    work = partial(Guard(output, "x").call, write_job(output, plan).write)
    executor.for_each("WriteShards", plan_file.shard_tasks(plan), work, phase(Silent()))
    pipeline, sent = graph(server)
    assert len(pipeline) < MAX_WRITING_GRAPH
    keys = inventory["key"].to_pylist()
    assert not [key for key in (keys[0], keys[-1], keys[len(keys) // 2]) if key.encode() in sent]


@pytest.mark.parametrize(
    ("source", "output", "name"), [("photos", "gs://b/out", "SOURCE"), ("gs://b/in", "out", "OUTPUT")]
)
@pytest.mark.parametrize("command", ["convert", "doctor"])
def test_paths_of_this_machine_are_refused_before_anything_is_asked_from_google(command, source, output, name):
    options = ["--runner=DataflowRunner", "--project=p", "--region=r", "--temp_location=gs://b/temp"]
    result = call(command, source, output, *options)
    assert result.exit_code == 2
    path = source if name == "SOURCE" else output
    assert f"{name} {path} is a path of this machine, which Dataflow's workers cannot reach; copy it" in result.output
