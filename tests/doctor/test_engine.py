"""What the options of Beam say about an engine, and what the driver finds wrong with them."""

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from shardkit.beam.options import RunnerConfig, job_server_options
from shardkit.doctor.check import refuse_failed
from shardkit.doctor.driver import check_runner, is_here
from shardkit.doctor.engine import Address, Engine, parse_address
from shardkit.errors import CallError, MachineError

DISTANT = "192.0.2.1"  # TEST-NET-1: no host has it


@pytest.fixture
def answering():
    """A port of this host that answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def reached(monkeypatch):
    """All addresses answer."""
    monkeypatch.setattr("shardkit.doctor.driver.reach", lambda *_: "")


@pytest.fixture
def flink(request):
    """The port of a server with the answers of Flink's REST interface; the parameter overrides some."""
    answers = {"config": {"flink-version": "1.19.3"}, "overview": {"slots-total": 2}}
    answers |= getattr(request, "param", {})

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps(answers[self.path.removeprefix("/v1/")]).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server.server_port
        server.shutdown()


def checks(*flags, source="gs://bucket/photos", output="gs://bucket/out"):
    """The checks that are not ok, as (status, sentence)."""
    found = check_runner(RunnerConfig(flags).engine, SOURCE=source, OUTPUT=output)
    return [(check.status, check.sentence) for check in found if check.status != "ok"]


@pytest.mark.parametrize("name", ["FlinkRunner", "flink", "apache_beam.runners.portability.flink_runner.FlinkRunner"])
def test_a_runner_has_the_names_that_beam_takes(name):
    assert Engine(name).kind == "flink"
    assert "--object_reuse" in job_server_options(name)


def test_the_direct_runner_is_a_warning_because_beam_downloads_another_one_for_it():
    [(status, sentence)] = checks("--runner=DirectRunner")
    assert status == "warning"
    assert sentence.endswith("; without Beam's options, threads of this process do the same work")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("localhost:8099", Address("localhost", 8099)),
        ("http://flink:8081/", Address("flink", 8081)),
        ("[::1]:8099", Address("::1", 8099)),
        ("spark://host:7077", Address("host", 7077)),
        ("localhost", None),
        ("embed", None),
        ("", None),
    ],
)
def test_addresses_are_read_as_beam_reads_them(text, address):
    assert parse_address(text) == address
    assert address is None or parse_address(str(address)) == address


@pytest.mark.parametrize(
    ("flags", "environment"),
    [
        (["--runner=FlinkRunner"], "LOOPBACK"),  # Flink inside the job server
        (["--runner=FlinkRunner", "--flink_master=flink:8081"], "DOCKER"),
        (["--runner=SparkRunner"], "LOOPBACK"),
        (["--runner=SparkRunner", "--spark_master_url=spark://host:7077"], "DOCKER"),
        (["--runner=PrismRunner"], "LOOPBACK"),
        (["--runner=PortableRunner", "--job_endpoint=x:1"], "DOCKER"),
        (["--runner=PortableRunner", "--environment_type=external"], "EXTERNAL"),
    ],
)
def test_the_environment_is_beams_default(flags, environment):
    assert RunnerConfig(tuple(flags)).engine.environment == environment


def test_this_host_is_known_by_all_its_names():
    assert is_here("localhost")
    assert is_here("127.0.0.1")
    assert is_here(socket.gethostname())
    assert not is_here(DISTANT)
    assert not is_here("no-such-host.invalid")


def test_in_this_process_there_is_nothing_to_check():
    assert checks(source="/photos", output="/out") == []


@pytest.mark.parametrize(
    ("flags", "status", "sentence"),
    [
        ([], "failed", "--job_endpoint is not given; give the job service's host and port"),
        (["--job_endpoint=localhost"], "failed", "--job_endpoint is 'localhost'; give the job service's host and port"),
        (
            ["--job_endpoint=localhost:1"],
            "failed",
            "no job service answers at --job_endpoint localhost:1: Connection refused",
        ),
    ],
)
def test_a_job_service_that_cannot_be_reached_is_named(flags, status, sentence):
    found = checks("--runner=PortableRunner", "--environment_type=LOOPBACK", *flags)
    assert found[0][0] == status
    assert found[0][1].startswith(sentence)


@pytest.mark.parametrize(
    ("flags", "status", "words"),
    [
        (
            ["--environment_type=LOOPBACK"],
            "failed",
            "LOOPBACK: workers are threads of this process, which an engine at 192",
        ),
        (["--environment_type=EXTERNAL"], "failed", "--environment_config is None; give the worker pool's address"),
        (
            ["--environment_type=PROCESS", "--environment_config=/boot"],
            "failed",
            "give the path of Beam's boot program",
        ),
        ([], "warning", "DOCKER, Beam's default: workers run in Beam's image, which has no shardkit; build"),
    ],
)
def test_the_environment_of_a_distant_engine(flags, status, words, reached):
    found = checks("--runner=PortableRunner", f"--job_endpoint={DISTANT}:8099", *flags)
    assert [sentence for kind, sentence in found if kind == status and words in sentence], found


def test_the_environment_of_an_engine_on_this_host(answering, tmp_path, monkeypatch):
    here = ["--runner=PortableRunner", f"--job_endpoint=localhost:{answering}"]
    pool = ["--environment_type=EXTERNAL", f"--environment_config=localhost:{answering}"]
    assert checks(*here, *pool) == []
    [(status, sentence)] = checks(*here, "--environment_type=EXTERNAL", "--environment_config=localhost:1")
    assert status == "warning"
    assert "no worker pool answers at localhost:1: Connection refused; start it on each host" in sentence
    boot = tmp_path / "boot"
    process = ["--environment_type=PROCESS", f'--environment_config={{"command": "{boot}"}}']
    assert checks(*here, *process) == [
        ("warning", f"PROCESS: {boot} is not a program here; it must be one on each worker's host")
    ]
    boot.touch(mode=0o755)
    assert checks(*here, *process) == []
    monkeypatch.setattr("shutil.which", lambda _: None)
    [(status, sentence)] = checks(*here, "--environment_type=DOCKER", "--environment_config=image")
    assert (status, "there is no program named docker" in sentence) == ("warning", True)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert checks(*here, "--environment_type=DOCKER", "--environment_config=image") == []


def test_paths_of_this_machine_are_told_to_users_of_a_distant_engine(reached):
    image = "--environment_config=image"
    found = checks("--runner=PortableRunner", f"--job_endpoint={DISTANT}:8099", image, source="/photos", output="/out")
    assert [sentence.partition(";")[0] for kind, sentence in found if kind == "warning"] == [
        "SOURCE /photos is a path of this machine, and the engine runs on others",
        "OUTPUT /out is a path of this machine, and the engine runs on others",
    ]


@pytest.mark.parametrize(
    ("places", "sentence"),
    [
        (
            {"source": "photos"},
            "SOURCE photos is a path of this machine, which Dataflow's workers cannot reach; copy it",
        ),
        (
            {"output": "file:///out"},
            "OUTPUT file:///out is a path of this machine, which Dataflow's workers cannot reach",
        ),
    ],
)
def test_dataflow_refuses_local_paths(places, sentence):
    flags = ("--runner=DataflowRunner", "--project=p", "--region=r", "--temp_location=gs://bucket/temp")
    given = {"SOURCE": places.get("source", "gs://bucket/a"), "OUTPUT": places.get("output", "gs://bucket/b")}
    with pytest.raises(CallError, match=sentence):
        refuse_failed(check_runner(RunnerConfig(flags).engine, **given))


def cluster(port, *flags):
    return [
        "--runner=FlinkRunner",
        f"--flink_master=localhost:{port}",
        "--environment_type=LOOPBACK",
        "--job_server_java_launcher=true",  # a program that is everywhere
        *flags,
    ]


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        # Beam's default is its newest.
        ([], ("the cluster runs Flink 1.19.3, and the job server would be for Flink {newest}; "
             "add --flink_version=1.19")),
        (["--flink_version=1.19"], None),
        (["--flink_job_server_jar=gs://b/beam-runners-flink-1.19-job-server-2.77.0.jar"], None),
    ],
)  # fmt: skip
def test_flinks_version_is_compared_with_the_job_servers(flags, sentence, flink):
    config = RunnerConfig(tuple(cluster(flink, *flags)))
    failed = [check.sentence for check in check_runner(config.engine) if check.status == "failed"]
    if sentence is None:
        assert failed == []
    else:
        assert len(failed) == 1
        assert sentence.format(newest=config.engine.flink_versions[-1]) in failed[0]


@pytest.mark.parametrize("flink", [{"config": {"flink-version": "1.18.1"}}], indirect=True)
def test_a_flink_that_beam_has_no_job_server_for(flink):
    with pytest.raises(CallError, match=r"; Beam has job servers for Flink 1\.\d+, "):
        refuse_failed(check_runner(RunnerConfig(tuple(cluster(flink))).engine))


@pytest.mark.parametrize(
    ("flink", "flags", "status", "sentence"),
    [
        ({"overview": {"slots-total": 0}}, [], "warning", "Flink has 0 slots, and the job takes 1; start TaskManagers"),
        ({"overview": {"slots-total": 4}}, ["--parallelism=8"], "warning", "Flink has 4 slots, and the job takes 8;"),
        ({"overview": {"slots-total": 4}}, [], "warning", "without --parallelism the job takes 1 of them; add --paral"),
        ({"config": ["no", "object"]}, [], "failed", "does not answer as Flink's REST interface does"),
    ],
    indirect=["flink"],
)
def test_slots_and_strange_answers(flink, flags, status, sentence):
    found = checks(*cluster(flink, "--flink_version=1.19", *flags))
    assert [text for kind, text in found if kind == status and sentence in text], found


def test_another_program_at_the_address_of_flink():
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            for _ in range(2):  # whether it answers at all, then Flink's version
                with server.accept()[0] as connection:
                    connection.sendall(b"\0\0\x12\x04 HTTP/2, as a job service's\n")

        threading.Thread(target=answer, daemon=True).start()
        port = server.getsockname()[1]
        found = [text for kind, text in checks(*cluster(port)) if kind == "failed"]
    [sentence] = found
    assert sentence.startswith(f"--flink_master localhost:{port} does not answer as Flink's REST interface does (Bad")
    assert sentence.endswith("; name its host and REST port, such as localhost:8081")


def test_a_jar_that_is_not_there_and_java_that_is_not():
    jar = "--flink_job_server_jar=/no/such.jar"
    with pytest.raises(CallError, match=r"/no/such\.jar: there is no such job-server jar"):
        refuse_failed(check_runner(Engine("FlinkRunner", job_server_jar="/no/such.jar", java="true")))
    with pytest.raises(MachineError, match="there is no no-java, which the job server needs"):
        refuse_failed(
            check_runner(RunnerConfig(("--runner=FlinkRunner", jar, "--job_server_java_launcher=no-java")).engine)
        )
