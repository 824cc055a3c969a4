"""Checks before decoding: pure ones on listings, and each through the pipeline with decoding made impossible."""

from fractions import Fraction
from types import SimpleNamespace

import pyarrow as pa
import pytest

from shardkit.conversion.writing.refusals import ExistingDataset, ListingCheck
from shardkit.errors import CallError, DataError
from shardkit.options.groups import ConvertOptions
from shardkit.sources.columns import GROUP, LISTING_SCHEMA
from shardkit.testing import inventory_table

TO_VALIDATION = {"train": Fraction(1, 2), "validation": Fraction(1, 2)}
HALVES = {"train": Fraction(1, 2), "test": Fraction(1, 2)}


def listing(splits, labels=("cat", "dog")):
    names = [labels[i % len(labels)] for i in range(len(splits))]
    return inventory_table(names, splits=splits).select(LISTING_SCHEMA.names)


def a_source(classes=None, schema=LISTING_SCHEMA):
    """A source of class folders of which nothing but its listing is looked at."""
    return SimpleNamespace(
        schema=schema,
        classes=classes,
        layout="class folders",
        reading=None,
        check_accounts=lambda skipped: None,
        misfit=lambda refused: refused,
    )


def refuse(options, *tables, existing=None, classes=None):
    check = ListingCheck(a_source(classes), options, existing)
    check.refuse(map(check.summary, tables))


OWN = [["train"] * 3, ["test"] * 2]  # a part each
NONE = [[None] * 3, [None] * 2]

REFUSED = [
    ({"shards": {"trian": 2}}, OWN, "'trian'.*train, test"),
    ({"shards": {"test": 2}}, NONE, "'test'.*writes train"),
    ({"shards": {"test": 3}}, OWN, "3 shards .*test, which has only 2"),
    ({"shards": 4}, OWN, "4 shards .*train, which has only 3"),
    ({"shards": 6}, NONE, "train, which has only 5"),
    ({"shards": 6, "splits": HALVES}, NONE, "which has only 5"),
    ({"splits": HALVES}, OWN, "its own splits \\(train, test\\), and splits would mix"),
    ({"splits": HALVES, "splits_of": ("train",)}, OWN, "contains 'test', an existing split"),
    ({"splits": TO_VALIDATION, "splits_of": ("train",), "shards": {"validation": 4}}, OWN, "has only 3 examples"),
    ({"splits": TO_VALIDATION, "splits_of": ("train",), "shards": {"test": 3}}, OWN, "test, which has only 2"),
    ({"splits": TO_VALIDATION, "splits_of": ("train",)}, NONE, "splits_of has nothing to divide"),
    ({"classes": ("cat", "cow")}, NONE, "classes does not name: 'dog'"),
    ({"group_by": "patient([0-9]+)"}, NONE, "found in none of the 5 keys, such as 'cat/000000.jpg'"),
]


@pytest.mark.parametrize(("options", "parts", "said"), REFUSED)
def test_a_listing_that_the_options_do_not_fit_is_refused(options, parts, said):
    with pytest.raises(CallError, match=said):
        refuse(ConvertOptions.of(options), *map(listing, parts))


ALLOWED = [
    ({"shards": {"train": 3, "test": 2}}, OWN),
    ({"shards": 5}, NONE),
    ({"splits": TO_VALIDATION, "splits_of": ("train",), "shards": {"test": 2, "validation": 3}}, OWN),
    ({"shards": {"train": 5, "test": 5}, "splits": HALVES}, NONE),  # a share of either may be all of it
    ({"classes": ("cow", "dog", "cat")}, NONE),
    ({"group_by": "/0*([0-9]+)"}, NONE),
    ({"group_by": "00000(4)"}, [[None] * 3, [None] * 5]),  # in one part only
    ({"shards": 9, "splits": HALVES}, [[]]),  # without any file the plan says so
]


@pytest.mark.parametrize(("options", "parts"), ALLOWED)
def test_a_listing_that_the_options_fit_is_not(options, parts):
    refuse(ConvertOptions.of(options), *map(listing, parts))


def test_rows_that_are_bad_as_listed_count_for_no_shard():
    table = inventory_table(["cat"] * 3, reasons=[None, None, "no_label"]).select(LISTING_SCHEMA.names)
    with pytest.raises(CallError, match="has only 2"):
        refuse(ConvertOptions.of({"shards": 3}), table)


@pytest.mark.parametrize(
    ("labels", "said"), [(("cat",), "only one class"), (("train", "test"), "look like split names")]
)
def test_classes_that_show_a_wrong_reading_are_refused_unless_the_reading_was_chosen(labels, said):
    table = listing([None] * 4, labels)
    options = ConvertOptions()
    check = ListingCheck(a_source(), options)
    with pytest.raises(CallError, match=said):
        check.refuse([check.summary(table)])
    chosen = ListingCheck(a_source(), options, is_explicit=True)
    chosen.refuse([chosen.summary(table)])
    # The only label that was found, of several that the format lists.
    check = ListingCheck(a_source(("cat", "train", "test", "dog")), options)
    check.refuse([check.summary(table)])


def test_a_column_of_groups_needs_no_regular_expression():
    options = ConvertOptions.of({"group_by": "patient ("})
    with pytest.raises(CallError, match="nor a regular expression"):
        ListingCheck(a_source(), options).check_options()
    check = ListingCheck(a_source(schema=pa.schema([*LISTING_SCHEMA, GROUP])), options)
    check.check_options()
    empty = listing([None] * 2).append_column(GROUP, pa.nulls(2, pa.string()))
    some = empty.set_column(empty.num_columns - 1, GROUP, pa.array(["a", None], pa.string()))
    check.refuse([check.summary(empty), check.summary(some)])
    with pytest.raises(CallError, match="nor a regular expression"):
        check.refuse([check.summary(empty)])


@pytest.mark.parametrize(
    ("num_files", "num_bad_boxes", "classes", "refused"),
    [
        (5, 0, {"cat", "dog"}, False),
        (6, 0, {"cat", "dog"}, True),
        (4, 0, {"cat", "dog"}, True),
        (6, 1, {"cat", "dog"}, False),  # decoding may have added a row for a bad box
        (5, 0, {"cat", "cow"}, True),
        (5, 0, {"cat", "cow", "dog"}, False),  # classes may name more
    ],
)
def test_a_dataset_of_another_source_is_refused(num_files, num_bad_boxes, classes, refused):
    existing = ExistingDataset("out", num_files, num_bad_boxes, frozenset(classes))
    if refused:
        with pytest.raises(
            DataError,
            match=r"out: .*source's files, or the options.*overwrite=True",
        ):
            refuse(ConvertOptions(), listing([None] * 5), existing=existing)
    else:
        refuse(ConvertOptions(), listing([None] * 5), existing=existing)
