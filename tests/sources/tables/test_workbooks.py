"""Workbooks, as Excel, LibreOffice, pandas and people make them."""

import datetime as dt
import sys
import zipfile

import openpyxl
import pytest

from shardkit.errors import DataError, MissingExtraError
from shardkit.sources.formats.tables import excel_files, workbooks
from shardkit.testing import opened, read_source

from ..table_reading import rows

HEADER = ["image", "label"]


def book(folder, name="labels.xlsx", **sheets):
    """A workbook of these sheets, each a list of rows."""
    made = openpyxl.Workbook()
    made.remove(made.active)
    for title, content in sheets.items():
        sheet = made.create_sheet(title)
        for row in content:
            sheet.append(row)
    made.save(folder / name)
    return folder / name


# name: rows of a sheet, and key and label, or key and reason
SHEETS = {
    "plain": ([HEADER, ["a.jpg", "cat"], ["b.jpg", "dog"]], [("a.jpg", "cat"), ("b.jpg", "dog")]),
    "empty rows": (
        [[], HEADER, [], ["a.jpg", "cat"], [None, None], ["b.jpg", " "]],
        [("a.jpg", "cat"), ("b.jpg", "no_label")],
    ),
    "empty columns before and between": (
        [[None, "image", None, "label"], [None, "a.jpg", None, "cat"]],
        [("a.jpg", "cat")],
    ),
    "whole numbers": (
        [HEADER, ["a.jpg", 1.0], ["b.jpg", 2], ["c.jpg", None]],
        [("a.jpg", "1"), ("b.jpg", "2"), ("c.jpg", "no_label")],
    ),
    "identifiers": ([["id", "label"], [17, "cat"]], None),
    "an error of a formula": ([HEADER, ["a.jpg", "#N/A"], ["b.jpg", "cat"]], [("a.jpg", "no_label"), ("b.jpg", "cat")]),
    "the index of pandas": ([[None, *HEADER], [0, "a.jpg", "cat"]], [("a.jpg", "cat")]),
    "a remark beside the table": (
        [HEADER, ["a.jpg", "cat"], ["b.jpg", "dog", "blurred?"]],
        [("a.jpg", "cat"), ("labels.xlsx, line 3", "bad_line")],
    ),
    "text in many letters": ([HEADER, ["ü/猫.jpg", "ねこ & <cat>"]], [("ü/猫.jpg", "ねこ & <cat>")]),
}


@pytest.mark.parametrize(("content", "expected"), SHEETS.values(), ids=SHEETS.keys())
def test_the_rows_of_a_sheet_are_records(content, expected, tmp_path):
    path = book(tmp_path, Sheet1=content)
    if expected is None:
        (tmp_path / "17.jpg").write_bytes(b"")
        expected = [("17.jpg", "cat")]
    assert rows(path, "key", "label_name") == expected
    assert opened(path).layout == "table (Excel)"


def test_further_columns_are_carried_and_lines_are_those_of_the_sheet(tmp_path):
    day = dt.datetime(2024, 2, 29)  # noqa: DTZ001 - Excel knows no time zones
    path = book(tmp_path, Sheet1=[[], [*HEADER, "age", "when", "seen"], ["a.jpg", "cat", 1.5, day, True]])
    columns = ("line", "feature:age", "feature:when", "feature:seen")
    assert rows(path, *columns) == [(3, 1.5, "2024-02-29T00:00:00", 1)]


def test_the_sheet_with_a_table_is_read_and_named(tmp_path):
    path = book(tmp_path, About=[["made by hand"]], Labels=[HEADER, ["a.jpg", "cat"]], Empty=[])
    assert "read as table (Excel): sheet 'Labels'; the image from column 'image'" in opened(path).describe()
    assert rows(path, "key") == [("a.jpg",)]


def test_sheets_with_one_header_are_one_table_whose_splits_are_their_names(tmp_path):
    records = [[HEADER, [f"{name}.jpg", "cat"], [], [f"{name}2.jpg", "dog"]] for name in "ab"]
    path = book(tmp_path, **dict(zip(("Train", "Test"), records, strict=True)))
    assert rows(path, "key", "split") == [
        ("a.jpg", "train"),
        ("a2.jpg", "train"),
        ("b.jpg", "test"),
        ("b2.jpg", "test"),
    ]
    assert rows(path, "line") == [(2,), (4,), (6,), (8,)]


def test_sheets_of_months_are_one_table_with_titles_above_the_header(tmp_path):
    months = {month: [[month], ["by hand"], [], HEADER, [f"{month}.jpg", "cat"]] for month in ("May", "June")}
    path = book(tmp_path, **months)
    assert rows(path, "key", "feature:sheet") == [("May.jpg", "May"), ("June.jpg", "June")]
    assert "sheets 'May', 'June', whose names are column 'sheet'" in opened(path).describe()


def test_a_table_of_records_without_names_of_columns_has_no_title(tmp_path):
    path = book(tmp_path, Sheet1=[["a.jpg"], ["b.jpg", "cat"], ["c.jpg", "dog"]])
    with pytest.raises(DataError, match="line 2: it holds 'cat' to the right"):
        opened(path)


def test_the_sheet_that_names_images_is_read_next_to_one_that_explains_the_classes(tmp_path):
    path = book(tmp_path, Codes=[["code", "name"], [1, "cat"], [2, "dog"]], Images=[HEADER, ["a.jpg", 1], ["b.jpg", 2]])
    assert rows(path, "key", "label_name") == [("a.jpg", "1"), ("b.jpg", "2")]


@pytest.mark.parametrize(
    ("sheets", "message"),
    [
        (
            {"one": [HEADER, ["a", "b"]], "other": [["id", "age"], ["a", 1]]},
            "the sheets 'one', 'other' hold tables; save",
        ),
        ({"train": []}, "the table is empty"),
        ({"train": [HEADER]}, "the table is empty"),
        ({"train": [["image", "image", "label"], ["a", "b", "c"]]}, "the column 'image' occurs twice"),
    ],
)
def test_a_workbook_without_one_table_is_refused(sheets, message, tmp_path):
    with pytest.raises(DataError, match=message):
        opened(book(tmp_path, **sheets))


def test_a_damaged_workbook_is_refused(tmp_path):
    path = book(tmp_path, Sheet1=[HEADER, *([f"{i}.jpg", f"class {i % 9}"] for i in range(500))])
    whole = path.read_bytes()
    for content in (b"", b"image,label\na,b\n", whole[: len(whole) // 2]):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"labels\.xlsx: this is not an Excel workbook, or a damaged one"):
            opened(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("hello.txt", "no workbook")
    with pytest.raises(DataError, match="not an Excel workbook"):
        opened(path)


def test_a_sheet_that_breaks_off_is_refused_wherever_that_is(tmp_path):
    path = book(tmp_path, Sheet1=[HEADER, *([f"{i}.jpg", f"class {i % 9}"] for i in range(3000))])
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data[: len(data) - 200] if name == sheet else data)
    with pytest.raises(DataError, match="a damaged one"):
        read_source(path)


def test_a_workbook_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    path = book(tmp_path, Sheet1=[HEADER, ["a.jpg", "cat"]])
    monkeypatch.setattr(excel_files, "_MAX_BYTES", 1000)
    with pytest.raises(DataError, match=r"the workbook unpacks to .* save it as CSV"):
        opened(path)


CELL = '<c t="inlineStr"><is><t>{}</t></is></c>'
WIDE = CELL.format("a") * (1 + (1 << 14))


@pytest.mark.parametrize(
    ("row", "found"),
    [
        (f'<row r="3">{WIDE}</row>', "a row holds more than 16,384 cells, the most that Excel allows; save it as CSV"),
        (f'<row r="3">{CELL.format("a" * (3 << 19))}</row>', "a text is longer than 1 MiB; save it as CSV"),
        (f'<row r="{10**12}">{CELL.format("a.jpg")}</row>', "a row has a number above 1,048,576"),
        ("<si><t/></si>" * 3, "the workbook holds more than 2 different texts; save it as CSV"),
        (f"<x>{'<y/>' * 4000}</x>", "'docProps/app.xml' in it unpacks to more than 0 MiB; save it as CSV"),
    ],
    ids=["cells", "text", "row", "texts", "settings"],
)
def test_a_workbook_of_kilobytes_that_takes_gigabytes_is_refused(row, found, tmp_path, monkeypatch):
    path = book(tmp_path, Sheet1=[HEADER, ["a.jpg", "cat"]])
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = "docProps/app.xml" if row.startswith("<x") else "xl/worksheets/sheet1.xml"
    members[name] = members[name].replace(b"</sheetData>", f"{row}</sheetData>".encode())
    if row.startswith("<si"):
        monkeypatch.setattr(excel_files, "_MAX_TEXTS", 2)
    if row.startswith("<x"):
        members[name] += row.encode()
        monkeypatch.setattr(excel_files, "_MAX_SETTINGS_BYTES", max(map(len, members.values())) - 1)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    assert path.stat().st_size < 20_000
    with pytest.raises(DataError) as raised:
        read_source(path)
    assert found in str(raised.value)
    assert str(raised.value).startswith(f"{path}: ")


def test_without_openpyxl_the_message_says_what_to_install(tmp_path, monkeypatch):
    path = book(tmp_path, Sheet1=[HEADER, ["a.jpg", "cat"]])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(
        MissingExtraError, match=r"labels.xlsx: reading Excel needs openpyxl.*pip install .*\[excel\]'?$"
    ):
        opened(path)


def ods(path, *cells, name="content.xml"):
    """A workbook of LibreOffice with these rows of XML."""
    spaces = "".join(
        f' xmlns:{one}="urn:oasis:names:tc:opendocument:xmlns:{one}:1.0"' for one in ("office", "table", "text")
    )
    sheet = f'<table:table table:name="Sheet1">{"".join(cells)}</table:table>'
    body = f"<office:body><office:spreadsheet>{sheet}</office:spreadsheet></office:body>"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, f"<office:document-content{spaces}>{body}</office:document-content>")
    return path


def text(value, attributes=""):
    return f'<table:table-cell office:value-type="string" {attributes}><text:p>{value}</text:p></table:table-cell>'


def number(value):
    return f'<table:table-cell office:value-type="float" office:value="{value}"/>'


def row(*cells, attributes=""):
    return f"<table:table-row {attributes}>{''.join(cells)}</table:table-row>"


def test_a_workbook_of_libreoffice_is_read_with_its_repeated_cells_and_rows(tmp_path):
    empty = '<table:table-cell table:number-columns-repeated="1021"/>'
    path = ods(
        tmp_path / "labels.ods",
        row(text("Photographs of May"), empty),
        row(empty, attributes='table:number-rows-repeated="2"'),
        row(text("image"), text("label"), text("age"), text("note"), empty),
        row(text("a.jpg"), text("x &amp; y"), number(3), text("#N/A"), empty),
        row(text("b.jpg"), text("z"), number(4), text("seen <text:span>twice</text:span>"), empty),
        row(empty, attributes='table:number-rows-repeated="1048000"'),
    )
    columns = ("key", "label_name", "line", "feature:age", "feature:note")
    assert rows(path, *columns) == [("a.jpg", "x & y", 5, 3, ""), ("b.jpg", "z", 6, 4, "seen twice")]
    assert opened(path).layout == "table (OpenDocument)"


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\x03\x04 and no archive"])
def test_a_damaged_workbook_of_libreoffice_is_refused(content, tmp_path):
    (tmp_path / "labels.ods").write_bytes(content)
    with pytest.raises(DataError, match="is not an OpenDocument workbook, or a damaged one"):
        opened(tmp_path / "labels.ods")


def test_a_workbook_of_libreoffice_without_content_or_with_too_much_is_refused(tmp_path, monkeypatch):
    with pytest.raises(DataError, match="is not an OpenDocument workbook"):
        opened(ods(tmp_path / "a.ods", name="styles.xml"))
    monkeypatch.setattr(workbooks, "_MAX_BYTES", 1 << 20)
    huge = row(text("x" * (2 << 20)))
    with pytest.raises(DataError, match="unpacks to 2 MiB, more than 1; save it as CSV"):
        opened(ods(tmp_path / "b.ods", huge))
    many = row(text("x", 'table:number-columns-repeated="99999"'))
    with pytest.raises(DataError, match="a row holds more than 16,384 cells"):
        opened(ods(tmp_path / "c.ods", many))
