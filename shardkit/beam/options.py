"""The configuration of the runner: options of Beam are passed on, unknown ones are refused."""

import argparse
import functools
import re
import secrets
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import grpc  # type: ignore[import-untyped] # it has no types
from apache_beam import Pipeline
from apache_beam.options.pipeline_options import (
    FlinkRunnerOptions,
    GoogleCloudOptions,
    JobServerOptions,
    PipelineOptions,
    PortableOptions,
    SetupOptions,
    SparkRunnerOptions,
    StandardOptions,
    WorkerOptions,
)

from shardkit.beam.interruptions import interruptible
from shardkit.doctor.check import refuse_failed
from shardkit.doctor.driver import check_addresses, check_runner
from shardkit.doctor.engine import Engine, engine_kind
from shardkit.errors import CallError, MachineError, ShardkitError
from shardkit.options.words import named
from shardkit.parallel.progress import Level
from shardkit.spelling import closest

_MAX_CHARACTERS = 500
_STEP = re.compile(r"\s*\[while running .*\]$")
_TYPE = re.compile(r"^(?:shardkit\.[\w.]+|RuntimeError|OSError): (?=.)")  # of errors whose message says all

# Options of the Java job servers that Beam's Python part does not know and passes on. Flink's are the ones that a job
# server of Beam 2.70 describes; Spark's are the getters of SparkCommonPipelineOptions and SparkPipelineOptions of that
# version, in snake case. Beam asks the job server for its options when a job is submitted, and drops the names that it
# does not have with a warning only: so a misspelled one has to be refused before.
_FLINK = """
allow_non_restored_state attached_mode auto_balance_write_files_sharding_enabled auto_watermark_interval
checkpoint_timeout_millis checkpointing_interval checkpointing_mode disable_metrics enable_stable_input_drain
execution_mode_for_batch execution_retry_delay externalized_checkpoints_enabled fail_on_checkpointing_errors
faster_copy file_input_split_max_size_m_b finish_bundle_before_checkpointing flink_conf_dir force_slot_sharing_group
force_unaligned_checkpoint_enabled job_check_interval_in_secs latency_tracking_interval max_bundle_size
max_bundle_time_mills min_pause_between_checkpoints num_concurrent_checkpoints number_of_execution_retries
object_reuse operator_chaining re_iterable_group_by_key_result report_checkpoint_duration
retain_externalized_checkpoints_on_cancellation savepoint_path shutdown_sources_after_idle_ms state_backend
state_backend_factory state_backend_storage_path unaligned_checkpoint_enabled use_data_stream_for_batch
"""
_SPARK = """
batch_interval_millis bundle_size cache_disabled checkpoint_dir checkpoint_duration_millis enable_spark_metric_sinks
max_records_per_batch min_read_time_millis prefer_group_by_key_to_handle_huge_values read_time_percentage
storage_level
"""
_PORTABLE = """
enable_heap_dumps environment_expiration_millis load_balance_bundles retain_docker_containers semi_persist_dir
"""
_BY_KIND = {"flink": _FLINK + _PORTABLE, "spark": _SPARK + _PORTABLE, "portable": _FLINK + _SPARK + _PORTABLE}


@dataclass(frozen=True, slots=True)
class RunnerConfig:
    """The runner of pipelines and its options."""

    flags: tuple[str, ...]  # options of Beam; ``--runner`` is one of them

    @property
    def temp_location(self) -> str | None:
        """Beam's --temp_location, a folder that all workers reach; None if it is not set."""
        location: str | None = self._known.view_as(GoogleCloudOptions).temp_location
        return location

    @property
    def engine(self) -> Engine:
        """The options that decide whether the engine's workers can work."""
        known = self._known
        portable, flink, spark = (
            known.view_as(kind) for kind in (PortableOptions, FlinkRunnerOptions, SparkRunnerOptions)
        )
        setup = known.view_as(SetupOptions)
        return Engine(
            runner=known.view_as(StandardOptions).runner or "",
            job_endpoint=portable.job_endpoint,
            flink_master=flink.flink_master,
            flink_version=flink.flink_version,
            flink_versions=tuple(flink.PUBLISHED_FLINK_VERSIONS),
            spark_master=spark.spark_master_url,
            job_server_jar=flink.flink_job_server_jar or spark.spark_job_server_jar,
            java=known.view_as(JobServerOptions).job_server_java_launcher,
            environment_type=portable.environment_type,
            environment_config=portable.environment_config,
            installs_packages=bool(setup.requirements_file or setup.extra_packages or setup.setup_file),
            image=known.view_as(WorkerOptions).sdk_container_image,
            temp_location=self.temp_location,
            parallelism=flink.parallelism if (flink.parallelism or 0) > 0 else None,
        )

    @property
    def _known(self) -> PipelineOptions:
        return _known_options(self.flags)

    def pipeline(self) -> Pipeline:
        refuse_failed(check_addresses(self.engine))
        try:
            # The name by which users find the job on its engine; one that Dataflow takes.
            name = self._known.view_as(GoogleCloudOptions).job_name or f"shardkit-{secrets.token_hex(4)}"
            return Pipeline(options=PipelineOptions([*self.flags, f"--job_name={name}"]))
        except ValueError as error:  # an unknown runner, or an option that it lacks
            raise CallError(str(error)) from error
        except (ImportError, AttributeError) as error:  # a class by its path, or a runner whose packages are missing
            raise CallError(f"--runner={self.engine.runner} cannot be imported: {error}") from error

    def run(
        self,
        pipeline: Pipeline,
        started: Callable[[Any], None] = lambda _: None,
        seconds: float | None = None,
        *,
        waits: bool = True,
    ) -> None:
        """Run a pipeline made by `pipeline` to its end; `started` receives Beam's result once the engine has the job.

        After some `seconds` TimeOverError is raised. Unless it `waits`, the job goes on.
        """
        try:
            with interruptible(seconds):
                pipeline.result = pipeline.run()  # to stop the job; Pipeline itself sets it in a `with` block only
                started(pipeline.result)
                state = pipeline.result.wait_until_finish() if waits else None
        except SystemExit as error:  # argparse, on options that it learned from the job server
            raise CallError("the job server refuses the value of one of its options; see the line above") from error
        except CallError:
            raise
        except grpc.FutureTimeoutError as error:
            msg = f"no job service answers at --job_endpoint {self.engine.job_endpoint}, though a program listens there"
            raise MachineError(msg) from error
        except Exception as error:  # a runner may raise anything
            raise MachineError(self._failed(last_line(error))) from error
        if state not in {None, "DONE"}:
            raise MachineError(self._failed(f"the engine ended the job in state {state}"))

    def _failed(self, why: str) -> str:
        shows_log = self._known.view_as(WorkerOptions).default_sdk_harness_log_level is not None
        more = "" if shows_log else ". To see what Beam logs, add --default_sdk_harness_log_level=INFO"
        return f"the runner failed: {why.rstrip('.')}{more}"


def last_line(error: Exception) -> str:
    """Return the last line of an error's text that is not indented: traces end with the cause, their frames are."""
    details = getattr(error, "details", None)  # of gRPC, whose text has several lines for one error
    text = str(details() if callable(details) else error)
    if not text:
        return type(error).__name__
    if not (callable(details) or isinstance(error, ShardkitError | RuntimeError | OSError)):
        text = f"{type(error).__name__}: {text}"  # KeyError: 'label'
    lines = [line for line in text.splitlines() if line.strip() and not line[0].isspace()]
    line = _TYPE.sub("", _STEP.sub("", lines[-1] if lines else text.strip()))
    return line if len(line) <= _MAX_CHARACTERS else f"{line[: _MAX_CHARACTERS - 1]}…"


def ready_runner(
    beam_options: Sequence[str], workers: int | None, say: Callable[[str, Level], None], **places: str
) -> RunnerConfig:
    """Return the configuration for a call, unless its job cannot succeed; say what may make it fail.

    `places` are paths and URLs that driver and workers share, by the names for messages: SOURCE, OUTPUT.
    """
    runner = runner_config(beam_options)
    if workers is not None:
        raise CallError(
            f"{named('workers', workers)} is for threads of this process; with --runner={runner.engine.runner}, "
            "leave it out"
        )
    for check in check_runner(runner.engine, **places):
        if check.status == "failed":
            raise check.error()
        if check.status == "warning":
            say(f"warning: {check.sentence}", "warning")
    return runner


def runner_config(beam_options: Sequence[str]) -> RunnerConfig:
    """Return the configuration for a call."""
    refuse_unknown(tuple(beam_options), [])
    config = RunnerConfig(tuple(beam_options))
    if not config.engine.runner:
        raise CallError(
            f"{beam_options[0]} is an option of Apache Beam, and no runner is named; add --runner, such as "
            "--runner=FlinkRunner, or leave Beam's options out to work in threads of this process"
        )
    return config


def refuse_unknown(flags: tuple[str, ...], own_options: list[str]) -> None:
    """Refuse options that Beam does not have."""
    parser = _parser()
    given, unknown = parser.parse_known_args(list(flags))
    passed_on = job_server_options(given.runner)
    if passed_on:
        _, unknown = parser.parse_known_args(without(flags, passed_on))
    if unknown:
        known = own_options + _names(parser) + sorted(passed_on)
        close = closest(unknown[0].split("=")[0], known)
        hint = f"; did you mean {close}?" if close else "; see `shardkit convert --help`, or Beam's own options"
        raise CallError(f"no such option: {unknown[0]}{hint}")


def known_options() -> list[str]:
    """Return the names of all options of Beam."""
    return _names(_parser())


@functools.lru_cache(maxsize=4)
def _known_options(flags: tuple[str, ...]) -> PipelineOptions:
    """Return the options of Beam's Python part: it would warn of those that only a job server knows."""
    given, _ = _parser().parse_known_args(list(flags))
    return PipelineOptions(without(flags, job_server_options(given.runner)))


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise CallError(message)  # argparse would print its usage and exit


def _parser() -> _Parser:
    parser = _Parser(add_help=False, allow_abbrev=False)
    for options in [PipelineOptions, *_subclasses(PipelineOptions)]:
        add: Any = getattr(options, "_add_argparse_args", None)
        if add is not None and options is not PipelineOptions:
            add(parser)
    return parser


def _names(parser: _Parser) -> list[str]:
    return [name for action in parser._actions for name in action.option_strings]  # noqa: SLF001 - no public list


def _subclasses(cls: type[Any]) -> list[type[Any]]:
    return [found for child in cls.__subclasses__() for found in [child, *_subclasses(child)]]


def job_server_options(runner: str | None) -> frozenset[str]:
    """Return the options of the job server that a runner talks to."""
    return frozenset(f"--{name}" for name in _BY_KIND.get(engine_kind(runner), "").split())


def without(flags: Sequence[str], names: Collection[str]) -> list[str]:
    """Return a command line without some options and their values, written as ``--name=value`` or ``--name value``."""
    left, drops_value = [], False
    for flag in flags:
        if flag.split("=")[0] in names:
            drops_value = "=" not in flag
            continue
        if not (drops_value and not flag.startswith("-")):
            left.append(flag)
        drops_value = False
    return left
