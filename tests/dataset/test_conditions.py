import sqlite3

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.dataset.conditions import Condition
from shardkit.dataset.conditions.parser import MAX_DEPTH
from shardkit.errors import CallError

ROWS = [
    {
        "key": "a/1.png",
        "label": 0,
        "label_name": "cat",
        "height": 64,
        "width": 1,
        "labels": [1, 3],
    },
    {
        "key": "b/27.png",
        "label": 1,
        "label_name": "dog's",
        "height": 10,
        "width": 2,
        "labels": [],
    },
    {
        "key": "c%d_.jpg",
        "label": None,
        "label_name": None,
        "height": 70,
        "width": 300,
        "labels": None,
    },
    {
        "key": "A/1.PNG",
        "label": -5,
        "label_name": "5",
        "height": 1,
        "width": 1,
        "labels": [3, 3],
    },
]
TABLE = pa.Table.from_pylist(
    ROWS,
    pa.schema(
        {
            "key": pa.string(),
            "label": pa.int32(),
            "label_name": pa.string(),
            "height": pa.int32(),
            "width": pa.int32(),
            "labels": pa.list_(pa.int32()),
        }
    ),
)
CONDITIONS = [
    "label_name in ('cat', 'dog') and height >= 64",
    "label_name = 'dog''s'",
    "not label_name = 'cat'",
    "LABEL_NAME == 'cat' OR label_name <> 'cat'",
    "label_name not in ('cat', 'x')",
    "label in (0, -5)",
    "key like '%1.png'",
    "key not like '_/%'",
    "label is null",
    "label is not null or width = 300",
    "height between 10 and 64",
    "height not between 10 and 64 and not label is null",
    "(height + width) * 2 - 1 > 100",
    "height > 2 * width or -label >= 5",
    "label > - -0 and 1 = 1",
    "true",
    "false or height < 5.5",
    "not not height = 64",
    f"width in ({', '.join(str(number) for number in range(5000))})",
]


def sqlite_rows(condition):
    """Rows that SQLite selects: an implementation of the same syntax by others."""
    connection = sqlite3.connect(":memory:")
    connection.execute("PRAGMA case_sensitive_like = ON")
    columns = ("key", "label", "label_name", "height", "width")
    connection.execute(f"CREATE TABLE examples ({', '.join(columns)})")
    connection.executemany(
        "INSERT INTO examples VALUES (?, ?, ?, ?, ?)",
        [[row[column] for column in columns] for row in ROWS],
    )
    query = f"SELECT rowid - 1 FROM examples WHERE {condition} ORDER BY rowid"  # noqa: S608 - our own conditions
    return [row for (row,) in connection.execute(query)]


def selected(condition):
    return [row for row, is_met in enumerate(Condition(condition).mask(TABLE).to_pylist()) if is_met]


@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda condition: condition[:40])
def test_a_condition_selects_what_sqlite_selects(condition):
    assert selected(condition) == sqlite_rows(condition)


VALUES = st.sampled_from(["label", "height", "width", "-3", "0", "64", "2.5", "(height - width)"])
COMPARISONS = st.one_of(
    st.tuples(VALUES, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), VALUES).map(" ".join),
    st.tuples(VALUES, st.sampled_from(["", "not "]), VALUES, VALUES).map(
        "{0[0]} {0[1]}between {0[2]} and {0[3]}".format
    ),
    st.tuples(VALUES, st.sampled_from(["", "not "]), VALUES, VALUES).map("{0[0]} {0[1]}in ({0[2]}, {0[3]})".format),
    st.tuples(VALUES, st.sampled_from(["is null", "is not null"])).map(" ".join),
)


@given(
    st.recursive(
        COMPARISONS,
        lambda part: st.one_of(
            part.map("not ({})".format),
            st.tuples(part, st.sampled_from(["and", "or"]), part).map(" ".join),
        ),
        max_leaves=6,
    )
)
def test_any_condition_selects_what_sqlite_selects(condition):
    assert selected(condition) == sqlite_rows(condition)


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("3 in labels", [0, 3]),
        ("3 not in labels", [1, 2]),  # a missing list contains nothing
        ("not 1 in labels and label is not null", [1, 3]),
        (
            "width / height > 0.03 and width / height < 0.5",
            [1],
        ),  # true division, unlike SQL
    ],
)
def test_conditions_that_sqlite_has_not(condition, rows):
    assert selected(condition) == rows


def test_columns_that_the_index_stores_as_dictionaries_are_read_as_text():
    column = pa.chunked_array([["cat", "dog", None], ["cow"]]).dictionary_encode()
    table = pa.table({"label_name": column})
    assert Condition("label_name like 'c%' or label_name = 'dog'").mask(table).to_pylist() == [True, True, False, True]


def test_a_condition_names_its_columns():
    assert Condition("HEIGHT > 3 and (key like '%' or 1 in labels)").columns == {
        "height",
        "key",
        "labels",
    }


def test_products_of_columns_of_32_bits_do_not_wrap():
    table = pa.table({name: pa.array([1 << 17, 8], pa.int32()) for name in ("height", "width")})
    assert Condition("height * width > 1000000 and -height < 0").mask(table).to_pylist() == [True, False]
    assert Condition(f"height < {(1 << 63) - 1} and height < 000000000000000000000070").mask(table).to_pylist() == [
        False,
        True,
    ]


@pytest.mark.parametrize(
    "condition", ["labels = 3", "height and label", "(" * (MAX_DEPTH + 1) + "true" + ")" * (MAX_DEPTH + 1)]
)
def test_what_pyarrow_cannot_compare_and_what_is_nested_too_deeply_is_refused(condition):
    with pytest.raises(CallError):
        Condition(condition).mask(TABLE)
