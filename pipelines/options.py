"""The configuration of the runner: options of Beam are passed on, unknown ones are refused."""

import argparse
import difflib
import logging
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from apache_beam import Pipeline
from apache_beam.options.pipeline_options import (
    GoogleCloudOptions,
    PipelineOptions,
    PortableOptions,
    StandardOptions,
)
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.worker import sdk_worker

from shardkit.errors import CallError, MachineError
from shardkit.option_values import number_of_workers
from shardkit.pipelines.stopping import unique_job_name

REACH_SECONDS = 20


@dataclass(frozen=True, slots=True)
class RunnerConfig:
    """The runner of pipelines and its options.

    Attributes:
        flags: Options of Beam; without ``--runner``, pipelines run in this process.
        workers: Number of threads of the in-process runner.
    """

    flags: tuple[str, ...]
    workers: int

    @property
    def in_process(self) -> bool:
        """Whether workers are threads of this process, which see its files and memory."""
        return PipelineOptions(list(self.flags)).view_as(StandardOptions).runner is None

    @property
    def temp_location(self) -> str | None:
        """Beam's --temp_location, a folder that all workers reach; None if it is not set."""
        location: str | None = PipelineOptions(list(self.flags)).view_as(GoogleCloudOptions).temp_location
        return location

    def run(self, pipeline: Pipeline) -> None:
        """Run a pipeline made by `pipeline` to its end.

        Raises:
            MachineError: The runner failed; the message has the last line of its error.
        """
        # A worker's error is reported once, below.
        logging.getLogger("apache_beam").setLevel(logging.CRITICAL)
        if self.in_process:
            # Beam's worker also prints its traceback, without logging: replace print in its module.
            vars(sdk_worker)["print"] = lambda *_, **__: None
        try:
            pipeline.result = pipeline.run()  # for stop_job; Pipeline itself sets it in a `with` block only
            state = pipeline.result.wait_until_finish()
        except Exception as error:  # a runner may raise anything
            msg = f"the runner failed: {_last_line(error)}"
            raise MachineError(msg) from error
        if state not in {None, "DONE"}:
            msg = f"the runner ended the job in state {state}; see its own log"
            raise MachineError(msg)

    def pipeline(self) -> Pipeline:
        """Return an empty pipeline for this runner.

        Raises:
            CallError: Beam has no such runner, or the runner lacks an option.
            MachineError: No job service answers.
        """
        if not self.in_process:
            _check_job_service(PipelineOptions(list(self.flags)).view_as(PortableOptions).job_endpoint)
            try:
                name = unique_job_name(self.flags)
                return Pipeline(options=PipelineOptions([*self.flags, f"--job_name={name}"]))
            except ValueError as error:  # an unknown runner, or an option that it lacks
                raise CallError(_last_line(error)) from error
        # Not DirectRunner: it prefers Prism, and downloads it without a timeout.
        flags = [*self.flags, f"--direct_num_workers={self.workers}", "--direct_running_mode=multi_threading"]
        return Pipeline(runner=FnApiRunner(), options=PipelineOptions(flags))


def runner_config(beam_options: Sequence[str], workers: int | None) -> RunnerConfig:
    """Return the configuration for a call.

    Args:
        beam_options: Options of Beam.
        workers: Number of threads of the in-process runner; None for one per core.

    Raises:
        CallError: An option is unknown to Beam, or `workers` is below 1.
    """
    refuse_unknown(tuple(beam_options), [])
    return RunnerConfig(tuple(beam_options), number_of_workers(workers))


def refuse_unknown(flags: tuple[str, ...], own_options: list[str]) -> None:
    """Refuse options that Beam does not have.

    Args:
        flags: Options of Beam.
        own_options: Options of the command, for the hint.

    Raises:
        CallError: An option is unknown; the message names the most similar known one.
    """
    if not flags:
        return
    parser = _parser()
    _, unknown = parser.parse_known_args(list(flags))
    if unknown:
        known = own_options + _names(parser)
        close = difflib.get_close_matches(unknown[0].split("=")[0], known, n=1)
        hint = f"; did you mean {close[0]}?" if close else "; see `shardkit convert --help`, or Beam's own options"
        msg = f"no such option: {unknown[0]}{hint}"
        raise CallError(msg)


def known_options() -> list[str]:
    """Return the names of all options of Beam."""
    return _names(_parser())


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


def _check_job_service(endpoint: str | None) -> None:
    """Check that a job service answers: Beam would wait forever, without a message.

    Raises:
        MachineError: Nothing answers at the endpoint.
    """
    host, colon, port = (endpoint or "").rpartition(":")
    if not colon or not port.isdigit():
        return  # "embed", or none
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=REACH_SECONDS).close()
    except OSError as error:
        found = error.strerror or error
        msg = f"no job service answers at --job_endpoint {endpoint}: {found}; start it, or correct the address"
        raise MachineError(msg) from error


def _subclasses(cls: type[Any]) -> list[type[Any]]:
    return [found for child in cls.__subclasses__() for found in [child, *_subclasses(child)]]


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # Beam writes the type of a worker's error before the message, and the step after it.
    return re.sub(r"^[\w.]+: | \[while running .*\]$", "", lines[-1]) if lines else type(error).__name__
