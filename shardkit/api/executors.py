"""The executor of a call: threads of this process, or a runner of Beam if the call names one."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from shardkit.errors import CallError
from shardkit.host import this_host
from shardkit.options.words import named

if TYPE_CHECKING:
    from shardkit.conversion.writing.job import Engine
    from shardkit.parallel.progress import Level
    from shardkit.parallel.threads import ThreadExecutor


def make_executor(
    beam_options: Sequence[str], workers: int | None, say: "Callable[[str, Level], None]", **places: str
) -> "ThreadExecutor | Engine":
    """Return the executor of a call.

    Args:
        beam_options: Options of Beam.
        workers: Number of threads in this process; None for one per core, or with options of Beam.
        say: Receives what may make the job fail.
        **places: Paths and URLs that driver and workers share, by the names for messages: SOURCE, OUTPUT.
    """
    if not beam_options:
        from shardkit.parallel.threads import ThreadExecutor

        return ThreadExecutor(number_of_workers(workers))
    from shardkit.beam.conversion import BeamExecutor
    from shardkit.beam.options import ready_runner

    return BeamExecutor(ready_runner(beam_options, workers, say, **places))


def number_of_workers(workers: int | None) -> int:
    """Return the number of threads of this process.

    Args:
        workers: The number that the user gave; None for one per core that this process may use.
    """
    if workers is None:
        return this_host().threads
    if workers < 1:
        raise CallError(f"{named('workers')} must be at least 1; found {workers}")
    return workers
