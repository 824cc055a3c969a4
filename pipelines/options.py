"""Which runner runs a pipeline, and with which options: Beam's own pass through, unknown ones are refused."""

import argparse
import difflib
import logging
import os
import re
import socket
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

REACH_SECONDS = 20


@dataclass(frozen=True, slots=True)
class RunnerConfig:
    """How pipelines run.

    Attributes:
        flags: Beam's own options as the user typed them, ``--runner`` among them; none: in this process.
        workers: threads of the in-process runner.
    """

    flags: tuple[str, ...]
    workers: int

    def __post_init__(self) -> None:
        if self.workers < 1:
            msg = f"--workers must be at least 1; found {self.workers}"
            raise CallError(msg)

    @property
    def in_process(self) -> bool:
        """Whether workers are threads of this process, which see its files and memory."""
        return PipelineOptions(list(self.flags)).view_as(StandardOptions).runner is None

    @property
    def temp_location(self) -> str | None:
        """Beam's own --temp_location, which all workers reach; None where it was not given."""
        location: str | None = PipelineOptions(list(self.flags)).view_as(GoogleCloudOptions).temp_location
        return location

    def run(self, pipeline: Pipeline) -> None:
        """Run a pipeline that ``pipeline()`` made, to its end.

        Raises:
            MachineError: the runner failed or gave up; its last words are in the message.
        """
        # A worker's error is told once, in one sentence, below.
        logging.getLogger("apache_beam").setLevel(logging.CRITICAL)
        if self.in_process:
            # Beam's worker also prints its traceback, past all logging: for its module, print is this.
            vars(sdk_worker)["print"] = lambda *_, **__: None
        try:
            result = pipeline.run()
            state = result.wait_until_finish()
        except Exception as error:  # a runner may raise anything
            msg = f"the runner failed: {_last_line(error)}"
            raise MachineError(msg) from error
        if state not in {None, "DONE"}:
            msg = f"the runner ended the job in state {state}; see its own log"
            raise MachineError(msg)

    def pipeline(self) -> Pipeline:
        """An empty pipeline for this runner."""
        if not self.in_process:
            _reach(PipelineOptions(list(self.flags)).view_as(PortableOptions).job_endpoint)
            try:
                return Pipeline(options=PipelineOptions(list(self.flags)))
            except ValueError as error:  # how Beam says that there is no such runner, or that it lacks an option
                raise CallError(_last_line(error)) from error
        # Named outright: DirectRunner prefers Prism, and downloads it without a timeout.
        flags = [*self.flags, f"--direct_num_workers={self.workers}", "--direct_running_mode=multi_threading"]
        return Pipeline(runner=FnApiRunner(), options=PipelineOptions(flags))


def default_workers() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def refuse_unknown(flags: tuple[str, ...], own_options: list[str]) -> None:
    """Refuse options that are not Beam's; `own_options` are those of the command, for the hint.

    Raises:
        CallError: the first unknown one, and the known one that is most like it.
    """
    if not flags:
        return
    parser = _Parser(add_help=False, allow_abbrev=False)
    for options in [PipelineOptions, *_subclasses(PipelineOptions)]:
        add: Any = getattr(options, "_add_argparse_args", None)
        if add is not None and options is not PipelineOptions:
            add(parser)
    _, unknown = parser.parse_known_args(list(flags))
    if unknown:
        known = own_options + [name for action in parser._actions for name in action.option_strings]  # noqa: SLF001 - no public list
        close = difflib.get_close_matches(unknown[0].split("=")[0], known, n=1)
        hint = f"; did you mean {close[0]}?" if close else "; see `shardkit convert --help`, or Beam's own options"
        msg = f"no such option: {unknown[0]}{hint}"
        raise CallError(msg)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise CallError(message)  # argparse would print its usage and leave


def _reach(endpoint: str | None) -> None:
    """Beam waits for a job service for ever, without a word.

    Raises:
        MachineError: nobody answers there.
    """
    host, colon, port = (endpoint or "").rpartition(":")
    if not colon or not port.isdigit():
        return  # "embed", or none
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=REACH_SECONDS).close()
    except OSError as error:
        found = error.strerror or error
        msg = f"no job service answers at --job_endpoint {endpoint}: {found}; start it, or mend the address"
        raise MachineError(msg) from error


def _subclasses(cls: type[Any]) -> list[type[Any]]:
    return [found for child in cls.__subclasses__() for found in [child, *_subclasses(child)]]


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # Beam puts the type of a worker's error before the sentence, and the step behind it.
    return re.sub(r"^[\w.]+: | \[while running .*\]$", "", lines[-1]) if lines else type(error).__name__
