import base64
import io
import struct

import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.dataset import tfrecord
from shardkit.errors import RecordError

# Made with TensorFlow 2.21: `with tf.io.TFRecordWriter(path) as writer`, then `writer.write(record)` for each, and
# base64.b64encode of the file.
GOLDEN = {
    (b"",): "AAAAAAAAAAApA5gH2OqCog==",
    (b"foo",): "AwAAAAAAAACwmUkOZm9vYYq+/g==",
    (b"foo", b"bar"): "AwAAAAAAAACwmUkOZm9vYYq+/gMAAAAAAAAAsJlJDmJhckYA5cg=",
}
RECORDS = [b"first", b"", b"the third one", b"\xff\0"]


def framed(records):
    return b"".join(part for record in records for part in tfrecord.frame(record))


def read(data):
    return list(tfrecord.read_records(io.BytesIO(data), name="x.tfrecord"))


@pytest.mark.parametrize(("records", "golden"), GOLDEN.items())
def test_frames_are_the_golden_bytes(records, golden):
    assert framed(records) == base64.b64decode(golden)


@pytest.mark.parametrize("crc", [0, 1, 0x7FFF, 0x8000, 0x12345678, 0xFFFFFFFF])
def test_the_mask_is_leveldbs(crc, monkeypatch):
    monkeypatch.setattr(google_crc32c, "value", lambda _: crc)
    rotated = ((crc >> 15) | (crc << 17)) % 2**32
    assert tfrecord.masked_crc32c(b"") == (rotated + 0xA282EAD8) % 2**32


def test_crc32c_is_that_of_rfc_3720():
    # RFC 3720, B.4: 32 bytes of zeros give aa 36 91 8a.
    masked = tfrecord.masked_crc32c(bytes(32))
    rotated = (masked - 0xA282EAD8) % 2**32
    assert ((rotated << 15) | (rotated >> 17)) % 2**32 == 0x8A9136AA


@given(st.lists(st.binary(max_size=100), max_size=6))
def test_reading_is_the_inverse_of_framing_and_gives_offsets(records):
    data = framed(records)
    found = read(data)
    assert [record for _, record in found] == records
    for offset, record in found:
        assert data[offset:].startswith(framed([record]))


def test_tensorflow_reads_our_frames(tmp_path):
    import tensorflow as tf

    records = [*RECORDS, bytes(300), bytes(range(256)) * 300]
    path = tmp_path / "ours.tfrecord"
    path.write_bytes(framed(records))
    assert list(tf.data.TFRecordDataset(str(path)).as_numpy_iterator()) == records


def test_we_read_what_tensorflow_writes_and_write_the_same(tmp_path):
    import tensorflow as tf

    records = [*RECORDS, bytes(300), bytes(range(256)) * 300]
    path = tmp_path / "theirs.tfrecord"
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in records:
            writer.write(record)
    assert [record for _, record in read(path.read_bytes())] == records
    assert path.read_bytes() == framed(records)


@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF])
def test_every_changed_byte_is_found_and_the_records_before_it_are_still_read(flip):
    data = framed(RECORDS)
    starts = [offset for offset, _ in read(data)]
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= flip
        number = sum(start <= position for start in starts) - 1
        found = []
        with pytest.raises(RecordError, match=rf"^x\.tfrecord: record {number} at byte {starts[number]}: "):
            found.extend(tfrecord.read_records(io.BytesIO(damaged), name="x.tfrecord"))
        assert [record for _, record in found] == RECORDS[:number]


def test_a_file_cut_anywhere_but_between_two_records_is_found():
    data = framed(RECORDS)
    between = {offset for offset, _ in read(data)} | {len(data)}
    assert len(between) == len(RECORDS) + 1
    for end in range(len(data)):
        if end in between:
            assert len(read(data[:end])) < len(RECORDS)
        else:
            with pytest.raises(RecordError, match="the file ends inside the record"):
                read(data[:end])


def test_a_length_beyond_protobufs_cap_is_refused_before_anything_is_read():
    length = struct.pack("<Q", tfrecord.MAX_RECORD_BYTES + 1)
    file = io.BytesIO(length + struct.pack("<I", tfrecord.masked_crc32c(length)) + bytes(10))
    with pytest.raises(RecordError, match="length of 2147483649 is damaged"):
        list(tfrecord.read_records(file, name="x"))
    assert file.tell() == tfrecord.HEADER_BYTES


@pytest.mark.parametrize(
    ("change", "length", "problem"),
    [
        (lambda framed: framed, 3, None),
        (lambda framed: framed[:-1], 3, "ends inside"),
        (lambda framed: b"", 3, "ends before it"),
        (lambda framed: b"\1" + framed[1:], 3, "record's length does not match"),
        (lambda framed: framed[:8] + b"\1" + framed[9:], 3, "record's length does not match"),
        (lambda framed: framed[:12] + b"F" + framed[13:], 3, "record's data does not match"),
        (lambda framed: framed[:-1] + b"\0", 3, "record's data does not match"),
        (lambda framed: framed, 2, "announces 3 bytes, not 2"),  # an index that lies
    ],
)
def test_frame_problem_says_what_is_wrong(change, length, problem):
    found = tfrecord.frame_problem(change(b"".join(tfrecord.frame(b"foo"))), length)
    assert found is None if problem is None else problem in found


def test_a_frame_inside_other_bytes_is_checked_and_its_data_returned():
    framed = b"".join(tfrecord.frame(b"foo") + tfrecord.frame(b"") + tfrecord.frame(b"barbar"))
    assert [tfrecord.unframe(framed, length, start) for length, start in [(3, 0), (0, 19), (6, 35)]] == [
        b"foo",
        b"",
        b"barbar",
    ]
    for length, start in [(3, 19), (5, 35), (7, 35), (3, 1), (3, len(framed))]:
        with pytest.raises(RecordError):
            tfrecord.unframe(framed, length, start)
    with pytest.raises(RecordError):
        tfrecord.unframe(framed.replace(b"barbar", b"barbaR"), 6, 35)
