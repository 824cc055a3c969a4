"""The configuration of a runner that has passed the cheap part of the doctor, with which every job begins."""

from collections.abc import Callable, Sequence

from shardkit.beam.options import RunnerConfig, runner_config
from shardkit.doctor.driver import check_runner
from shardkit.errors import CallError
from shardkit.options.words import named
from shardkit.parallel.progress import Level


def ready_runner(
    beam_options: Sequence[str], workers: int | None, say: Callable[[str, Level], None], **places: str
) -> RunnerConfig:
    """Return the configuration for a call, unless its job cannot succeed; say what may make it fail.

    Args:
        beam_options: Options of Beam, at least one.
        workers: The call's number of threads in this process, which must be None.
        say: Receives the warnings.
        **places: Paths and URLs that driver and workers share, by the names for messages: SOURCE, OUTPUT.

    Raises:
        CallError: An option or a path does not fit the engine, or no runner is named.
        MachineError: Something does not answer.
    """
    runner = runner_config(beam_options)
    if workers is not None:
        msg = (
            f"{named('workers', workers)} is for threads of this process; with --runner={runner.engine.runner}, "
            "leave it out"
        )
        raise CallError(msg)
    for check in check_runner(runner.engine, **places):
        if check.status == "failed":
            raise check.error()
        if check.status == "warning":
            say(f"warning: {check.sentence}", "warning")
    return runner
