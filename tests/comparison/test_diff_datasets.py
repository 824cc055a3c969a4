"""Datasets that differ in one way each, compared."""

from dataclasses import replace

import pytest

from shardkit.comparison import diff_datasets
from shardkit.dataset.features import BOXES, CLASS_LABELS, MASK, MASK_FEATURE, Feature
from shardkit.errors import DataError

from .making import Made, write_dataset

EXAMPLES = [Made(f"{name}.png", i % 2, f"image {name}".encode()) for i, name in enumerate("abcdefgh")]
TEXT = Feature(dtype="bytes", role="text")
NUMBER = Feature(dtype="float32", role="scalar")
OBJECTS = {"objects/bbox": BOXES, "objects/label": CLASS_LABELS}
BOXED = replace(EXAMPLES[0], label=None, values={"objects/bbox": [0.1, 0.1, 0.5, 0.5], "objects/label": [0]})
OTHER_BOX = replace(BOXED, values=BOXED.values | {"objects/bbox": [0.1, 0.1, 0.5, 0.75]})
STORED = replace(EXAMPLES[0], source=b"source", changes="format:webp")  # the index has no hash of its stored image
MASKED = replace(EXAMPLES[0], label=None, values={MASK: [b"mask"]})


def nothing_but(found, **expected):
    """Check the numbers of changed examples; those not named are 0."""
    assert {kind: one.num_examples for kind, one in found.kinds.items() if one.num_examples} == expected
    assert found.equal is not bool(expected)


def compared(tmp_path, a, b, in_b=None, **both):
    """Compare datasets with the given examples in the split train."""
    one = write_dataset(tmp_path / "a", {"train": a}, **both)
    return diff_datasets(one, write_dataset(tmp_path / "b", {"train": b}, **(both | (in_b or {}))))


def first(changes):
    return [(one.key, one.before, one.after) for one in changes.first]


def test_the_same_examples_in_other_shards_and_another_order_are_equal(tmp_path):
    a = write_dataset(tmp_path / "a", {"train": EXAMPLES[:6], "test": EXAMPLES[6:]})
    b = write_dataset(tmp_path / "b", {"test": EXAMPLES[:5:-1], "train": EXAMPLES[5::-1]}, shard_size=2)
    for max_rows in (1, 3, 100):  # the number of parts makes no difference
        found = diff_datasets(a, b, max_rows=max_rows)
        nothing_but(found)
        assert found.num_same == 8


@pytest.mark.parametrize("max_rows", [2, 100])
def test_added_removed_moved_relabelled_and_other_images_are_found(tmp_path, max_rows):
    a = write_dataset(tmp_path / "a", {"train": EXAMPLES[:6], "test": EXAMPLES[6:7]})
    relabelled = replace(EXAMPLES[1], label=0)
    repainted = replace(EXAMPLES[2], image=b"IMAGE c")  # of the same size
    in_b = [relabelled, repainted, *EXAMPLES[3:5], *EXAMPLES[6:]]
    b = write_dataset(tmp_path / "b", {"train": in_b, "test": EXAMPLES[5:6]}, shard_size=4)
    found = diff_datasets(a, b, max_rows=max_rows)
    nothing_but(found, added=1, removed=1, moved=2, label=1, image=1)
    assert found.num_same == 2
    assert first(found.added) == [("h.png", None, "train")]
    assert first(found.removed) == [("a.png", "train", None)]
    assert first(found.moved) == [("f.png", "train", "test"), ("g.png", "test", "train")]
    assert first(found.label) == [("b.png", "dog", "cat")]
    assert first(found.image) == [("c.png", "PNG 4x4 7 B", "PNG 4x4 7 B")]
    assert found.moved.counts == {"test → train": 1, "train → test": 1}
    assert found.label.counts == {"dog → cat": 1}


def test_the_first_keys_are_the_smallest_of_all_parts(tmp_path):
    found = compared(tmp_path, EXAMPLES, EXAMPLES[:1])
    assert [one.key for one in found.removed.first] == ["b.png", "c.png", "d.png", "e.png", "f.png"]
    a = write_dataset(tmp_path / "c", {"train": EXAMPLES})
    b = write_dataset(tmp_path / "d", {"train": []})
    assert [one.key for one in diff_datasets(a, b, num_keys=2, max_rows=1).removed.first] == ["a.png", "b.png"]
    assert diff_datasets(a, b, num_keys=0).removed.first == ()


def test_classes_are_compared_by_name(tmp_path):
    examples = [replace(one, label=1 - one.label) for one in EXAMPLES]
    found = compared(tmp_path, EXAMPLES, examples, {"classes": ("dog", "cat")})
    assert (found.classes.changed, found.equal, found.num_same) == (("cat", "dog"), False, 8)


def test_a_class_that_only_one_dataset_has_is_named(tmp_path):
    found = compared(
        tmp_path, EXAMPLES, [*EXAMPLES[:7], replace(EXAMPLES[7], label=2)], {"classes": ("cat", "dog", "owl")}
    )
    assert found.classes.added == ("owl",)
    assert first(found.label) == [("h.png", "dog", "owl")]


def test_the_same_record_with_other_class_names_is_another_label(tmp_path):
    # Their shards are equal byte by byte, only their indexes and manifests differ.
    found = compared(tmp_path, EXAMPLES, EXAMPLES, {"classes": ("cat", "wolf")})
    assert found.label.counts == {"dog → wolf": 4}
    assert (found.classes.added, found.classes.removed) == (("wolf",), ("dog",))


def test_several_labels_are_compared_as_a_set(tmp_path):
    a = [replace(EXAMPLES[0], label=[0, 1]), replace(EXAMPLES[1], label=[1]), replace(EXAMPLES[2], label=[])]
    b = [replace(EXAMPLES[0], label=[1, 0]), replace(EXAMPLES[1], label=[0, 1]), replace(EXAMPLES[2], label=[1])]
    found = compared(tmp_path, a, b, label=CLASS_LABELS)
    assert first(found.label) == [("b.png", "dog", "cat, dog"), ("c.png", "", "dog")]
    assert found.num_same == 1


def test_several_labels_in_classes_of_other_numbers_are_compared_by_name(tmp_path):
    # Equal indexes: 1 is dog in A and cat in B.
    a = [replace(EXAMPLES[0], label=[1])]
    found = compared(tmp_path, a, a, {"classes": ("dog", "cat")}, label=CLASS_LABELS)
    assert first(found.label) == [("a.png", "dog", "cat")]


@pytest.mark.parametrize(
    ("options", "kind"), [({"label": CLASS_LABELS}, "label"), ({"label": None, "features": OBJECTS}, "annotations")]
)
def test_a_renamed_class_is_another_label_also_in_equal_shards_and_indexes(tmp_path, options, kind):
    examples = [replace(BOXED, label=[number], values=BOXED.values | {"objects/label": [number]}) for number in (0, 1)]
    examples[1] = replace(examples[1], key="b.png")
    found = compared(tmp_path, examples, examples, {"classes": ("cat", "wolf", "owl")}, **options)
    assert [one.key for one in found.kinds[kind].first] == ["b.png"]
    assert found.num_same == 1


def test_a_new_class_at_the_end_does_not_keep_equal_shards_from_being_skipped(tmp_path):
    a = write_dataset(tmp_path / "a", {"train": [BOXED]}, features=OBJECTS, label=None)
    b = write_dataset(tmp_path / "b", {"train": [BOXED]}, features=OBJECTS, label=None, classes=("cat", "dog", "owl"))
    (tmp_path / "b" / "train-00000-of-00001.index.parquet").write_bytes(b"damaged")
    found = diff_datasets(a, b)
    assert (found.classes.added, found.num_same) == (("owl",), 1)


@pytest.mark.parametrize(
    ("a", "b", "features", "expected"),
    [
        (BOXED, OTHER_BOX, OBJECTS, ["objects/bbox"]),
        (BOXED, replace(BOXED, values=BOXED.values | {"objects/label": [1]}), OBJECTS, ["objects/label"]),
        (MASKED, replace(MASKED, values={MASK: [b"MASK"]}), {MASK: MASK_FEATURE}, [MASK]),
        # A name before "image" in the record, and one behind it.
        (replace(BOXED, values={"age": [1.0]}), replace(BOXED, values={"age": [2.0]}), {"age": NUMBER}, ["age"]),
        (replace(BOXED, values={"text": [b"a"]}), replace(BOXED, values={"text": [b"b"]}), {"text": TEXT}, ["text"]),
        (replace(BOXED, group="x"), replace(BOXED, group=None), OBJECTS, ["group"]),
    ],
)
def test_other_annotations_are_found_in_the_records(tmp_path, a, b, features, expected):
    more = [replace(a, key=f"{i}.png") for i in range(4)]
    found = compared(tmp_path, [a, *more], [*more, b], features=features, label=None)
    nothing_but(found, annotations=1)
    assert [(one.key, [*one.features]) for one in found.annotations.first] == [("a.png", expected)]
    assert found.num_same == 4


def test_labels_of_objects_are_compared_by_name(tmp_path):
    in_b = replace(BOXED, values=BOXED.values | {"objects/label": [1]})
    found = compared(tmp_path, [BOXED], [in_b], {"classes": ("dog", "cat")}, features=OBJECTS, label=None)
    assert found.num_same == 1
    wrong = write_dataset(tmp_path / "c", {"train": [BOXED]}, classes=("dog", "cat"), features=OBJECTS, label=None)
    found = diff_datasets(wrong, write_dataset(tmp_path / "d", {"train": [BOXED]}, features=OBJECTS, label=None))
    assert found.annotations.counts == {"objects/label": 1}


@pytest.mark.parametrize(
    ("b", "is_other"),
    [
        (STORED, False),
        (replace(STORED, image=b"image A"), True),  # of the same size
        (replace(STORED, source=b"other"), False),  # another source, stored in the same way
        (replace(STORED, source=None, changes=""), False),
    ],
)
def test_stored_bytes_of_changed_images_are_compared(tmp_path, b, is_other):
    found = compared(tmp_path, [STORED, *EXAMPLES[1:]], [*EXAMPLES[1:], b])
    nothing_but(found, **({"image": 1} if is_other else {}))


def test_an_image_of_another_size_is_another_image(tmp_path):
    nothing_but(compared(tmp_path, EXAMPLES, [replace(EXAMPLES[0], width=5), *EXAMPLES[1:]]), image=1)


def test_numbers_are_labels_too(tmp_path):
    a, b = ([replace(EXAMPLES[0], label=None, values={"label": [value]})] for value in (0.5, 0.75))
    found = compared(tmp_path, a, b, label=NUMBER)
    nothing_but(found, label=1)
    assert first(found.label) == [("a.png", "0.5", "0.75")]


def test_a_label_that_is_no_number_equals_itself(tmp_path):
    # The records differ, because the second one has another width.
    a, b = ([replace(EXAMPLES[0], label=None, values={"label": [float("nan")]}, width=3 + i)] for i in range(2))
    nothing_but(compared(tmp_path, a, b, label=NUMBER), image=1)


def test_features_of_one_dataset_are_named_and_not_compared(tmp_path):
    b = [replace(one, values={"text": [b"x"]}) for one in EXAMPLES]
    found = compared(tmp_path, EXAMPLES, b, {"features": {"text": TEXT}})
    assert (found.features.added, found.num_same, found.equal) == (("text",), 8, False)


def test_an_empty_split_is_a_difference(tmp_path):
    a = write_dataset(tmp_path / "a", {"train": EXAMPLES})
    found = diff_datasets(a, write_dataset(tmp_path / "b", {"train": EXAMPLES, "test": []}))
    assert (found.splits.added, found.equal) == (("test",), False)


def test_equal_manifests_are_equal_without_reading(tmp_path):
    a = write_dataset(tmp_path / "a", {"train": EXAMPLES})
    b = write_dataset(tmp_path / "b", {"train": EXAMPLES})
    (tmp_path / "b" / "train-00000-of-00003.tfrecord").unlink()
    nothing_but(diff_datasets(a, b))


def test_equal_shards_are_not_read(tmp_path):
    a = write_dataset(tmp_path / "a", {"train": EXAMPLES})
    b = write_dataset(tmp_path / "b", {"train": [*EXAMPLES[:6], replace(EXAMPLES[6], label=1), EXAMPLES[7]]})
    for folder in ("a", "b"):
        (tmp_path / folder / "train-00000-of-00003.index.parquet").write_bytes(b"damaged")
    found = diff_datasets(a, b)
    nothing_but(found, label=1)
    assert found.num_same == 7


def test_the_same_key_of_another_record_of_an_equal_shard_is_another_example(tmp_path):
    # As in adopted shards whose keys are taken from different features.
    records = [replace(one, values={"key": [one.key.encode()]}) for one in EXAMPLES[:3]]
    shifted = [replace(one, key=other.key) for one, other in zip(records, records[1:] + records[:1], strict=True)]
    a, b = write_dataset(tmp_path / "a", {"train": records}), write_dataset(tmp_path / "b", {"train": shifted})
    assert a.splits["train"].shards[0].sha256 == b.splits["train"].shards[0].sha256
    nothing_but(diff_datasets(a, b), image=3, label=2)


@pytest.mark.parametrize("side", ["A", "B"])
def test_a_label_without_a_class_is_an_error(tmp_path, side):
    whole = write_dataset(tmp_path / "whole", {"train": EXAMPLES[1:]})
    other = write_dataset(tmp_path / "other", {"train": EXAMPLES})
    other = other.model_copy(update={"classes": ["cat"], "digest": "0" * 64})
    other._root = whole.root.__class__(str(tmp_path / "other"))
    with pytest.raises(DataError, match=f"an index of {side} has the label 1, which is none of its 1 classes"):
        diff_datasets(*((other, whole) if side == "A" else (whole, other)))


def test_damage_and_repeated_keys_are_errors(tmp_path):
    a = write_dataset(tmp_path / "a", {"train": [BOXED]}, features=OBJECTS, label=None)
    b = write_dataset(tmp_path / "b", {"train": [OTHER_BOX]}, features=OBJECTS, label=None)
    shard = tmp_path / "b" / "train-00000-of-00001.tfrecord"
    raw = bytearray(shard.read_bytes())
    raw[-10] ^= 1
    shard.write_bytes(raw)
    with pytest.raises(
        DataError, match=r"b/train-00000-of-00001.tfrecord, byte 0 \(a.png\): the CRC .* does not match"
    ):
        diff_datasets(a, b)
    lacking = replace(BOXED, values={})
    lacks = [
        write_dataset(tmp_path / name, {"train": [replace(lacking, width=i + 1)]}, label=None)
        for i, name in enumerate("de")
    ]
    named = [one.model_copy(update={"features": a.features}) for one in lacks]
    for one, other in zip(named, lacks, strict=True):
        one._root = other.root
    with pytest.raises(DataError, match=r"\(a.png\): the record lacks objects/"):
        diff_datasets(*named)
    twice = write_dataset(tmp_path / "c", {"train": [BOXED, BOXED]}, features=OBJECTS, label=None)
    with pytest.raises(DataError, match=r"c: the key 'a.png' occurs more than once"):
        diff_datasets(a, twice)
