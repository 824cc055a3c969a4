"""A large text table is listed in pieces: the same rows, line numbers and messages as in one part."""

import csv
import pickle
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shardkit.errors import SourceChangedError
from shardkit.sources import SourceOptions
from shardkit.sources.formats.tables import csv_files, lines, text_pieces
from shardkit.sources.formats.tables.csv_files import CsvFile, split_records
from shardkit.sources.formats.tables.json_files import JsonTable
from shardkit.sources.formats.tables.lines import Line
from shardkit.sources.formats.tables.text_pieces import TextPiece
from shardkit.sources.opening import open_source
from shardkit.storage import open_folder
from shardkit.testing import opened, write_tree

from ..table_reading import alone, write


@pytest.fixture
def tiny_pieces(monkeypatch):
    monkeypatch.setattr(text_pieces, "PIECE_BYTES", 8)


def file_of(source):
    """The only table of a source."""
    [file] = source.driver.tables.files
    return file


def pieces_of(file):
    """The file's pieces, as workers receive them; the records of each; and those of the whole file."""
    pieces = pickle.loads(pickle.dumps(list(file.divided(0))))  # noqa: S301 - ours
    return pieces, [list(file.records(piece)) for piece in pieces], list(file.records(0))


def check(file):
    pieces, records, expected = pieces_of(file)
    assert [one for piece in records for one in piece] == expected
    return pieces


# Every way in which a quote, a line end or a blank line may meet the end of a piece.
TOKENS = ["a", "b,c", ",", '"', '""', ' "', "\n", "\r\n", "\r", "\n\n", "#", "\0", "\ufeff", "ä", "\u2028", "\x0c", ";"]
NASTY = st.lists(st.sampled_from(TOKENS), max_size=40).map(lambda parts: "".join(parts).encode())
WITH_BAD_BYTES = st.builds(lambda text, at: text[:at] + b"\xff" + text[at:], NASTY, st.integers(0, 40))


@given(
    content=st.one_of(NASTY, WITH_BAD_BYTES),
    marked=st.booleans(),
    spaced=st.booleans(),
    num_skipped=st.integers(0, 2),
    piece_bytes=st.integers(1, 30),
    read_bytes=st.integers(4, 40),
    longest=st.sampled_from([6, 1 << 20]),
)
@example(b'a\n"b\nc"\nd\n"e\n' * 3, False, False, 1, 5, 7, 1 << 20)  # an unclosed quote after closed ones
def test_the_pieces_of_a_csv_file_hold_the_records_of_the_whole(
    tmp_path_factory, content, marked, spaced, num_skipped, piece_bytes, read_bytes, longest
):
    folder = alone(tmp_path_factory)
    write(folder, b"\xef\xbb\xbf" * marked + content)
    file = CsvFile(open_folder(str(folder)), "labels.csv", ("x", "y"), ",", 0, spaced=spaced)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_pieces, "PIECE_BYTES", piece_bytes)
        for module in (lines, text_pieces):
            patch.setattr(module, "READ_BYTES", read_bytes)
        for module in (lines, text_pieces):
            patch.setattr(module, "MAX_LINE_BYTES", longest)
        num_skipped = min(num_skipped, len(list(file.records(0))))
        check(replace(file, num_skipped=num_skipped))


@given(
    rows=st.lists(st.sampled_from(['{"x": 1}', '{"x": "é\\n"}', "", " ", "{", '{"y": 2}', "[]", '{"x": "\\ud800"}'])),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    closed=st.booleans(),
    piece_bytes=st.integers(1, 30),
    read_bytes=st.integers(4, 40),
)
def test_the_pieces_of_a_json_lines_file_hold_the_records_of_the_whole(
    tmp_path_factory, rows, end, closed, piece_bytes, read_bytes
):
    folder = alone(tmp_path_factory)
    write(folder, end.join(rows) + end * closed, "labels.jsonl")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_pieces, "PIECE_BYTES", piece_bytes)
        for module in (lines, text_pieces):
            patch.setattr(module, "READ_BYTES", read_bytes)
        check(JsonTable(open_folder(str(folder)), "labels.jsonl", ("x",)))


LINE_ENDS = pytest.mark.parametrize("end", ["\n", "\r\n"])


@LINE_ENDS
@pytest.mark.parametrize("row", ["a.jpg,cat", '"a,1.jpg",cat', '"a.jpg","c\nat"'])
def test_a_table_has_about_as_many_pieces_as_its_size_says(row, end, tmp_path, monkeypatch):
    monkeypatch.setattr(text_pieces, "PIECE_BYTES", 1000)
    content = f"image,label{end}" + f"{row}{end}" * 2000
    path = write(tmp_path, content)
    pieces = check(file_of(opened(path)))
    assert 0.9 < len(pieces) * 1000 / path.stat().st_size < 1.1
    monkeypatch.setattr(text_pieces, "MAX_PIECES", 5)
    assert len(check(file_of(opened(path)))) == 5


def test_counting_lines_finds_the_records_that_reading_them_finds(tmp_path, monkeypatch):
    """Else the fast way could put a quoted line end between two pieces without any other test noticing it."""
    content = "image,label\n" + "".join(f"{i}.jpg,{'cat' if i % 7 else chr(34) + 'c' + chr(34)}\n" for i in range(500))
    monkeypatch.setattr(text_pieces, "PIECE_BYTES", 40)
    monkeypatch.setattr(text_pieces, "MAX_PIECES", 1000)
    file = file_of(opened(write(tmp_path, content)))
    fast = file.divided(0)
    monkeypatch.setattr(text_pieces, "_after_lines", lambda *_: None)
    assert file.divided(0) == fast
    assert len(fast) > 100


def listing(source, parts):
    rows, skipped = [], {}
    for part in parts:
        for one in source.list_part(part, 7):
            rows += one.table().to_pylist()
            skipped |= {kind: skipped.get(kind, 0) + count for kind, count in one.skipped.items()}
    return rows, skipped


CSV = (
    'image,label,split,age\na/1.jpg,cat,train,1\n"a/2\n.jpg",dog,,2.5\nx,"y\na/1.jpg,cat,DISCARD,3\n../b.jpg,cat,,\n\n'
)
TABLES = {
    "CSV": ("", {"labels.csv": CSV * 3}),
    "CSV in a folder": (".", {"labels.csv": "image,label\n" + "a/1.jpg,cat\na/2.jpg,dog\n" * 9, "a/3.jpg": ""}),
    "a table for each split": (".", dict.fromkeys(("train.csv", "test.csv"), "image,label\n" + "a/1.jpg,cat\n" * 9)),
}


@pytest.mark.usefixtures("tiny_pieces")
@pytest.mark.parametrize(("where", "files"), TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("ignored", [(), ("a/2*",)])
def test_sources_of_tables_list_the_same_in_pieces(where, files, ignored, tmp_path):
    write_tree(tmp_path, {name: content.encode() for name, content in {"a/1.jpg": "x", "a/2.jpg": "", **files}.items()})
    source = open_source(str(tmp_path / (where or "labels.csv")), SourceOptions(ignore=ignored))
    pieces = [piece for part in source.parts() for piece in source.divided(part)]
    assert len(pieces) > len(source.parts())
    assert all(source.divided(piece) == [piece] for piece in pieces if not isinstance(piece, int | tuple))
    assert listing(source, pieces) == listing(source, source.parts())


@pytest.mark.usefixtures("tiny_pieces")
def test_tables_that_cannot_be_divided_stay_whole(tmp_path):
    utf_16 = "image,label\n" + "a.jpg,cat\n" * 50
    array = "[" + ",\n".join(['{"image": "a.jpg", "label": "cat"}'] * 9) + "]"
    for name, content in (("a.csv", utf_16.encode("utf-16")), ("b.json", array.encode())):
        source = opened(write(tmp_path, content, name))
        assert source.divided(source.parts()[0]) == source.parts()[:1]
    source = opened(write(tmp_path, utf_16, "c.csv"))
    first, rest = source.parts()
    assert len(source.divided(first)) > 10
    assert source.divided(rest) == [rest]


def test_a_small_table_stays_whole_and_is_not_read_again(tmp_path, monkeypatch):
    source = opened(write(tmp_path, "image,label\n" + "a.jpg,cat\n" * 50))
    monkeypatch.setattr(csv_files, "read_lines", None)
    assert source.divided(source.parts()[0]) == source.parts()[:1]


@pytest.mark.usefixtures("tiny_pieces")
def test_pieces_of_another_table_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("shardkit.sources.hosts.PAUSES_SECONDS", ())
    path = write(tmp_path, "image,label\n" + "a.jpg,cat\n" * 50)
    source = opened(path)
    pieces = source.divided(source.parts()[0])
    assert all(isinstance(one.piece, TextPiece) for one in pieces)
    write(tmp_path, path.read_text().replace("a.jpg", "ab.jpg"))
    with pytest.raises(SourceChangedError, match=r"labels.csv: the table has changed since the conversion began"):
        list(source.list_part(pieces[1], 9))


@given(
    st.lists(st.sampled_from(["a", "b,c", ",", ";", "ä", " ", "#", "\u2028", "\x0c", "\ufeff"])), st.sampled_from(",;")
)
def test_lines_without_quotes_are_divided_as_the_csv_module_divides_them(parts, delimiter):
    texts = ["".join(parts[start : start + 4]) + end for start, end in enumerate(["\n", "\r\n", "\r", "\n", ""])]
    wanted = [values for values in csv.reader(texts, delimiter=delimiter, strict=True) if any(values)]
    given_lines = (Line(number, text, None) for number, text in enumerate(texts, 1))
    assert [record.values for record in split_records(given_lines, delimiter, spaced=False)] == wanted
