"""The configuration of the runner: options of Beam are passed on, unknown ones are refused."""

import argparse
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import apache_beam as beam
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

from shardkit.beam.engine_log import EngineLog
from shardkit.beam.interruptions import interruptible
from shardkit.beam.stopping import unique_job_name
from shardkit.doctor.addresses import check_addresses
from shardkit.doctor.check import refuse_failed
from shardkit.doctor.engine import Engine
from shardkit.doctor.failure import cause_line, failure_sentence
from shardkit.doctor.job_server_options import job_server_options, without
from shardkit.errors import CallError, MachineError
from shardkit.spelling import closest


@dataclass(frozen=True, slots=True)
class RunnerConfig:
    """The runner of pipelines and its options.

    Attributes:
        flags: Options of Beam; ``--runner`` is one of them.
    """

    flags: tuple[str, ...]

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
            beam_version=beam.__version__,
        )

    @property
    def _known(self) -> PipelineOptions:
        return _known_options(self.flags)

    def pipeline(self) -> Pipeline:
        """Return an empty pipeline for this runner.

        Raises:
            CallError: Beam has no such runner, or the runner lacks an option.
            MachineError: No job service answers.
        """
        refuse_failed(check_addresses(self.engine))
        try:
            name = unique_job_name(self._known.view_as(GoogleCloudOptions).job_name)
            return Pipeline(options=PipelineOptions([*self.flags, f"--job_name={name}"]))
        except ValueError as error:  # an unknown runner, or an option that it lacks
            raise CallError(cause_line(str(error))) from error
        except (ImportError, AttributeError) as error:  # a class by its path, or a runner whose packages are missing
            msg = f"--runner={self.engine.runner} cannot be imported: {error}"
            raise CallError(msg) from error

    def run(
        self,
        pipeline: Pipeline,
        log: EngineLog,
        started: Callable[[Any], None] = lambda _: None,
        seconds: float | None = None,
        *,
        waits: bool = True,
    ) -> None:
        """Run a pipeline made by `pipeline` to its end.

        Args:
            pipeline: The pipeline.
            log: Receives the engine's messages.
            started: Function that is called with Beam's result when the engine has taken the job.
            seconds: Time after which TimeOverError is raised; None to wait.
            waits: Whether to wait for the end; otherwise the engine has taken the job.

        Raises:
            CallError: An option of the job server has a wrong value.
            MachineError: The runner failed; the message has the cause, what it means, and the file with the log.
        """
        try:
            with interruptible(seconds):
                pipeline.result = pipeline.run()  # for stop_job; Pipeline itself sets it in a `with` block only
                started(pipeline.result)
                state = pipeline.result.wait_until_finish() if waits else None
        except SystemExit as error:  # argparse, on options that it learned from the job server
            msg = "the job server refuses the value of one of its options; see the line above"
            raise CallError(msg) from error
        except CallError:
            raise
        except Exception as error:  # a runner may raise anything
            raise MachineError(failure_sentence(str(error) or type(error).__name__, log.end(), log.keep())) from error
        if state not in {None, "DONE"}:
            raise MachineError(failure_sentence(f"the engine ended the job in state {state}", log.end(), log.keep()))


def runner_config(beam_options: Sequence[str]) -> RunnerConfig:
    """Return the configuration for a call.

    Args:
        beam_options: Options of Beam, at least one.

    Raises:
        CallError: An option is unknown to Beam, or no runner is named.
    """
    refuse_unknown(tuple(beam_options), [])
    config = RunnerConfig(tuple(beam_options))
    if not config.engine.runner:
        msg = (
            f"{beam_options[0]} is an option of Apache Beam, and no runner is named; add --runner, such as "
            "--runner=FlinkRunner, or leave Beam's options out to work in threads of this process"
        )
        raise CallError(msg)
    return config


def refuse_unknown(flags: tuple[str, ...], own_options: list[str]) -> None:
    """Refuse options that Beam does not have.

    Args:
        flags: Options of Beam.
        own_options: Options of the command, for the hint.

    Raises:
        CallError: An option is unknown; the message names the most similar known one.
    """
    parser = _parser()
    given, unknown = parser.parse_known_args(list(flags))
    passed_on = job_server_options(given.runner)
    if passed_on:
        _, unknown = parser.parse_known_args(without(flags, passed_on))
    if unknown:
        known = own_options + _names(parser) + sorted(passed_on)
        close = closest(unknown[0].split("=")[0], known)
        hint = f"; did you mean {close}?" if close else "; see `shardkit convert --help`, or Beam's own options"
        msg = f"no such option: {unknown[0]}{hint}"
        raise CallError(msg)


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
