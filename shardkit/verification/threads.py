"""Check the shards of a dataset in threads of this process, without Beam."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
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
        progress: Begins the phase, given its number of images; its value is called with the number checked so far.
    """

    num_threads: int
    progress: Callable[[int], AbstractContextManager[Callable[[int], None]]]

    def check_shards(self, job: CheckJob, shards: Sequence[Shard]) -> list[ShardCheck]:
        """See Checker."""
        pool = ThreadPoolExecutor(self.num_threads, thread_name_prefix="verify")
        try:
            with self.progress(sum(shard.num_examples for shard in shards)) as show:
                futures = [pool.submit(job.check, shard) for shard in shards]
                # Wait in short steps: the main thread answers Ctrl-C between them.
                while wait(futures, POLL_SECONDS).not_done:
                    done = zip(futures, shards, strict=True)
                    show(sum(shard.num_examples for future, shard in done if future.done()))
            return [future.result() for future in futures]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
