import csv
import io
import json

import pyarrow as pa
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from shardkit.sources.engine.labels.numbers import number_of

from ..table_reading import alone, rows, write, write_parquet

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(
    # 1.0 and 1 are one class, and blanks around a name are no part of it.
    lambda text: number_of(text, holds_text=True) == "name" and text.strip(" \t") == text
)
LABELLED = st.lists(
    st.tuples(TEXTS, st.integers(-(2**63), 2**63 - 1), st.floats(width=32, allow_nan=False)), min_size=1
)


def same_rows(path, examples):
    expected = [(f"{i}.jpg", label, whole, number) for i, (label, whole, number) in enumerate(examples)]
    found = ("key", "label_name", "feature:whole", "feature:number")
    assert rows(path, *found, label_columns=("name",), label_type="class") == expected


@settings(max_examples=40)
@given(
    LABELLED,
    st.sampled_from(",;\t|"),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
)
@example([("labels.csv", 0, 0.0)], ",", "\n", csv.QUOTE_ALL)  # the table's own name, which is no image
@example([("LABELS.CSV", 0, 0.0)], ",", "\n", csv.QUOTE_ALL)
def test_what_the_csv_module_writes_is_read_back(tmp_path_factory, examples, delimiter, end, quoting):
    # Before Python 3.13 the module does not quote a CR where lines end in LF, so that nobody can tell it from an end.
    assume(quoting == csv.QUOTE_ALL or not any("\r" in label for label, *_ in examples))
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerow(["image", "name", "whole", "number"])
    writer.writerows([f"{i}.jpg", *values] for i, values in enumerate(examples))
    same_rows(write(alone(tmp_path_factory), out.getvalue()), examples)


@settings(max_examples=40)
@given(LABELLED, st.booleans())
def test_what_the_json_module_writes_is_read_back(tmp_path_factory, examples, ensure_ascii):
    names = ["name", "whole", "number"]
    objects = [{"image": f"{i}.jpg"} | dict(zip(names, values, strict=True)) for i, values in enumerate(examples)]
    lines = "".join(json.dumps(one, ensure_ascii=ensure_ascii) + "\n" for one in objects)
    same_rows(write(alone(tmp_path_factory), lines, "labels.jsonl"), examples)


@settings(max_examples=40)
@given(LABELLED, st.integers(1, 7), st.booleans())
def test_what_pyarrow_writes_is_read_back(tmp_path_factory, examples, row_group_size, dictionary):
    names, wholes, numbers = zip(*examples, strict=True)
    columns = {
        "image": [f"{i}.jpg" for i in range(len(examples))],
        "name": pa.array(names).dictionary_encode() if dictionary else pa.array(names),
        "whole": pa.array(wholes, pa.int64()),
        "number": pa.array(numbers, pa.float32()),
    }
    path = write_parquet(alone(tmp_path_factory), columns, row_group_size=row_group_size)
    same_rows(path, examples)
