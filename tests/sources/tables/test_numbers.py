"""Labels that look like numbers: classes with blanks, quantities, one-hot columns, lines of --classes."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardkit.errors import CallError
from shardkit.sources.engine.labels.numbers import MAX_DISTINCT, number_of, numbers_in
from shardkit.sources.engine.labels.profile import separator_in
from shardkit.testing import opened, read_source
from shardkit.testing.refusals import command_text

from ..table_reading import alone, write, write_parquet


def labels(path, **options):
    """What is read as the label of each record, or its reason."""
    return [
        row["reason"] or row["label_name"] or row.get("label_names") or row.get("target")
        for row in read_source(path, **options).table.to_pylist()
    ]


def csv_of(values):
    return "image,label\n" + "".join(f"{i}.png,{value}\n" for i, value in enumerate(values))


# name: values of the label's column in a CSV file, and what is read
VALUES = {
    "pandas with one NaN": (["0.0", "1.0", "NaN", "2.0", ""], ["0", "1", "no_label", "2", "no_label"]),
    "whole numbers and nan": (["0", "nan", "1"], ["0", "no_label", "1"]),
    "whole numbers and NA": (["3", "NA", "N/A", "null", "?", "1"], ["3", *["no_label"] * 4, "1"]),
    "whole numbers in two spellings": (["1", "1.0", "2e0"], ["1", "1", "2"]),
    "codes of parts that are written like exponents": (["10E2", "1000", "2e0"], ["10E2", "1000", "2e0"]),
    "exponents, and a decimal point that comes late": (
        ["10E2", "1000", *["2"] * 1500, "3.0"],
        ["1000", "1000", *["2"] * 1500, "3"],
    ),
    "exponents of fractions": (["5e-1", "1e1", "2"], [[0.5], [10], [2]]),
    "blanks first": (["NaN"] * 1100 + ["1.0", "0.0"], [*["no_label"] * 1100, "1", "0"]),
    "a minus": (["-1", "1.0"], ["-1", "1"]),
    "digits": ([str(i % 10) for i in range(200)], [str(i % 10) for i in range(200)]),
    "a fraction": (["0.0", "1.5", ""], [[0], [1.5], "no_label"]),
    "a fraction that comes late": (["1.0"] * 1500 + ["1.5"], [[1]] * 1500 + [[1.5]]),
    "a name that comes late": (["1.0"] * 1500 + ["x"], ["1.0"] * 1500 + ["x"]),
    "an identifier is a name": (["007", "008"] * 30, ["007", "008"] * 30),
    "NA among names is a name": (["cat", "NA"] * 30, ["cat", "NA"] * 30),
    "numbers too large to be exact": (["12345678901234567890123", "1"] * 9, ["12345678901234567890123", "1"] * 9),
}


@pytest.mark.parametrize(("values", "expected"), VALUES.values(), ids=VALUES.keys())
def test_whole_numbers_are_classes_and_blanks_have_no_label(values, expected, tmp_path):
    assert labels(write(tmp_path, csv_of(values))) == expected


def test_pandas_columns_of_floats_are_classes_if_all_are_whole(tmp_path):
    images = [f"{i}.png" for i in range(4)]
    assert labels(write_parquet(tmp_path, {"image": images, "label": [0.0, 1.0, math.nan, None]})) == [
        *("0", "1", "no_label", "no_label")
    ]
    assert labels(write_parquet(tmp_path, {"image": images, "label": [0.0, 1.0, 2.5, None]}))[2] == [2.5]
    path = write(tmp_path, [{"image": one, "label": i / 1} for i, one in enumerate(images)], "a.jsonl")
    assert labels(path) == ["0", "1", "2", "3"]
    assert labels(path, label_type="number") == [[0], [1], [2], [3]]


@settings(max_examples=25)  # each lists two files
@given(st.lists(st.one_of(st.integers(-3, 9), st.just(None)), min_size=1).filter(lambda found: set(found) != {None}))
def test_one_blank_changes_no_class(tmp_path_factory, values):
    folder = alone(tmp_path_factory)
    exact = ["no_label" if value is None else str(value) for value in values]
    as_floats = csv_of("" if value is None else f"{value}.0" for value in values)
    as_integers = csv_of("nan" if value is None else value for value in values)
    assert labels(write(folder, as_floats, "a.csv")) == labels(write(folder, as_integers, "b.csv")) == exact


# a column's name, its values, and the label types of the commands; none if it is read as classes
QUANTITIES = [
    ("label", [i % 83 for i in range(1000)], []),  # 1,000 classes of ImageNet are in a million records
    ("label", [i % 83 for i in range(300)], ["class", "number"]),
    ("class_id", [i % 83 for i in range(300)], ["class", "number"]),
    ("target", [i % 83 for i in range(900)], ["number", "class"]),
    ("age", [i % 83 for i in range(900)], ["number", "class"]),
    ("age", [f"{i % 83}.0" for i in range(300)], ["number", "class"]),
    ("target", [i % 50 for i in range(60)], []),
    ("landmark_id", [i % 100 for i in range(1000)], []),
]


@pytest.mark.parametrize(("name", "values", "types"), QUANTITIES)
def test_many_different_whole_numbers_are_refused_with_both_commands(name, values, types, tmp_path):
    path = write(tmp_path, csv_of(values).replace("label", name))
    if not types:
        assert set(labels(path, label_columns=(name,))) == {str(value) for value in values}
        return
    with pytest.raises(CallError, match=f"column '{name}' holds 83 different integers from 0 to 82") as caught:
        opened(path, label_columns=(name,))
    commands = command_text(caught.value).splitlines()[1:]
    assert [line.split("--label-type ")[1].split()[0] for line in commands] == types
    assert all(f"--label-column {name} " in line for line in commands)
    assert labels(path, label_columns=(name,), label_type="class")[82] == "82"
    assert labels(path, label_columns=(name,), label_type="number")[82] == [82]


def one_hot(rows, header="image,cat,dog,owl"):
    return f"{header}\n" + "".join(f"{i}.png,{row}\n" for i, row in enumerate(rows))


# name: rows of columns of one class each, options, and what is read
ONE_HOT = {
    "one 1 in each": (["1,0,0", "0,1,0", "0,0,1"], {}, ["cat", "dog", "owl"]),
    "as floats": (["1.0,0.0,0.0", "0.0,1.0,0.0"], {}, ["cat", "dog"]),
    "as truth values": (["True,False,False", "False,True,False"], {}, ["cat", "dog"]),
    "as signs": (["1,-1,-1", "-1,1,-1"], {}, ["cat", "dog"]),
    "two in one": (["1,0,0", "1,1,0", "0,0,0"], {}, [["cat"], ["cat", "dog"], []]),
    "signs, two in one": (["1,1,-1", "-1,1,-1"], {}, [["cat", "dog"], ["dog"]]),
    "two in one that comes late": (["1,0,0"] * 1500 + ["1,1,0"], {}, [["cat"]] * 1500 + [["cat", "dog"]]),
    "chosen columns": (["1,0,0", "0,1,0"], {"label_columns": ("cat", "dog")}, [["cat"], ["dog"]]),
    "chosen columns of one class": (
        ["1,0,0", "0,1,0"],
        {"label_columns": ("cat", "dog"), "label_type": "class"},
        ["cat", "dog"],
    ),
}


@pytest.mark.parametrize(("rows", "options", "expected"), ONE_HOT.values(), ids=ONE_HOT.keys())
def test_columns_of_0_and_1_are_one_class_if_every_record_has_one(rows, options, expected, tmp_path):
    path = write(tmp_path, one_hot(rows))
    found = read_source(path, **options).table
    column = "label_names" if isinstance(expected[0], list) else "label_name"
    assert found[column].to_pylist() == expected
    said = opened(path, **options).describe()
    assert ("one class per image" in said) == (column == "label_name")
    assert ("several classes per image" in said) == (column == "label_names")


def test_columns_with_three_values_are_not_read_as_0_and_1(tmp_path):
    # CheXpert: -1 is uncertain, not absent.
    path = write(tmp_path, one_hot(["1,0,0", "-1,1,0", "0,0,1"]))
    with pytest.raises(CallError, match="has a usual name for labels"):
        opened(path)


# classes, values, and what is read or why not
LINES = {
    "by line": (["cat", "dog", "owl"], ["2", "0", "1.0", ""], ["owl", "cat", "dog", "no_label"]),
    "more lines than labels": (["cat", "dog", "owl"], ["0", "1"], ["cat", "dog"]),
    "numbers as names": (["2", "1", "0"], ["0", "1", "2"], ["0", "1", "2"]),
    "names": (["dog", "cat"], ["cat", "dog"], ["cat", "dog"]),
    "counted from 1": (
        ["cat", "dog", "owl"],
        ["1", "2", "3"],
        "from 1 to 3, and classes names 3 classes by line, from 0 to 2; if 1 is 'cat' and 3 is 'owl', the table",
    ),
    "too few lines": (["cat", "dog"], ["0", "1", "7"], "from 0 to 7, .* names 2 classes by line, from 0 to 1; add"),
    "below 0": (["cat", "dog"], ["-1", "1"], "from -1 to 1, .* names 2 classes"),
}


@pytest.mark.parametrize(("classes", "values", "expected"), LINES.values(), ids=LINES.keys())
def test_whole_numbers_are_lines_of_the_classes(classes, values, expected, tmp_path):
    path = write(tmp_path, csv_of(values))
    if isinstance(expected, str):
        with pytest.raises(CallError, match=expected):
            opened(path, classes=tuple(classes))
    else:
        assert labels(path, classes=tuple(classes)) == expected


def test_lists_and_separated_numbers_are_lines_of_the_classes_too(tmp_path):
    path = write(tmp_path, [{"image": "a", "label": [0, 2]}, {"image": "b", "label": [1]}], "a.jsonl")
    assert labels(path, classes=("x", "y", "z")) == [["x", "z"], ["y"]]
    path = write(tmp_path, csv_of(["0;2", "1"]))
    assert labels(path, label_separator=";", classes=("x", "y", "z")) == [["x", "z"], ["y"]]
    with pytest.raises(CallError, match=r"from 0 to 2, .* names 2 classes"):
        opened(path, label_separator=";", classes=("x", "y"))


@given(st.integers(-(2**40), 2**40), st.sampled_from(["{}", "{}.0", "{}.", "{}.000", "{}e0"]))
def test_every_spelling_of_a_whole_number_is_that_number(number, spelling):
    assert number_of(spelling.format(number), holds_text=True) == number
    assert number_of(float(number), holds_text=False) == number


def test_counted_numbers_are_bounded():
    assert len(numbers_in(range(MAX_DISTINCT + 10), holds_text=False).whole) == MAX_DISTINCT


def test_lists_as_text_are_no_classes(tmp_path):
    path = write(tmp_path, "image,labels\na.png,\"['cat', 'dog']\"\nb.png,['cat']\nc.png,[]\n")
    with pytest.raises(CallError, match=r"column 'labels' holds lists as text, such as .* label_separator=';'"):
        opened(path)
    assert labels(path, label_type="class")[1] == "['cat']"


# column, texts, and the separator that they seem to have
SEPARATORS = [
    ("tags", ["haze primary", "clear primary", "clear water primary"], " "),
    ("tags", ["haze", "clear", "water"], None),
    ("Finding Labels", ["Hernia", "Mass|Nodule", "No Finding"], "|"),  # one text is enough: the column says so
    ("label", ["haze primary", "clear primary", "clear water primary"], None),
    ("label", ["cat", "dog"], None),
    ("label", ["cat", "dog", "cat dog"], None),  # one text is not a pattern
    ("label", ["cat", "dog", "cat dog", "dog cat"], " "),
    ("label", ["a|b", "b|c", "a|c", "a|b|c"], "|"),
    ("label", ["a,b", "a,c", "a", "b,c", "b"], ","),
    ("label", ["red car", "blue car", "red bus", "blue bus"], None),
    ("label", ["Abyssinian", "Maine Coon", "British Shorthair"], None),
    ("label", ["laptop, laptop computer", "notebook, notebook computer", "crane"], None),
]


@pytest.mark.parametrize(("column", "texts", "separator"), SEPARATORS)
def test_separators_are_seen_where_splitting_gives_fewer_names(column, texts, separator):
    assert separator_in(texts, column) == separator
