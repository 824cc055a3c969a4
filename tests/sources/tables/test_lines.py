import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.sources.tables.formats import lines
from shardkit.sources.tables.formats.lines import read_lines
from shardkit.storage import open_folder


@given(
    st.lists(st.sampled_from([b"a", b"bb", b"\n", b"\r", b"\r\n", b"\xff", b"\0", "ü".encode()]), max_size=30).map(
        b"".join
    ),
    st.integers(1, 9),
)
def test_lines_are_those_of_bytes_splitlines_whatever_is_read_at_once(tmp_path_factory, content, read_bytes):
    folder = tmp_path_factory.mktemp("lines")
    (folder / "x").write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "READ_BYTES", read_bytes)
        found = list(read_lines(open_folder(str(folder)), "x"))
    pieces = content.splitlines(keepends=True)
    assert [line.number for line in found] == list(range(1, len(pieces) + 1))
    assert [line.text for line in found] == [
        piece.decode("utf-8", "replace").replace("\0", "\ufffd") for piece in pieces
    ]
    assert [bool(line.problem) for line in found] == [b"\xff" in piece or b"\0" in piece for piece in pieces]


@given(
    st.text(max_size=20).filter(lambda text: not text.startswith("\ufeff")),
    st.sampled_from(["utf-16-le", "utf-16-be"]),
    st.integers(1, 9),
)
def test_lines_of_utf_16_are_those_of_utf_8_whatever_is_read_at_once(tmp_path_factory, text, encoding, read_bytes):
    folder = tmp_path_factory.mktemp("lines")
    (folder / "a").write_bytes(f"\ufeff{text}".encode(encoding))
    (folder / "b").write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "READ_BYTES", max(2, read_bytes))
        found, expected = (list(read_lines(open_folder(str(folder)), name)) for name in "ab")
    assert found == expected


@pytest.mark.parametrize("longest", [1, 2, 5, 8])
@given(lengths=st.lists(st.integers(0, 12), max_size=8), read_bytes=st.integers(1, 5))
def test_lines_that_are_too_long_are_told_and_no_other(tmp_path_factory, longest, lengths, read_bytes):
    folder = tmp_path_factory.mktemp("lines")
    (folder / "x").write_bytes(b"".join(b"x" * length + b"\n" for length in lengths))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "READ_BYTES", read_bytes)
        patch.setattr(lines, "MAX_LINE_BYTES", longest)
        found = list(read_lines(open_folder(str(folder)), "x"))
    assert [bool(line.problem) for line in found] == [length + 1 > longest for length in lengths]
