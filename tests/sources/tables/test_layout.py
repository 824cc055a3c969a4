import codecs
import pickle

import pyarrow as pa
import pytest

from shardkit.errors import CallError, DataError, UnknownNameError
from shardkit.testing import listed, opened, read_source

from ..table_reading import rows, write, write_parquet

# name: a table, and (key, split, label name) or (key, reason) of its records
TABLES = {
    "plain": ("image,label\na.jpg,cat\nb/c.png,dog\n", [("a.jpg", None, "cat"), ("b/c.png", None, "dog")]),
    "no line end at the end": ("image,label\na.jpg,cat", [("a.jpg", None, "cat")]),
    "Windows line ends": ("image,label\r\na.jpg,cat\r\n", [("a.jpg", None, "cat")]),
    "old Macintosh line ends": ("image,label\ra.jpg,cat\rb.jpg,dog", [("a.jpg", None, "cat"), ("b.jpg", None, "dog")]),
    "byte order mark": ("\ufeffimage,label\na.jpg,cat\n", [("a.jpg", None, "cat")]),
    "Excel's Unicode text": ("image\tlabel\r\nü.jpg\tねこ\r\n".encode("utf-16"), [("ü.jpg", None, "ねこ")]),
    "UTF-16 of the other order": (
        codecs.BOM_UTF16_BE + "image,label\na.jpg,cat\n".encode("utf-16-be"),
        [("a.jpg", None, "cat")],
    ),
    "Excel's line of the delimiter": ("sep=;\r\nimage;label\r\na.jpg;cat, small\r\n", [("a.jpg", None, "cat, small")]),
    "the same without header": ("sep=;\na.jpg;cat\nb.jpg;dog\n", [("a.jpg", None, "cat"), ("b.jpg", None, "dog")]),
    "an index that pandas wrote and read again": ("Unnamed: 0,image,label\n0,a.jpg,cat\n", [("a.jpg", None, "cat")]),
    "many empty lines at the end": ("image,label\na.jpg,cat\n" + "\n" * 9 + ",\n" * 9, [("a.jpg", None, "cat")]),
    "semicolons, as a German Excel writes": ("image;label\na.jpg;cat, small\n", [("a.jpg", None, "cat, small")]),
    "tabs": ("image\tlabel\na.jpg\tcat\n", [("a.jpg", None, "cat")]),
    "bars": ("image|label\na.jpg|cat\n", [("a.jpg", None, "cat")]),
    "a delimiter inside quotes does not count": ('"image","label;a;b;c"\na.jpg,cat\n', "none of the columns"),
    "blanks behind commas": ('image, label\na.jpg, "cat, small"\n', [("a.jpg", None, "cat, small")]),
    "blanks around a separator": ("image,label\na.jpg , cat \n", [("a.jpg", None, "cat")]),
    "quotes": (
        'image,label\n"a, b.jpg","say ""cat"""\n"c.jpg","two\nlines"\nd.jpg,dog\n',
        [("a, b.jpg", None, 'say "cat"'), ("c.jpg", None, "two\nlines"), ("d.jpg", None, "dog")],
    ),
    "empty lines, and Excel's empty records": ("image,label\n\na.jpg,cat\n,\n\r\n,\n", [("a.jpg", None, "cat")]),
    "names in any case": ("File_Name,LABEL\na.jpg,cat\n", [("a.jpg", None, "cat")]),
    "the index that pandas writes": (",image,label\n0,a.jpg,cat\n", [("a.jpg", None, "cat")]),
    "integers are their text": ("image,label\na.jpg,3\nb.jpg,03\n", [("a.jpg", None, "3"), ("b.jpg", None, "03")]),
    "splits in any case": (
        "split,path,label\nTRAIN,a.jpg,x\nVALIDATE,b.jpg,x\nvalid,c.jpg,x\nTest,d.jpg,x\nholdout,e.jpg,x\n",
        [
            ("a.jpg", "train", "x"),
            ("b.jpg", "validation", "x"),
            ("c.jpg", "validation", "x"),
            ("d.jpg", "test", "x"),
            ("e.jpg", "holdout", "x"),
        ],
    ),
    "some without a split": (
        "image,label,ml_use\na.jpg,x,train\nb.jpg,x,UNASSIGNED\nc.jpg,x,\nd.jpg,x,a-b\n",
        [("a.jpg", "train", "x"), ("b.jpg", "bad_split"), ("c.jpg", "bad_split"), ("d.jpg", "bad_split")],
    ),
    "none with a split": (
        "image,label,set\na.jpg,x,unassigned\nb.jpg,x,\n",
        [("a.jpg", None, "x"), ("b.jpg", None, "x")],
    ),
    "the split comes late": (
        "image,label,set\n" + "a.jpg,x,\n" * 1001 + "b.jpg,x,test\n",
        [("a.jpg", "bad_split")] * 1001 + [("b.jpg", "test", "x")],
    ),
    "TFRecorder's DISCARD is left out": (
        "split,image,label\nDISCARD,a.jpg,x\ntrain,b.jpg,x\n discard,c.jpg,x\n",
        [("b.jpg", "train", "x")],
    ),
    "nothing but DISCARD and no split": (
        "DISCARD,a.jpg,x\nUNASSIGNED,b.jpg,x\n",
        [("b.jpg", None, "x")],
    ),
    "AutoML's without header": (
        "TRAIN,a.jpg,x\nUNASSIGNED,b.jpg,y\n,c.jpg,z\n",
        [("a.jpg", "train", "x"), ("b.jpg", "bad_split"), ("c.jpg", "bad_split")],
    ),
    "names that begin as comments, without header": (
        "#1.jpg,x\n#new/2.jpg,y\n",
        [("#1.jpg", None, "x"), ("#new/2.jpg", None, "y")],
    ),
    "titles and comments above the names of the columns": (
        "Inspection 2024;;\n# by hand\nimage;label;age\na.jpg;x;1\n",
        [("a.jpg", None, "x")],
    ),
    "R's names of rows": (
        '"image","label"\n"1","a.jpg","x"\n"2","b.jpg","y"\n',
        [("a.jpg", None, "x"), ("b.jpg", None, "y")],
    ),
    "a delimiter at the end of records": (
        "image,label\na.jpg,x,\nb.jpg,y,\n",
        [("a.jpg", None, "x"), ("b.jpg", None, "y")],
    ),
    "columns of blanks": ("image   label\na.jpg   x\nbb.jpg  y\n", [("a.jpg", None, "x"), ("bb.jpg", None, "y")]),
    "TFRecorder's with header": ("split,image_uri,label\nVALIDATION,a.jpg,x\n", [("a.jpg", "validation", "x")]),
    "a column that is called like a split": ("train,path,label\n1,a.jpg,x\n", [("a.jpg", None, "x")]),
    "a class that is called like a column, without header": (
        "a.jpg,image\nb.jpg,label\n",
        [("a.jpg", None, "image"), ("b.jpg", None, "label")],
    ),
    "two columns without header": ("a.JPG,x\nb,y\n", [("a.JPG", None, "x"), ("b", None, "y")]),
    "the path of a headerless table looks like a column": ("path,label\npath,x\n", [("path", None, "x")]),
    "no label": (
        "image,label\na.jpg,\nb.jpg,  \nc.jpg,x\n",
        [("a.jpg", "no_label"), ("b.jpg", "no_label"), ("c.jpg", None, "x")],
    ),
    "one absolute path among relative ones": (
        "image,label\na.jpg,x\n/b.jpg,x\nc.jpg,x\n",
        [("a.jpg", None, "x"), ("labels.csv, line 3", "bad_path"), ("c.jpg", None, "x")],
    ),
    "bad paths, relative": (
        "image,label\n./a.jpg,x\n../b.jpg,x\n,x\nc\\d.jpg,x\n.\\e.jpg,x\nf/./g.jpg,x\nC:\\h.jpg,x\n..,x\nü/ 猫.jpg,x\n",
        [
            ("a.jpg", None, "x"),
            ("labels.csv, line 3", "bad_path"),
            ("labels.csv, line 4", "bad_path"),
            ("c/d.jpg", None, "x"),
            ("e.jpg", None, "x"),
            ("labels.csv, line 7", "bad_path"),
            ("labels.csv, line 8", "bad_path"),
            ("labels.csv, line 9", "bad_path"),
            ("ü/ 猫.jpg", None, "x"),
        ],
    ),
    "an absolute path later": (
        "image,label\n" + "a.jpg,x\n" * 1000 + "/etc/b.jpg,x\ns3://c/d.jpg,x\n",
        [("a.jpg", None, "x")] * 1000 + [("labels.csv, line 1002", "bad_path"), ("labels.csv, line 1003", "bad_path")],
    ),
    "wrong number of fields": (
        "image,label\na.jpg\nb.jpg,x,y\nc.jpg,x\n",
        [("labels.csv, line 2", "bad_line"), ("labels.csv, line 3", "bad_line"), ("c.jpg", None, "x")],
    ),
    "a quote that is not closed costs its own line only": (
        'image,label\na.jpg,"x\nb.jpg,x\nc.jpg,"y"\nd.jpg,x\n',
        [("labels.csv, line 2", "bad_line"), ("b.jpg", None, "x"), ("c.jpg", None, "y"), ("d.jpg", None, "x")],
    ),
    "the same at the end": (
        'image,label\na.jpg,x\nb.jpg,"x\nc.jpg,x\n',
        [("a.jpg", None, "x"), ("labels.csv, line 3", "bad_line"), ("c.jpg", None, "x")],
    ),
    "the same, and 200,000 characters behind it": (
        'image,label\na.jpg,"x\n' + "b.jpg,x\n" * 25_000,
        [("labels.csv, line 2", "bad_line"), *[("b.jpg", None, "x")] * 25_000],
    ),
    "lines that are not UTF-8": (
        b"image,label\ncaf\xe9.jpg,x\nb.jpg,x\nc.jpg,\xff\n\xed\xa0\x80.jpg,x\n",
        [
            ("labels.csv, line 2", "bad_line"),
            ("b.jpg", None, "x"),
            ("labels.csv, line 4", "bad_line"),
            ("labels.csv, line 5", "bad_line"),
        ],
    ),
    "a NUL": ("image,label\na\0.jpg,x\nb.jpg,x\n", [("labels.csv, line 2", "bad_line"), ("b.jpg", None, "x")]),
    "lines of 17 MiB, one with the next chunk's beginning": (
        "image,label\na.jpg," + "x" * (17 << 20) + "\nb.jpg,x\nc.jpg," + "y" * (17 << 20),
        [("labels.csv, line 2", "bad_line"), ("b.jpg", None, "x"), ("labels.csv, line 4", "bad_line")],
    ),
}


@pytest.mark.parametrize(("content", "expected"), TABLES.values(), ids=TABLES.keys())
def test_records_are_read_as_the_table_says(content, expected, tmp_path):
    path = write(tmp_path, content)
    if isinstance(expected, str):
        with pytest.raises((DataError, CallError), match=expected):
            opened(path)
    else:
        assert rows(path, "key", "split", "label_name") == expected


def test_a_message_names_the_file_the_line_and_what_was_found(tmp_path):
    path = write(tmp_path, 'image,label\na.jpg,x\n../b.jpg,x\nc.jpg,\ne.jpg\n"f.jpg,x\n')
    # Where no image is known, the place is the key.
    found = [(row["key"], row["message"]) for row in read_source(path).table.to_pylist()]
    assert [message if message is None or ", line " in message else f"{key}: {message}" for key, message in found] == [
        None,
        (
            f"labels.csv, line 3: the path '../b.jpg' is outside {tmp_path}/ (resolved to {tmp_path.parent}/b.jpg); "
            "set `root` to a folder that contains all images"
        ),
        "labels.csv, line 4: column 'label' is empty; give the image a label or leave it out",
        "labels.csv, line 5: it has 1 field, the table 2 columns",
        "labels.csv, line 6: a quote that opens here is never closed",
    ]


# the first 1,000 values of a column, a later one, and the type that all of them are carried in
LATER = [
    ("1", "2", pa.int64()),
    ("1", "", pa.string()),
    ("1", "2.5", pa.float32()),
    ("1", "x", pa.string()),
    ("1", "007", pa.string()),
    ("1", str(2**63), pa.string()),
    ("0.5", "", pa.float32()),
    ("0.5", "big", pa.string()),
    ("0.5", "1e39", pa.string()),
    ("", "1", pa.string()),
]


def test_columns_without_a_header_have_numbers_and_may_be_named(tmp_path):
    path = write(tmp_path, "a.jpg,x,0\nb.jpg,y,0\n")
    assert rows(path, "key", "label_name", label_columns=("column 2",)) == [("a.jpg", "x"), ("b.jpg", "y")]


@pytest.mark.parametrize(("first", "later", "type_"), LATER)
def test_a_value_that_comes_late_widens_its_column_and_costs_no_image(first, later, type_, tmp_path):
    path = write(tmp_path, "image,label,extra\n" + f"a.jpg,x,{first}\n" * 1000 + f"b.jpg,x,{later}\na.jpg\n")
    found = read_source(path).table
    assert found["reason"].to_pylist() == [None] * 1001 + ["bad_line"]
    assert found["feature:extra"].type == type_
    if type_ == pa.string():
        assert found["feature:extra"].to_pylist()[999:1001] == [first, later]


def test_a_field_may_be_as_long_as_a_line(tmp_path):
    path = write(tmp_path, f'image,label,note\na.jpg,x,{"y" * 200_000}\nb.jpg,x,"{"z," * 100_000}"\n')
    assert [(key, len(note)) for key, note in rows(path, "key", "feature:note")] == [
        ("a.jpg", 200_000),
        ("b.jpg", 200_000),
    ]


def test_line_is_where_a_record_starts(tmp_path):
    path = write(tmp_path, 'image,label\n\n"a.jpg","two\nlines"\nb.jpg,x\n')
    assert rows(path, "key", "line") == [("a.jpg", 3), ("b.jpg", 5)]


# columns of CSV values and how they are carried
CARRIED = {
    "integers": (["1", "-2", "0"], pa.int64(), [1, -2, 0]),
    "the ends of int64": ([str(2**63 - 1), str(-(2**63))], pa.int64(), [2**63 - 1, -(2**63)]),
    "beyond int64 they are names": ([str(2**63), "1"], pa.string(), [str(2**63), "1"]),
    "numbers": (["1", "2.5", "-1e3", ".5"], pa.float32(), [1, 2.5, -1000, 0.5]),
    "numbers with one missing": (["1.5", ""], pa.float32(), [1.5, None]),
    "integers with one missing": (["1", ""], pa.string(), ["1", ""]),
    "leading zeros make a name": (["007", "12"], pa.string(), ["007", "12"]),
    "Python's own spellings are none": (["1_000", "2"], pa.string(), ["1_000", "2"]),
    "digits of other scripts are none": (["\u0661", "2"], pa.string(), ["\u0661", "2"]),
    "texts": (["x", "1", ""], pa.string(), ["x", "1", ""]),
    "empty": (["", ""], pa.string(), ["", ""]),
}


@pytest.mark.parametrize(("values", "type_", "expected"), CARRIED.values(), ids=CARRIED.keys())
def test_further_columns_are_carried_in_the_type_that_fits_all(values, type_, expected, tmp_path):
    path = write(tmp_path, "image,label,extra\n" + "".join(f"a.jpg,x,{value}\n" for value in values))
    column = read_source(path).table["feature:extra"]
    assert column.type == type_
    assert [None if one != one else one for one in column.to_pylist()] == expected  # None for NaN


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("", {}, "the table is empty"),
        ("\n\n", {}, "the table is empty"),
        (
            "filename,width,class,xmin,ymin,xmax,ymax\na.jpg,9,x,1,2,3,4\n",
            {"layout": "table"},
            "are boxes; this looks like a table of boxes; leave out layout='table' to read .*label_columns",
        ),
        (
            "ImageID,LabelName,XMin,XMax,YMin,YMax\n0,x,.1,.5,.2,.4\n",
            {"layout": "table"},
            "'XMin', 'YMin', 'XMax', 'YMax' are boxes",
        ),
        (
            "image,bbox\na.jpg,1 2 3 4\n",
            {"layout": "table"},
            "has a usual name for labels; .*; boxes are not read here; use COCO JSON",
        ),
        ("image,label\n", {}, "no records that can be read; only columns"),
        # Of a table without header, not even a column that the user names may cost the first record.
        ("0.jpg,k0,x\n1.jpg,k1,x\n", {"image_column": "0.jpg", "label_columns": ("k0",)}, "there is no column '0.jpg'"),
        ("0.jpg,k0,x\n1.jpg,k1\n", {}, "no header line: line 1 holds '0.jpg', .* its 3 columns, such as image,label"),
        ("TRAIN,0.jpg,cat,dog\n", {}, "no header line: line 1 holds '0.jpg'"),
        ("TRAIN,gs://b/0,cat,0.1,0.1,,,0.5,0.5,,\n", {}, "no header line: line 1 holds 'TRAIN', .* its 11 columns"),
        (
            "# made by me\n# twice\nphoto by,kind\n0.jpg,k0\n",
            {},
            "line 1 is a comment, '# made by me'; remove all comment",
        ),
        ("\nk0,0.jpg,path\n", {}, "no header line: line 2 holds '0.jpg'"),
        ("image,label\na\nb\n", {}, "no records that can be read; line 2: it has 1 field"),
        ("image,label\na.jpg,x\n".encode("utf-16")[:-1], {}, "begins as UTF-16 and is damaged"),
        ("image,label\na.jpg,x\n".encode("utf-16-le"), {}, "line 1 cannot be read: it holds a NUL character"),
        (b"im\xe4\x81ge,label\na.jpg,x\n", {}, "line 1 cannot be read: it is not UTF-8"),
        ('"image,label\na.jpg,x\n', {}, "line 1 cannot be read: a quote that opens here is never closed"),
        ("image,label,label\na.jpg,x,y\n", {}, "the column 'label' occurs twice; rename one of them"),
        (
            "image,colour\na.jpg,x\n",
            {},
            "none of the columns 'image', 'colour' has a usual name for labels; name it with label_columns",
        ),
        (
            "photo,label\na.jpg,x\n",
            {},
            "none of .* 'photo', 'label' has a usual name for image paths, and values of 'photo' name no files in",
        ),
        ("image,label\n,x\n,y\n", {}, "column 'image' holds no path"),
        ("image,label\na.jpg,x\n", {"image_column": "photo"}, "there is no column 'photo'; there are 'image', 'label'"),
        ("image,label\na.jpg,x\n", {"label_columns": ("y",)}, "there is no column 'y'"),
        ("image,label\na.jpg,x\n", {"split_column": "y"}, "there is no column 'y'"),
        ("image,label\na.jpg,x\n/b.jpg,x\n", {}, r"names 'a.jpg' and '/b.jpg'"),
        ("image,label\n/a.jpg,x\ns3://b/c.jpg,x\n", {}, "paths of a table"),
        ("image,label\ns3://a/a.jpg,x\ns3://b/c.jpg,x\n", {}, "all in one bucket"),
        ("image,label\nhttp://a/b.jpg,x\n", {}, "not http://"),
        ("image,label\na.jpg,x\n", {"label_separator": ""}, "label_separator must not be empty"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_with_the_remedy(content, options, message, tmp_path):
    path = write(tmp_path, content)
    with pytest.raises((DataError, CallError), match=message) as caught:
        opened(path, **options)
    assert isinstance(caught.value, UnknownNameError) == ("there is no column" in message)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("labels.xls", r"end in .csv.*; save the workbook as .xlsx"),
        ("labels.txt", "its lines are no records of a table"),
        ("none.csv", "no such file"),
    ],
)
def test_what_is_no_table_is_refused(name, message, tmp_path):
    write(tmp_path, "", "labels.xls")
    write(tmp_path, "", "labels.txt")
    with pytest.raises((DataError, CallError), match=message):
        opened(tmp_path / name, layout="table")


def test_the_source_says_what_became_of_each_column(tmp_path):
    path = write(tmp_path, "subset,image,label,patient,age\ntrain,a.jpg,x,p1,3\n")
    source = opened(path, group_by="patient")
    assert source.layout == "table (CSV)"
    assert source.describe() == (
        f"{path}: read as table (CSV): the image from column 'image'; the class from column 'label'; "
        "the split from 'subset'; the group from 'patient'; stored as features 'age' (int64)"
    )


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        ("a.csv", "CSV"),
        ("a.TSV", "TSV"),
        ("a.jsonl", "JSON Lines"),
        ("a.ndjson", "JSON Lines"),
        ("a.parquet", "Parquet"),
    ],
)
def test_every_ending_has_its_layout(name, layout, tmp_path):
    if layout == "Parquet":
        path = write_parquet(tmp_path, {"image": ["a.jpg"], "label": ["x"]}, name)
    else:
        content = [{"image": "a.jpg", "label": "x"}] if layout == "JSON Lines" else "image\tlabel\na.jpg\tx\n"
        path = write(tmp_path, content, name)
    assert opened(path).layout == f"table ({layout})"
    assert rows(path, "key", "label_name") == [("a.jpg", "x")]


def test_tabs_count_more_than_commas_where_the_ending_promises_them(tmp_path):
    path = write(tmp_path, "image,uri\tlabel,name\na.jpg\tx\n", "labels.tsv")
    assert rows(path, "key", "label_name", image_column="image,uri", label_columns=("label,name",)) == [("a.jpg", "x")]


def test_a_group_is_a_column_only_where_there_is_one(tmp_path):
    path = write(tmp_path, "image,label,patient\na.jpg,x,7\nb.jpg,x,\n")
    assert rows(path, "key", "group", group_by="patient") == [("a.jpg", "7"), ("b.jpg", None)]
    source = opened(path, group_by="([a-z])[.]jpg")
    assert "group" not in source.schema.names
    assert "feature:patient" in source.schema.names


@pytest.mark.parametrize("batch_rows", [1, 2, 100])
def test_batches_are_the_same_on_every_call_and_after_the_trip_to_a_worker(batch_rows, tmp_path):
    path = write(tmp_path, "image,label,n\n" + "".join(f"{i}.jpg,x,{i}\n" for i in range(5)))
    source = opened(path)
    there = pickle.loads(pickle.dumps(source))  # noqa: S301 - our own
    assert listed(source, batch_rows).table == listed(there, batch_rows).table == listed(source).table
    assert len(pickle.dumps(source)) < 4000


def test_boxes_are_carried_along_where_the_user_names_the_class(tmp_path):
    path = write(tmp_path, "image,class,xmin,ymin,xmax,ymax\na.jpg,x,1,2,3,4\n")
    assert rows(path, "label_name", "feature:ymax", layout="table", label_columns=("class",)) == [("x", 4)]


def test_discarded_records_are_counted(tmp_path):
    path = write(tmp_path, "image,label,split\n" + "a.jpg,x,DISCARD\n" * 3 + "b.jpg,x,train\n")
    assert read_source(path).skipped == {"records of the split DISCARD": 3}
