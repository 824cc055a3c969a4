import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.sources.formats.tables import lines
from shardkit.sources.formats.tables.lines import encoding_of, first_bad_byte, read_lines
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


# text of a table, the encoding that it is written in, and that it is read in
ENCODINGS = {
    "German": ("Bild;Möbel\na.jpg;Größe\n", "cp1252", "cp1252"),
    "German, one word that may be Japanese": ("Bild;Art;Qualität\na.jpg;x;gut\n", "cp1252", "cp1252"),
    "Japanese behind Latin letters": ("image写真,class\na.jpg,A良品\n", "cp932", "cp932"),
    "French": ("image;espèce\na.jpg;épaulière réélue – 5 €\n", "cp1252", "cp1252"),
    "Russian": ("файл;класс\na.jpg;Кошка\nb.jpg;СОБАКА №5\n", "cp1251", "cp1251"),
    "Japanese": ("ファイル名,分類\n部品.jpg,良品\n", "cp932", "cp932"),
    "Chinese": ("文件名,类别\n1.jpg,合格\n2.jpg,猫\n", "gbk", "gb18030"),
    "UTF-8": ("файл;класс\n", "utf-8", "utf-8"),
    # Read in another encoding, names of classes would be wrong without an error.
    "Polish": ("zdjęcie;żółty\n", "cp1250", "utf-8"),
    "Turkish": ("ağaç;çiçek\n", "cp1254", "utf-8"),
    "Korean": ("사진,고양이\n", "cp949", "utf-8"),
    "Greek": ("εικόνα;γάτα\n", "cp1253", "utf-8"),
}


@pytest.mark.parametrize(("text", "written", "read"), ENCODINGS.values(), ids=ENCODINGS.keys())
def test_the_encoding_of_a_table_is_another_one_only_if_all_its_letters_say_so(text, written, read, tmp_path):
    (tmp_path / "t.csv").write_bytes(text.encode(written))
    assert encoding_of(open_folder(str(tmp_path)), "t.csv") == read


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ("a.jpg;x\nb.jpg;žluť\n".encode("cp1250"), (2, 0x9E)),
        ("a.jpg;Größe\n".encode("cp1252"), None),
        ("a.jpg;žluť\n".encode(), None),
        ("a.jpg;žluť\n".encode("utf-16"), None),
    ],
    ids=["Czech", "German as Excel writes it", "UTF-8", "UTF-16"],
)
def test_the_first_byte_that_is_not_of_the_encoding_is_found(data, place, tmp_path):
    (tmp_path / "t.csv").write_bytes(data)
    assert first_bad_byte(open_folder(str(tmp_path)), "t.csv") == place
