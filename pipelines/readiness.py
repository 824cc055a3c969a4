"""The cheap part of the doctor, which every conversion on an engine begins with."""

from collections.abc import Callable

from shardkit.doctor.driver import check_runner
from shardkit.pipelines.options import RunnerConfig
from shardkit.writing.progress import Level


def refuse_unready(runner: RunnerConfig, say: Callable[[str, Level], None], **places: str) -> None:
    """Refuse a call whose job cannot succeed; say what may make it fail.

    Args:
        runner: The runner and its options.
        say: Receives the warnings.
        **places: Paths and URLs that driver and workers share, by the names for messages: SOURCE, OUTPUT.

    Raises:
        CallError: An option or a path does not fit the engine.
        MachineError: Something does not answer.
    """
    for check in check_runner(runner.engine, **places):
        if check.status == "failed":
            raise check.error()
        if check.status == "warning":
            say(f"warning: {check.sentence}", "warning")
