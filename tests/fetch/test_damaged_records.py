import threading

import pytest

from shardkit.errors import RecordError
from shardkit.fetch.damaged_records import DamagedRecord, DamagedRecords


def record(number, key="a/b.jpg"):
    return DamagedRecord(number, "train-00001-of-00003.tfrecord", number, key, "the CRC does not match")


def test_a_record_counts_once_however_often_it_is_met():
    damaged = DamagedRecords(2)
    assert damaged.add(record(5))
    assert not damaged.add(record(5))
    assert damaged.add(record(3))
    assert [one.example_id for one in damaged.records] == [3, 5]


def test_one_more_than_the_limit_is_named_by_shard_record_and_key():
    damaged = DamagedRecords(1)
    damaged.add(record(5))
    sentence = (
        r"train-00001-of-00003\.tfrecord: record 7, key 'a/b\.jpg': the CRC .* damaged record 2, and 1 are allowed"
    )
    for _ in range(2):  # a trainer that tries again is told again
        with pytest.raises(RecordError, match=sentence):
            damaged.add(record(7))


def test_a_limit_of_none_allows_none():
    with pytest.raises(RecordError, match="damaged record 1, and 0 are allowed"):
        DamagedRecords(0).add(record(1))


def test_a_record_is_shown_on_one_line():
    expected = r"train-00001-of-00003.tfrecord: record 4, key 'new\\nline': the CRC does not match"
    assert str(record(4, key="new\nline")) == expected


def test_threads_share_one_limit():
    damaged, refused = DamagedRecords(50), []

    def work(start):
        for number in range(start, start + 30):
            try:
                damaged.add(record(number))
            except RecordError:  # noqa: PERF203 - each may be refused
                refused.append(number)

    threads = [threading.Thread(target=work, args=(start,)) for start in (0, 20, 40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(damaged.records) == 50
    assert len(set(refused)) == 20
