import csv

import pytest

from shardkit.errors import CallError
from shardkit.record_sources.datasets.key_files import Corrections, DropList


def test_a_list_of_keys_ignores_empty_lines_and_repeated_keys(tmp_path):
    file = tmp_path / "keys.txt"
    file.write_bytes("\ufeffb/2.png\r\n\n  \nä/1, x.png\nb/2.png".encode())
    found = DropList.of(file)
    assert (found.keys, str(found)) == (("b/2.png", "ä/1, x.png"), str(file))
    same = DropList.of(["ä/1, x.png", "b/2.png"])
    assert same.description("a") == found.description("a") != found.description("b")  # the same in every spelling
    assert found.description("a").startswith("2 keys, hmac ")


def test_corrected_labels_are_a_csv_file_with_a_header(tmp_path):
    file = tmp_path / "labels.csv"
    file.write_text('note,label,key\n,cat,"a, b.png"\n\n,dog ,c.png\n,dog,c.png\n')
    found = Corrections.of(str(file))
    assert found.labels == (("a, b.png", "cat"), ("c.png", "dog"))
    assert Corrections.of({"c.png": "dog", "a, b.png": "cat"}).description("") == found.description("")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "lacks the column 'key'"),
        (b"key;label\na;b\n", "separate fields by commas"),
        (b"key,label\n", "there is no label"),
        (b"key,label\na,b,c\n", "line 2: it has 3 fields, the header 2"),
        (b"key,label\na,\n", "line 2: the label is empty"),
        (b"key,label\n,b\n", "line 2: the key is empty"),
        (b"key,label\na,b\na,c\n", "line 3: 'a' has the label 'b' in an earlier line and 'c' here"),
        (b"key,label\n\xff,b\n", "not UTF-8 (byte 10)"),
    ],
)
def test_bad_corrections(tmp_path, content, said):
    file = tmp_path / "labels.csv"
    file.write_bytes(content)
    with pytest.raises(CallError) as raised:
        Corrections.of(str(file))
    assert said in str(raised.value)
    assert str(file) in str(raised.value)


def test_a_field_that_is_too_long(tmp_path):
    file = tmp_path / "labels.csv"
    file.write_bytes(b"key,label\n" + b"x" * 200 + b",b\n")
    before = csv.field_size_limit(100)  # one for the process: tables raise it
    try:
        with pytest.raises(CallError, match="cannot be read"):
            Corrections.of(str(file))
    finally:
        csv.field_size_limit(before)


@pytest.mark.parametrize("given", ["", "missing.txt", "missing/keys.txt", ".", []])
def test_no_keys(tmp_path, given, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CallError, match="drop"):
        DropList.of(given)
