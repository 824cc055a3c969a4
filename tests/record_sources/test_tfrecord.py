import gzip
import io
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from shardkit import testing
from shardkit.conversion.inventory.parts import Inventory
from shardkit.errors import CallError, DataError
from shardkit.sources.given_files import pattern_refusal
from shardkit.sources.listing import Listing
from shardkit.testing import listed, write_tree
from shardkit.testing.refusals import command_text

from ..dataset.foreign.records import coco, example, framed, imagenet, jpeg, melanoma, tfrecorder, write


def opened(root, **options):
    return testing.opened(root, work=Path(root).parent / "work", **options)


def rows(source, batch_rows=1000):
    """The rows in the order listed; a good one has its image's bytes, read as the pipeline does."""
    found = listed(source, batch_rows)
    images = found.images()
    return [row | ({"image": images[row["key"]]} if row["key"] in images else {}) for row in found.table.to_pylist()]


def image_record(i, **features):
    return {"image": jpeg(i), "label": i % 2, **features}


def test_images_are_read_in_place_with_their_class_columns_and_split(tmp_path):
    records = [melanoma(i, i % 2) for i in range(5)]
    write(tmp_path / "src/train00-3.tfrec", records[:3])
    write(tmp_path / "src/val/a.tfrec", records[3:])
    source = opened(tmp_path / "src")
    assert (source.layout, source.folder.url, len(source.parts())) == ("TFRecord", str(tmp_path / "src"), 2)
    found = rows(source, batch_rows=2)
    assert [row["image"] for row in found] == [record["image"] for record in records]
    assert [row["key"] for row in found][::3] == ["train00-3/00000000-ISIC_0000000", "val/a/00000000-ISIC_0000003"]
    assert [(row["split"], row["label_name"]) for row in found[2:4]] == [("train", "0"), ("validation", "1")]
    assert found[1]["feature:patient_id"] == 7
    assert found[1]["feature:image_name"] == "ISIC_0000001"


@pytest.mark.parametrize("compress", [gzip.compress, zlib.compress])
def test_compressed_files_give_the_same_rows_as_plain_ones(tmp_path, compress):
    content = framed([example(imagenet(i, 1 + i % 2, f"n{i % 2}")) for i in range(4)])
    write_tree(tmp_path / "plain", {"train-00000-of-00001": content})
    write_tree(tmp_path / "packed", {"train-00000-of-00001": compress(content)})
    plain, packed = opened(tmp_path / "plain"), opened(tmp_path / "packed")
    assert (plain.is_spooled, packed.is_spooled) == (False, True)
    dropped = {"path", "offset", "mtime_ns"}
    assert [{name: row[name] for name in row.keys() - dropped} for row in rows(plain, 3)] == [
        {name: row[name] for name in row.keys() - dropped} for row in rows(packed, 3)
    ]


def test_pixels_become_pngs_of_the_same_pixels(tmp_path):
    records = [tfrecorder(i, i % 2) for i in range(3)]
    gray = {"image_raw": bytes(range(6)), "height": 2, "width": 3, "depth": 1, "label": 7}
    write(tmp_path / "a/train-00000-of-00001.tfrecord", records)
    write(tmp_path / "b/mnist.tfrecords", [gray])
    write_tree(tmp_path / "a", {"transform_fn/assets/vocab_label": b"dog\ncat\n"})
    found = rows(opened(tmp_path / "a"))
    for i, row in enumerate(found):
        pixels = np.asarray(Image.open(io.BytesIO(row["image"])))
        np.testing.assert_array_equal(pixels, np.arange(i, i + 24, dtype=np.uint8).reshape(2, 4, 3))
    assert [row["label_name"] for row in found] == ["dog", "cat", "dog"]
    [row] = rows(opened(tmp_path / "b"))
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(row["image"]))), [[0, 1, 2], [3, 4, 5]])


def test_pixels_that_do_not_fit_their_size_are_rejected(tmp_path):
    records = [{**tfrecorder(0), "split": "TRAIN"}, {**tfrecorder(1), "image_height": 3}]
    write(tmp_path / "src/a.tfrecord", [records[0]] * 64 + records)
    found = rows(opened(tmp_path / "src"))
    assert [row["reason"] for row in found[-2:]] == [None, "damaged"]
    assert "are not the uint8 pixels" in found[-1]["message"]


def test_boxes_come_with_what_belongs_to_each_and_classes_in_the_order_of_their_numbers(tmp_path):
    write(tmp_path / "src/coco_train.record-00000-of-00001", [coco(1), coco(2, ()), coco(3, [(18, "dog")])])
    source = opened(tmp_path / "src")
    first, background, last = rows(source)
    assert first["objects"][0] == {
        "bbox": [0.125, 0.25, 0.75, 0.5],
        "label_name": "dog",
        "name": "object 0",
        "category_id": 18,
        "area": 12.5,
        "is_crowd": 0,
    }
    assert (background["objects"], background["annotated_width"]) == ([], 0)
    assert [one["label_name"] for one in last["objects"]] == ["dog"]
    [listing] = source.list_part(source.parts()[0], 1000)
    assert listing.classes == {18: "dog", 1: "person"}


def test_boxes_of_a_picture_on_its_side_are_turned_with_it(tmp_path):
    file = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (12, 8)).save(file, "JPEG", exif=exif)
    write(tmp_path / "src/train.record", [{**coco(1, [(18, "dog")]), "image/encoded": file.getvalue()}])
    [row] = rows(opened(tmp_path / "src"))
    assert (row["annotated_width"], row["annotated_height"]) == (12, 8)
    assert row["objects"][0]["bbox"] == [1.0, 3.0, 6.0, 6.0]  # pixels of the stored picture


def test_the_boxes_of_imagenet_are_read_if_the_user_asks(tmp_path):
    write(tmp_path / "src/train-00000-of-00001", [imagenet(0), imagenet(1)])
    assert "label_feature='image/object/bbox/label' reads the boxes" in opened(tmp_path / "src").describe()
    found = rows(opened(tmp_path / "src", label_feature="image/object/bbox/label"))
    assert [[one["label_name"] for one in row["objects"]] for row in found] == [[], ["1"]]


def test_a_damaged_record_is_rejected_by_number_and_the_others_are_read(tmp_path):
    content = bytearray(framed([example(image_record(i)) for i in range(3)]))
    content[len(content) // 2] ^= 1
    write_tree(tmp_path / "src", {"train.tfrecord": bytes(content)})
    found = rows(opened(tmp_path / "src"))
    assert [(row["key"], row["reason"]) for row in found] == [
        ("train/00000000", None),
        ("train.tfrecord, record 1", "damaged"),
        ("train/00000002", None),
    ]


def cut_short():
    return framed([example(image_record(i)) for i in range(3)])[:-9]


def with_a_damaged_length():
    records = [example(image_record(i)) for i in range(3)]
    content = bytearray(framed(records))
    content[len(records[0]) + len(records[1]) + 32] ^= 1
    return bytes(content)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (cut_short(), "the file ends inside the record"),
        (gzip.compress(cut_short()), "the file ends inside the record"),
        (gzip.compress(framed([example(image_record(i)) for i in range(3)]))[:-9], "ends"),
        (with_a_damaged_length(), "the record's length at byte"),
    ],
    ids=["cut short", "cut short, then compressed", "compressed, then cut short", "damaged length"],
)
def test_a_file_that_cannot_be_read_to_its_end_fails_unless_the_user_accepts_it(content, problem, tmp_path):
    write_tree(tmp_path / "src", {"train.tfrecord": content})
    with pytest.raises(
        DataError,
        match=rf"train\.tfrecord: record (2|3): .*{problem}.*only (2|3) records of the file can be read, and it is "
        r"unknown how many are lost.* with ignore='train\.tfrecord', or add keep_truncated=True",
    ):
        rows(opened(tmp_path / "src"))
    *kept, last = rows(opened(tmp_path / "src", keep_truncated=True))
    assert [row["reason"] for row in kept] == [None] * len(kept)
    assert (len(kept) in {2, 3}, last["reason"]) == (True, "truncated")
    assert f"only {len(kept)} records of the file could be read" in last["message"]


def test_classes_name_the_numbers_and_a_number_without_line_fails(tmp_path):
    write(tmp_path / "src/a.tfrecord", [image_record(i, label=i) for i in range(3)])
    source = opened(tmp_path / "src", classes=("ant", "bee", "cat"))
    assert "3 names from classes: 0 is 'ant', 2 is 'cat'" in source.describe()
    assert (source.classes, [row["label_name"] for row in rows(source)]) == (
        ("ant", "bee", "cat"),
        ["ant", "bee", "cat"],
    )
    with pytest.raises(DataError, match=r"a\.tfrecord, record 2 has the label 2, and classes names 0 to 1; .*if the"):
        rows(opened(tmp_path / "src", classes=("ant", "bee")))


def test_classes_of_tensorflow_models_count_from_one(tmp_path):
    write(tmp_path / "src/train-00000-of-00001", [imagenet(0, 1), imagenet(1, 2, "n02", "goldfish")])
    assert [row["label_name"] for row in rows(opened(tmp_path / "src", classes=("tench", "goldfish")))] == [
        "tench",
        "goldfish",
    ]
    # Names that the records have are only put in order.
    source = opened(tmp_path / "src", classes=("n02", "n01440764"))
    assert [row["label_name"] for row in rows(source)] == ["n01440764", "n02"]


def test_names_that_contradict_their_numbers_fail(tmp_path):
    records = [imagenet(i, 1 + i % 2, f"n{i % 2}") for i in range(70)]
    write(tmp_path / "src/train-00000-of-00001", [*records, imagenet(70, 9, "n0")])
    with pytest.raises(DataError, match=r"record 70: the label 9 is 'n0', and so is 1.*classes"):
        rows(opened(tmp_path / "src"))
    write(tmp_path / "src/train-00000-of-00001", [*records, imagenet(70, 1, "n7")])
    with pytest.raises(DataError, match=r"record 70: the label 1 is 'n0' and 'n7'"):
        rows(opened(tmp_path / "src"))


@pytest.mark.parametrize(
    ("record", "reason", "message"),
    [
        ({"label": 0}, "missing", "'image' has 0 values"),
        ({"image": b"", "label": 0}, "empty", "has no bytes"),
        ({"image": jpeg()}, "no_label", "'label' has no value"),
        ({"image": jpeg(), "label": -1}, "no_label", "holds -1"),
        ({"image": jpeg(), "label": [0, 1]}, "bad_label", "2 values where the first records have one"),
        ({"image": jpeg(), "label": "cat"}, "bad_label", "holds b'cat' where"),
        ({"image": jpeg(), "label": 0, "age": [1, 2]}, "bad_value", "'age' has 2 values"),
        ({"image": jpeg(), "label": 0, "age": "old"}, "bad_value", "'age' holds 'old'"),
    ],
)
def test_an_odd_record_is_rejected_with_the_reason(tmp_path, record, reason, message):
    write(tmp_path / "src/a.tfrecord", [image_record(i, age=3) for i in range(64)] + [record])
    row = rows(opened(tmp_path / "src"))[-1]
    assert (row["key"], row["reason"]) == ("a/00000064", reason)
    assert message in row["message"]


def test_bytes_that_are_no_example_are_rejected(tmp_path):
    good = [example(image_record(i)) for i in range(3)]
    write_tree(tmp_path / "src", {"a.tfrecord": framed([*good, b"\xff\xff", b"", good[0] + b"\x12\x00"])})
    found = rows(opened(tmp_path / "src"))[3:]
    assert [row["reason"] for row in found] == ["damaged"] * 3
    assert "SequenceExample" in found[2]["message"]


def test_files_without_label_are_refused_by_name_with_the_remedy(tmp_path):
    write(tmp_path / "src/train00-2.tfrec", [image_record(i) for i in range(2)])
    write(tmp_path / "src/test00-2.tfrec", [{"image": jpeg(i), "id": str(i)} for i in range(2)])
    with pytest.raises(DataError, match=r"test00-2\.tfrec have no feature 'label'.*ignore='test00-2\.tfrec'"):
        opened(tmp_path / "src")
    assert len(rows(opened(tmp_path / "src", ignore=("test*",)))) == 2


def test_files_of_two_programs_are_refused(tmp_path):
    write(tmp_path / "src/a.tfrec", [image_record(0)])
    write(tmp_path / "src/b.tfrec", [image_record(0, label="cat")])
    with pytest.raises(DataError, match=r"int64 in a\.tfrec, record 0 and bytes in b\.tfrec, record 0"):
        opened(tmp_path / "src")


def test_empty_files_and_missing_shards_are_named(tmp_path):
    write(tmp_path / "src/train-00000-of-00003", [image_record(0)])
    write_tree(tmp_path / "src", {"test-00000-of-00001": b"", "val-00000-of-00001.tfrecord.gz": gzip.compress(b"")})
    said = opened(tmp_path / "src").describe()
    assert "note      2 files without records, such as test-00000-of-00001" in said
    assert "note      missing: 2 of 3 shards of train-*-of-00003" in said
    write_tree(tmp_path / "all", {"train.tfrecord": b""})
    with pytest.raises(DataError, match="all TFRecord files are empty"):
        opened(tmp_path / "all")


def test_other_files_under_such_names_are_refused(tmp_path):
    write(tmp_path / "src/a.tfrecord", [image_record(0)])
    write_tree(tmp_path / "src", {"b.tfrecord": b"some text of a note"})
    with pytest.raises(DataError, match=r"b\.tfrecord: this is no TFRecord file"):
        opened(tmp_path / "src")


def test_a_single_file_is_a_source_and_options_overrule(tmp_path):
    path = write(tmp_path / "src/plain", [image_record(i, other=jpeg(9), grade=i) for i in range(2)])
    with pytest.raises(CallError, match="image and other hold images; name one with image_feature"):
        opened(path)
    source = opened(path, image_feature="other", label_feature="grade")
    assert [(row["label_name"], row["image"]) for row in rows(source)] == [("0", jpeg(9)), ("1", jpeg(9))]
    numbers = opened(path, image_feature="image", label_feature="grade", label_type="number")
    assert [row["target"] for row in rows(numbers)] == [[0.0], [1.0]]


def test_folders_of_images_with_a_stray_file_stay_class_folders(tmp_path):
    write(tmp_path / "src/cache.tfrecord", [image_record(0)])
    write_tree(tmp_path / "src", {"cat/1.jpg": jpeg(1), "dog/1.jpg": jpeg(2)})
    assert opened(tmp_path / "src").layout == "class folders"


def test_records_of_slim_count_from_zero_and_have_names_in_labels_txt(tmp_path):
    records = [{"image/encoded": jpeg(i), "image/class/label": i, "image/format": "jpg"} for i in range(3)]
    write(tmp_path / "src/flowers_train_00000-of-00001.tfrecord", records)
    classes = opened(tmp_path / "src", classes=("rose", "daisy", "tulip"))
    assert [row["label_name"] for row in rows(classes)] == ["rose", "daisy", "tulip"]
    write_tree(tmp_path / "src", {"labels.txt": b"0:daisy\n1:rose\n2:tulip\n"})
    assert [row["label_name"] for row in rows(opened(tmp_path / "src"))] == ["daisy", "rose", "tulip"]


def test_a_class_and_classes_of_boxes_are_two_readings(tmp_path):
    write(tmp_path / "src/train.record", [{**coco(1), "image/class/label": [5], "image/class/text": ["animal"]}])
    with pytest.raises(CallError, match="image/class/label and image/object/class/label may be the labels"):
        opened(tmp_path / "src")


def test_a_feature_groups_images(tmp_path):
    write(tmp_path / "src/train00-2.tfrec", [melanoma(0), {**melanoma(1), "patient_id": 9}])
    source = opened(tmp_path / "src", group_by="patient_id")
    assert [(row["group"], row["feature:patient_id"]) for row in rows(source)] == [("7", 7), ("9", 9)]
    assert "group     patient_id" in source.describe()
    assert "group" not in rows(opened(tmp_path / "src", group_by="ISIC_(.)"))[0]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"image/object/bbox/xmin": [0.5]}, "1 values of 'image/object/bbox/xmin'"),
        ({"image/object/bbox/xmax": [0.5, 120.0]}, "a side at 120.0"),
        ({"image/object/area": [1.0]}, "2 objects have 1 values of 'image/object/area'"),
        ({"image/object/area": [1, 2]}, "holds int64 values where"),
        ({"image/object/class/text": ["dog"]}, "2 labels in 'image/object/class/label' have 1 names"),
    ],
)
def test_odd_objects_reject_the_record(tmp_path, features, message):
    write(tmp_path / "src/train.record", [*[coco(1)] * 64, {**coco(2), **features}])
    row = rows(opened(tmp_path / "src"))[-1]
    assert row["reason"] in {"bad_annotation", "bad_label"}
    assert message in row["message"]


def test_boxes_of_four_sides_each_must_be_whole(tmp_path):
    box = {"objects/bbox": [0.1, 0.2, 0.3, 0.4], "objects/label": [1]}
    records = [{"image": jpeg(), **box}] * 64 + [
        {"image": jpeg(), "objects/bbox": [0.1, 0.2, 0.3], "objects/label": []}
    ]
    write(tmp_path / "src/train.tfrecord", records)
    *_, good, bad = rows(opened(tmp_path / "src"))
    assert good["objects"][0]["bbox"] == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert bad["reason"] == "bad_annotation"


def test_numbers_of_one_name_in_different_files_fail(tmp_path):
    for name, number in [("a", 134), ("b", 517)]:
        write(tmp_path / f"src/{name}.record", [{"image/encoded": jpeg(), **models_class(number, "crane")}] * 65)
    write(tmp_path / "src/b.record", [{"image/encoded": jpeg(), **models_class(1, "tench")}])
    with open(tmp_path / "src/b.record", "ab") as file:
        file.write(framed([example({"image/encoded": jpeg(), **models_class(517, "crane")})]))
    source = opened(tmp_path / "src", ignore=("nothing",))
    totals = Listing()
    for part in source.parts():
        for listing in source.list_part(part, 100):
            totals.add(listing.skipped, listing.classes.items())
    with pytest.raises(DataError, match="the labels 134 and 517 are both 'crane' in 'image/class/text'"):
        Inventory.of(source, listed(source).table, totals)


def models_class(number, text):
    return {"image/class/label": number, "image/class/text": text}


def test_a_pattern_of_files_is_refused_with_the_folder():
    assert "convert data OUT" in command_text(pattern_refusal("data/train-*-of-00010"))
    assert "all TFRecord files" in str(pattern_refusal("data/*.tfrec"))


def test_records_with_any_bytes_changed_are_read_or_rejected(tmp_path):
    rng = np.random.default_rng(0)
    damaged = []
    for i in range(200):
        data = bytearray(example(coco(1)))
        for _ in range(1 + i % 3):
            data[rng.integers(len(data))] = rng.integers(256)
        damaged.append(bytes(data))
    good = framed([example(coco(i)) for i in range(64)])
    write_tree(tmp_path / "src", {"a.record": good, "b.record": framed([example(coco(1)), *damaged])})
    source = opened(tmp_path / "src", label_feature="image/object/class/text")
    found = rows(source)
    assert len(found) == 64 + 201
    assert 0 < sum(row["reason"] is not None for row in found) < 200


@pytest.mark.parametrize(
    ("labels", "options", "column", "expected"),
    [
        ([[0, 2], [1]], {}, "label_names", [["0", "2"], ["1"]]),
        ([["cat", "dog"], ["cat"]], {}, "label_names", [["cat", "dog"], ["cat"]]),
        ([0.5, 1.25], {}, "target", [[0.5], [1.25]]),
        ([[0.5, 1.0], [2.0, 3.0]], {"label_type": "number"}, "target", [[0.5, 1.0], [2.0, 3.0]]),
        ([3.0, 4.0], {"label_type": "class"}, "label_name", ["3", "4"]),
        ([30, 41], {"label_type": "number"}, "target", [[30.0], [41.0]]),
    ],
)
def test_kinds_of_labels(tmp_path, labels, options, column, expected):
    write(tmp_path / "src/train.tfrecord", [{"image": jpeg(), "label": label} for label in labels])
    assert [row[column] for row in rows(opened(tmp_path / "src", **options))] == expected


def test_a_split_column_of_tfrecorder_counts_if_no_name_gives_a_split(tmp_path):
    records = [{**tfrecorder(0), "split": split} for split in ("TRAIN", "VALIDATION", "TEST")]
    write(tmp_path / "src/all.tfrecord", records)
    found = rows(opened(tmp_path / "src"))
    assert [row["split"] for row in found] == ["train", "validation", "test"]
    assert "feature:split" not in found[0]


def test_several_files_and_folders_are_one_source(tmp_path):
    write(tmp_path / "src/train.tfrecord", [image_record(i) for i in range(3)])
    write(tmp_path / "src/left_out.tfrecord", [image_record(9)])
    write(tmp_path / "src/old/val/a.tfrecord", [image_record(i) for i in range(3, 5)])
    source = opened(tmp_path / "src/train.tfrecord", also=(str(tmp_path / "src/old"),))
    assert source.describe().startswith(f"{tmp_path}/src: read as TFRecord, 2 files (1 of validation, 1 of train)")
    assert [(row["key"], row["split"]) for row in rows(source)] == [
        ("old/val/a/00000000", "validation"),
        ("old/val/a/00000001", "validation"),
        *((f"train/{i:08d}", "train") for i in range(3)),
    ]


def test_several_sources_that_are_not_all_records_or_overlap_are_refused(tmp_path):
    one = write(tmp_path / "src/train.tfrecord", [image_record(0)])
    write_tree(tmp_path, {"photos/cat/a.jpg": jpeg(1)})
    with pytest.raises(CallError, match=r"train\.tfrecord: TFRecords are converted together with other TFRecords only"):
        opened(one, also=(str(tmp_path / "photos"),))
    for also in (tmp_path / "src", one):
        with pytest.raises(CallError, match=r"train\.tfrecord: its TFRecords are given twice"):
            opened(one, also=(str(also),))
