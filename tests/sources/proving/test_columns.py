"""A table whose columns have no usual name for labels is a question, with a reading for each that may be it."""

import pytest

from shardkit.refusals import UnclearError
from shardkit.sources.opening import open_source
from shardkit.testing import write_tree
from shardkit.testing.refusals import command_text

from ..table_reading import write
from ..tables.test_found_columns import NUM, csv, image

# name: a table, and the columns that the printed commands name
ASKED = {
    "an unusual column of labels": (
        csv("file,hotel,time", image, lambda i: i % 4, lambda i: i * 1000),
        ["hotel", "time"],
    ),
    "columns of one 1 and another one": (
        csv("file,cat,dog,age", image, lambda i: i % 2, lambda i: 1 - i % 2, lambda i: i % 7),
        ["cat,dog", "cat", "dog", "age", "age"],  # a number, or classes
    ),
    "columns of 0 and 1 and another one": (
        csv("file,cat,dog,age", image, lambda i: i % 2, lambda i: i % 3 // 2, lambda i: i % 7),
        ["cat,dog", "cat", "dog", "age", "age"],  # a number, or classes
    ),
}


@pytest.mark.parametrize(("content", "columns"), ASKED.values(), ids=ASKED.keys())
def test_the_question_has_a_command_for_each_column(content, columns, tmp_path):
    write_tree(tmp_path, {image(i): b"" for i in range(NUM)})
    path = write(tmp_path, content)
    with pytest.raises(UnclearError, match="has a usual name for labels") as caught:
        open_source(str(path))
    commands = [line.partition(" --label ")[2].split() for line in command_text(caught.value).splitlines()[1:]]
    assert [words[:3] for words in commands] == [[f"labels.csv:{one}", "--image-column", "file"] for one in columns]
