import pytest

from shardkit.beam.options import RunnerConfig, job_server_options, refuse_unknown, without
from shardkit.errors import CallError

FLINK = ["--runner=FlinkRunner"]


@pytest.mark.parametrize(
    "options",
    [
        ["--object_reuse"],
        ["--number_of_execution_retries=3"],
        ["--number_of_execution_retries", "3", "--parallelism=2"],
    ],
)
@pytest.mark.parametrize("runner", ["FlinkRunner", "PortableRunner", "apache_beam.runners.PortableRunner"])
def test_options_of_the_job_server_pass(options, runner):
    refuse_unknown((f"--runner={runner}", *options), [])


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ([*FLINK, "--objekt_reuse"], "no such option: --objekt_reuse; did you mean --object_reuse?"),
        ([*FLINK, "--storage_level=x"], "no such option: --storage_level"),  # Spark's
        (["--object_reuse"], "no such option: --object_reuse"),  # no job server in this process
        ([*FLINK, "--object_reuse", "--x"], "no such option: --x"),
    ],
)
def test_options_that_no_job_server_has_do_not(flags, sentence):
    with pytest.raises(CallError, match=sentence):
        refuse_unknown(tuple(flags), [])


@pytest.mark.parametrize(
    ("flags", "left"),
    [
        (["--a=1", "--object_reuse", "--b", "2"], ["--a=1", "--b", "2"]),
        (["--number_of_execution_retries", "3", "--b", "3"], ["--b", "3"]),  # only its own value goes
        (["--number_of_execution_retries=3", "x"], ["x"]),
        (["--number_of_execution_retries"], []),
    ],
)
def test_without_leaves_the_values_of_the_others(flags, left):
    assert without(flags, job_server_options("FlinkRunner")) == left


def test_they_do_not_hide_what_beam_knows():
    flags = (
        "--runner=FlinkRunner",
        "--number_of_execution_retries",
        "3",
        "--flink_master=flink:8081",
        "--object_reuse",
    )
    engine = RunnerConfig(flags).engine
    assert (engine.kind, str(engine.flink), engine.environment) == ("flink", "flink:8081", "DOCKER")
