"""Check the shards of a dataset in threads of this process, without Beam."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass

from shardkit.dataset.manifest import Shard
from shardkit.verification.dataset import CheckJob
from shardkit.verification.shards import ShardCheck

POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class ThreadChecker:
    """Checks shards in threads; see `dataset.Checker`.

    Attributes:
        num_threads: Number of threads, at least 1.
        progress: Begins the phase, given its number of images; its value is called with the number checked so far,
            None, and the number of problems found so far.
    """

    num_threads: int
    progress: Callable[[int], AbstractContextManager[Callable[[int, None, int], None]]]

    def check_shards(self, job: CheckJob, shards: Sequence[Shard]) -> list[ShardCheck]:
        """See Checker."""
        pool = ThreadPoolExecutor(self.num_threads, thread_name_prefix="verify")
        try:
            with self.progress(sum(shard.num_examples for shard in shards)) as show:
                futures = [pool.submit(job.check, shard) for shard in shards]
                # Wait in short steps: the main thread answers Ctrl-C between them.
                while wait(futures, POLL_SECONDS).not_done:
                    _show(show, futures, shards)
                _show(show, futures, shards)  # the final numbers
            return [future.result() for future in futures]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _show(
    show: Callable[[int, None, int], None], futures: Sequence[Future[ShardCheck]], shards: Sequence[Shard]
) -> None:
    done = [(future, shard) for future, shard in zip(futures, shards, strict=True) if future.done()]
    num_problems = sum(len(future.result().problems) for future, _ in done if not future.exception())
    show(sum(shard.num_examples for _, shard in done), None, num_problems)
