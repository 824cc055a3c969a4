"""Reading many items at once, in threads."""

import threading

from shardkit.storage.concurrent_reads import read_many


def test_results_come_in_order_and_few_are_ahead():
    started = []
    results = read_many(lambda item: started.append(item) or -item, range(100), num_threads=2)
    assert next(results) == 0
    assert len(started) <= 5
    assert [*results] == [-item for item in range(1, 100)]


def test_ending_early_waits_for_no_read():
    """The garbage collector may end it in a thread that holds the lock which waiting for a thread takes."""
    goes_on = threading.Event()
    results = read_many(lambda item: item if item == 0 else goes_on.wait(60), range(4), num_threads=2)
    assert next(results) == 0
    closing = threading.Thread(target=results.close)
    closing.start()
    closing.join(5)
    is_closed = not closing.is_alive()
    goes_on.set()
    assert is_closed
