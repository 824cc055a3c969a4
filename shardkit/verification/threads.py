"""Check the shards of a dataset in threads of this process, without Beam."""

from collections.abc import Sequence
from dataclasses import dataclass

from shardkit.dataset.manifest import Shard
from shardkit.verification.dataset import CheckJob, largest_first
from shardkit.verification.shards import ShardCheck
from shardkit.writing.progress import Phase, ProgressListener
from shardkit.writing.run_in_threads import run_in_threads


@dataclass(frozen=True, slots=True)
class ThreadChecker:
    """Checks shards in threads; see `dataset.Checker`.

    Attributes:
        num_threads: Number of threads, at least 1.
        listener: Receives the progress.
    """

    num_threads: int
    listener: ProgressListener

    def check_shards(self, job: CheckJob, shards: Sequence[Shard]) -> list[ShardCheck]:
        """See Checker."""
        checks: dict[int, ShardCheck] = {}

        def check(numbered: tuple[int, Shard]) -> None:
            checks[numbered[0]] = job.check(numbered[1])

        phase = Phase(
            self.listener,
            "verifying",
            sum(shard.num_examples for shard in shards),
            lambda: sum(shards[index].num_examples for index in tuple(checks)),
            count_rejected=lambda: sum(len(check.problems) for check in tuple(checks.values())),
        )
        with phase.listener.phase(phase.name, phase.total) as show:
            run_in_threads(check, largest_first(shards), self.num_threads, show, phase)
        return [checks[index] for index in range(len(shards))]
