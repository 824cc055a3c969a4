"""Read for many items at once, in threads of this process: an object store takes 20 to 50 ms for the smallest request.

Work that takes longer than its reading belongs in `parallel`, which also runs it on other hosts.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

NUM_READS = 16


def read_many(read: Callable[[T], R], items: Iterable[T], num_threads: int = NUM_READS) -> Iterator[R]:
    """Yield the result of a function for each item, in their order.

    Threads are ahead by twice their number at most, which bounds the memory of the results.

    Args:
        read: The function; what it raises is raised here.
        items: The items.
        num_threads: Number of threads, at least 1.
    """
    remaining = iter(items)
    pool = ThreadPoolExecutor(num_threads, thread_name_prefix="reading")
    try:
        ahead = deque(pool.submit(read, item) for item in islice(remaining, 2 * num_threads))
        while ahead:
            found = ahead.popleft().result()
            ahead.extend(pool.submit(read, item) for item in islice(remaining, 1))
            yield found
    finally:
        # Without waiting: the garbage collector may end this generator in a thread that is just starting, which holds
        # the lock that waiting for the end of a thread takes.
        pool.shutdown(wait=False, cancel_futures=True)
