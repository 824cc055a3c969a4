"""Records that repeat the image of an earlier one."""

import pyarrow as pa
import pytest

from shardkit.conversion.planning.duplicates import reject_repeated_keys

LINES = [2, 9, 3, 4, 5, 6]
KEYS = ["a", "a", "b", "c", "c", "c"]


def table(column, values, reasons=None):
    reasons = pa.array(reasons or [None] * 6, pa.string())
    columns = {"key": KEYS, "label_name": [None] * 6, "reason": reasons, "message": reasons, "line": LINES}
    return pa.table(columns | {column: pa.array(values)})


def said(inventory):
    found = reject_repeated_keys(inventory)
    assert all(
        (reason is None) == (text is None) for reason, text in zip(found["reason"], found["message"], strict=True)
    )
    return found["reason"].to_pylist(), found["message"].to_pylist()


def test_the_first_record_is_kept_if_the_labels_are_the_same():
    reasons, messages = said(table("label_name", ["cat", "cat", "dog", "cat", "cat", "cat"]))
    assert reasons == [None, "duplicate_key", None, None, "duplicate_key", "duplicate_key"]
    assert messages[1] == "record 9 repeats the key of record 2; keep one of them"


@pytest.mark.parametrize(
    ("column", "values", "shown", "has_remedy"),
    [
        ("label_name", ["cat", "dog", "dog", "x", "x", "x"], "'cat' and 'dog'", True),
        ("label_names", [["cat"], ["cat", "dog"], [], ["x"], ["x"], ["x"]], "cat and cat, dog", False),
        ("target", [[1.5], [2.0], [0.0], [0.0], [0.0], [0.0]], "1.5 and 2.0", False),
    ],
)
def test_no_record_is_kept_if_their_labels_differ(column, values, shown, has_remedy):
    reasons, messages = said(table(column, values))
    assert reasons == ["duplicate_key", "duplicate_key", None, None, "duplicate_key", "duplicate_key"]
    assert messages[0] == messages[1]
    assert messages[0].startswith(f"records 2 and 9 of this image have different labels, {shown}; keep the right one")
    assert ("`label_separator" in messages[0]) == has_remedy


def test_a_difference_between_later_records_counts():
    reasons, messages = said(table("label_name", ["cat", "cat", "dog", "cat", "cat", "dog"]))
    assert reasons[3:] == ["duplicate_key"] * 3
    assert messages[3].startswith("records 4 and 6 of this image")


def test_a_record_that_was_rejected_keeps_its_reason():
    reasons, _ = said(table("label_name", ["cat", "dog", "dog", "x", "x", "x"], ["bad_split", *[None] * 5]))
    assert reasons[:2] == ["bad_split", "duplicate_key"]


def test_the_same_classes_in_another_order_are_the_same_label():
    labels = [["cat", "dog"], ["dog", "cat"], ["x"], ["x"], ["x"], ["x"]]
    assert said(table("label_names", labels))[0] == [
        None,
        "duplicate_key",
        None,
        None,
        "duplicate_key",
        "duplicate_key",
    ]


def test_a_rejected_record_between_two_does_not_hide_that_their_labels_differ():
    reasons, messages = said(table("label_name", ["a", "a", "b", "cat", None, "dog"], [*[None] * 4, "bad_split", None]))
    assert reasons == [None, "duplicate_key", None, "duplicate_key", "bad_split", "duplicate_key"]
    assert messages[3].startswith("records 4 and 6 of this image have different labels, 'cat' and 'dog'")


def test_no_row_is_kept_if_several_files_are_about_an_image():
    inventory = table("label_name", [None] * 6, [None, None, None, "no_label", None, "no_label"])
    reasons, messages = said(inventory.drop_columns(["line"]))
    assert reasons == ["duplicate_key", "duplicate_key", None, "no_label", None, "no_label"]
    assert messages[0] == "several label files are about this image; keep one of them"
