import json
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit import testing
from shardkit.errors import CallError, DataError, UnknownNameError
from shardkit.record_sources.hf_parquet import is_hf_parquet
from shardkit.record_sources.hf_parquet_columns import has_embedded_images
from shardkit.storage import open_folder
from shardkit.testing import listed, write_tree
from shardkit.testing.refusals import offered

IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def classes_of(column, names):
    """The metadata that `datasets` writes."""
    features = {"image": {"_type": "Image"}, column: {"_type": "ClassLabel", "names": names}}
    return {b"huggingface": json.dumps({"info": {"features": features}}).encode()}


def table(images, labels, *, column="label", names=None, type_=IMAGE, image="image"):
    found = pa.table({image: pa.array(images, type_), column: labels})
    return found.replace_schema_metadata(classes_of(column, names)) if names else found


def source_of(tmp_path, row_group_size=2, **tables):
    """Files of those tables; a name's `__` is a folder."""
    for name, one in tables.items():
        path = tmp_path / "source" / f"{name.replace('__', '/').replace('_', '-')}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(one, path, row_group_size=row_group_size)
    (tmp_path / "work").mkdir(exist_ok=True)
    return tmp_path / "source"


def opened(path, **options):
    root = path if path.is_dir() else path.parent
    return testing.opened(path, layout="hf-parquet", work=root.parent / "work", **options)


def rows(source, batch_rows=1000):
    """(key, split, label or reason, bytes of a good image) in the order of the keys."""
    found = listed(source, batch_rows)
    assert all(row["path"] is row["offset"] is row["label_name"] is None for row in found.rows if row["reason"])
    images = found.images()
    return [(*one, images.get(one[0])) for one in found.labels]


def picture(i, path="default"):
    return {"bytes": b"image %d" % i, "path": f"{i}.png" if path == "default" else path}


def test_images_are_read_from_the_work_folder_with_their_class_names(tmp_path):
    data = table([picture(i) for i in range(5)], [0, 1, 2, 1, 0], names=["zebra", "ant", "cat"])
    root = source_of(tmp_path, data__train_00000_of_00001=data)
    source = opened(root)
    stem = "data/train-00000-of-00001"
    assert is_hf_parquet(open_folder(str(root)))
    assert source.classes == ("zebra", "ant", "cat")
    assert len(source.parts()) == 3  # row groups
    expected = [
        (f"{stem}/00000000-0.png", "train", "zebra", b"image 0"),
        (f"{stem}/00000001-1.png", "train", "ant", b"image 1"),
        (f"{stem}/00000002-2.png", "train", "cat", b"image 2"),
        (f"{stem}/00000003-3.png", "train", "ant", b"image 3"),
        (f"{stem}/00000004-4.png", "train", "zebra", b"image 4"),
    ]
    assert rows(source) == expected
    assert rows(source, batch_rows=1) == expected
    assert len(list((root.parent / "work").rglob("*-*"))) == 0  # no temporary is left
    assert len(list((root.parent / "work/.shardkit/images").iterdir())) == 3  # one file a row group, written over
    row = listed(source).table.to_pylist()[0]
    assert row["mtime_ns"] == (root / f"{stem}.parquet").stat().st_mtime_ns


def test_what_is_listed_is_all_there_before_the_first_batch_is_given(tmp_path):
    source = opened(source_of(tmp_path, 100, a=table([picture(i) for i in range(50)], ["x"] * 50)))
    [part] = source.parts()
    first = next(source.list_part(part, 1)).table().to_pylist()[0]
    assert source.folder.stat(first["path"]).num_bytes == sum(len(picture(i)["bytes"]) for i in range(50))


# why: an image, a label, and the (key, label or reason) that it is listed as
RECORDS = {
    "text is its own class": (picture(1), "cat", ("a/00000000-1.png", "cat")),
    "no path": (picture(1, None), "cat", ("a/00000000", "cat")),
    "an empty path": (picture(1, ""), "cat", ("a/00000000", "cat")),
    "a path with folders": (picture(1, "x/../y/1.png"), "cat", ("a/00000000-1.png", "cat")),
    "a path of Windows": (picture(1, "C:\\x\\1.png"), "cat", ("a/00000000-1.png", "cat")),
    "an odd path": (picture(1, "\u732b\n\U0001f600.png"), "cat", ("a/00000000-\u732b\n\U0001f600.png", "cat")),
    "an empty image is looked at later": ({"bytes": b"", "path": "1.png"}, "cat", ("a/00000000-1.png", "cat")),
    "no bytes": ({"bytes": None, "path": "1.png"}, "cat", ("a/00000000-1.png", "missing")),
    "neither bytes nor path": ({"bytes": None, "path": None}, "cat", ("a/00000000", "missing")),
    "no image at all": (None, "cat", ("a/00000000", "missing")),
    "no label": (picture(1), None, ("a/00000000-1.png", "no_label")),
    "an empty label": (picture(1), "", ("a/00000000-1.png", "no_label")),
}


@pytest.mark.parametrize("why", RECORDS)
def test_odd_records_are_listed_with_the_reason(tmp_path, why):
    image, label, expected = RECORDS[why]
    images, labels = [image, picture(9)], [label, "dog"]
    found = rows(opened(source_of(tmp_path, a=table(images, pa.array(labels, pa.string())))))
    assert (found[0][0], found[0][2]) == expected
    assert found[1] == ("a/00000001-9.png", None, "dog", b"image 9")


@pytest.mark.parametrize(
    ("number", "reason"), [(-1, "no_label"), (3, "bad_label"), (-2, "bad_label"), (None, "no_label")]
)
def test_a_number_that_no_class_has_is_reported(tmp_path, number, reason):
    data = table([picture(0), picture(1)], pa.array([number, 2], pa.int64()), names=["a", "b", "c"])
    assert [row[2] for row in rows(opened(source_of(tmp_path, a=data)))] == [reason, "c"]


def test_the_hubs_number_for_no_label_is_told_as_such(tmp_path):
    data = table([picture(0), picture(1)], pa.array([-1, 2], pa.int64()), names=["a", "b", "c"])
    message = listed(opened(source_of(tmp_path, a=data))).table["message"][0].as_py()
    assert message == "column 'label' holds -1, Hugging Face's number for no label; give it one or leave it out"


def test_further_columns_are_carried_along_and_what_is_not_is_named(tmp_path):
    data = table([picture(i) for i in range(3)], ["x", "y", "x"])
    data = data.append_column("patient", pa.array(["p", None, "q"])).append_column("age", [[30, 40, 50]])
    data = data.append_column("objects", pa.array([{"bbox": [[1.0, 2.0, 3.0, 4.0]], "category": [1]}] * 3))
    source = opened(source_of(tmp_path, a=data), group_by="patient")
    found = listed(source).table
    assert found["feature:age"].to_pylist() == [30, 40, 50]
    assert found["group"].to_pylist() == ["p", None, "q"]
    assert source.describe().endswith("the group from 'patient'; stored as features 'age' (int64); left out 'objects'")


def test_a_column_tells_splits_where_no_path_does_or_where_it_is_named(tmp_path):
    data = table([picture(0), picture(1)], ["x", "y"])
    data = data.append_column("split", [["test", "Val"]]).append_column("fold", [["a", "a-b"]])
    plain, in_train = (source_of(tmp_path / name, **{name: data}) for name in ("a", "train"))
    assert [row[1] for row in rows(opened(plain))] == ["test", "validation"]
    assert [row[1] for row in rows(opened(in_train))] == ["train", "train"]
    assert listed(opened(in_train)).table["feature:split"].to_pylist() == ["test", "Val"]
    assert [row[1:3] for row in rows(opened(in_train, split_column="fold"))] == [("a", "x"), ("train", "bad_split")]


def test_integers_without_names_are_their_own_text(tmp_path):
    source = opened(source_of(tmp_path, a=table([picture(0)], [7])))
    assert (rows(source)[0][2], source.classes) == ("7", None)


def test_several_labels_and_numbers_are_read_as_tables_read_them(tmp_path):
    several = listed(opened(source_of(tmp_path / "1", a=table([picture(0), None], [["x", "y"], ["z"]])))).table
    assert several["label_names"].to_pylist() == [["x", "y"], None]
    numbers = listed(opened(source_of(tmp_path / "2", a=table([picture(0)], [0.5])))).table
    assert numbers["target"].to_pylist() == [[0.5]]


def test_columns_can_be_named(tmp_path):
    data = table([picture(0)], ["wrong"])
    data = data.append_column("breed", [["pug"]]).append_column("photo", pa.array([picture(7)], IMAGE))
    root = source_of(tmp_path, a=data)
    assert rows(opened(root, label_columns=("label",)))[0][2:] == ("wrong", b"image 0")
    with pytest.raises(CallError, match="'label' or 'breed'") as refused:
        opened(root)
    assert offered(refused.value) == [{"label_columns": ("label",)}, {"label_columns": ("breed",)}]
    assert rows(opened(root, image_column="photo", label_columns=("breed",)))[0][2:] == ("pug", b"image 7")
    with pytest.raises(UnknownNameError, match=r"'label' is not a column of image.*there is 'image', 'photo'"):
        opened(root, image_column="label")
    with pytest.raises(UnknownNameError, match="there is no column 'nose'; there are 'image', 'label'"):
        opened(root, label_columns=("nose",))


@pytest.mark.parametrize(
    ("names", "splits"),
    [
        (["data__train_00000_of_00002", "data__train_00001_of_00002", "data__test_00000_of_00001"], "test train train"),
        (["train_0", "validation_0"], "train validation"),
        (["train__0000", "val__0000"], "train validation"),
        (["default__train__0000", "default__test__0000"], "test train"),
        (["data__0000"], ""),
        (["mnist__train_00000_of_00001", "mnist__test_00000_of_00001"], "test train"),
        (["plain__train__0000", "plain__validation__0000"], "train validation"),
    ],
)
def test_files_are_found_where_the_hub_has_them_and_tell_their_split(tmp_path, names, splits):
    root = source_of(tmp_path, **dict.fromkeys(names, table([picture(0)], ["x"])))
    assert is_hf_parquet(open_folder(str(root)))
    found = [row[1] for row in rows(opened(root))]
    assert sorted(split for split in found if split) == splits.split()
    assert len(found) == len(names)


def test_of_several_configurations_one_has_to_be_named(tmp_path):
    data = table([picture(0)], ["x"])
    root = source_of(tmp_path, fine__train_0=data, coarse__train_0=data)
    assert is_hf_parquet(open_folder(str(root)))
    with pytest.raises(DataError, match=r"it holds 2 configurations of one dataset \(coarse, fine\); SOURCE is one"):
        opened(root)


def test_one_file_can_be_the_source(tmp_path):
    data = table([picture(0)], ["x"])
    root = source_of(tmp_path, a=data, train_b=data)
    assert has_embedded_images(open_folder(str(root)), "train-b.parquet")
    assert [row[:3] for row in rows(opened(root / "train-b.parquet"))] == [("train-b/00000000-0.png", "train", "x")]
    assert opened(root / "a.parquet").describe() == (
        f"{root}/a.parquet read as Hugging Face Parquet: the image from column 'image'; the class from column 'label'"
    )


def test_other_forms_of_the_column_are_read(tmp_path):
    large = pa.struct([("path", pa.large_string()), ("bytes", pa.large_binary())])
    bare = pa.struct([("bytes", pa.binary())])
    for i, (type_, name) in enumerate([(large, "00000000-0.png"), (bare, "00000000")]):
        image = {"bytes": b"image 0", "path": "0.png"} if i == 0 else {"bytes": b"image 0"}
        source = opened(source_of(tmp_path / str(i), a=table([image], ["x"], type_=type_)))
        assert rows(source) == [(f"a/{name}", None, "x", b"image 0")]


BYTES = [pa.binary(), pa.large_binary(), pa.binary_view()]


@pytest.mark.parametrize("type_", BYTES, ids=str)
def test_images_as_plain_bytes_are_read(type_, tmp_path):
    root = source_of(tmp_path, train=table([b"image 0", None, b"image 2"], ["x", "y", "z"], type_=type_))
    assert is_hf_parquet(open_folder(str(root)))
    assert rows(opened(root)) == [
        ("train/00000000", "train", "x", b"image 0"),
        ("train/00000001", "train", "missing", None),
        ("train/00000002", "train", "z", b"image 2"),
    ]


@pytest.mark.parametrize("type_", BYTES, ids=str)
def test_images_in_structs_of_any_bytes_are_read(type_, tmp_path):
    struct = pa.struct([("bytes", type_), ("path", pa.string())])
    source = opened(source_of(tmp_path, train=table([picture(0)], ["x"], type_=struct)))
    assert [row[:3] for row in rows(source)] == [("train/00000000-0.png", "train", "x")]


def test_bytes_of_any_name_are_images_where_the_user_says_so(tmp_path):
    root = source_of(tmp_path, train=table([b"image 0"], ["x"], type_=pa.binary(), image="Scan"))
    assert not has_embedded_images(open_folder(str(root)), "train.parquet")
    assert has_embedded_images(open_folder(str(root)), "train.parquet", "Scan")
    source = opened(root, image_column="Scan")
    assert rows(source) == [("train/00000000", "train", "x", b"image 0")]
    with pytest.raises(UnknownNameError, match="'label' is not a column of images"):
        opened(root, image_column="label")


def test_a_table_of_paths_stays_one_though_it_holds_other_bytes(tmp_path):
    more = {"thumbnail": pa.array([b"1"], pa.binary()), "images": pa.array([[b"1"]], pa.list_(pa.binary()))}
    root = source_of(tmp_path, a=pa.table({"file_name": ["1.png"], "label": ["x"], **more}))
    assert not has_embedded_images(open_folder(str(root)), "a.parquet")
    both = source_of(tmp_path / "both", a=table([picture(0)], ["x"]).append_column("path", pa.array(["1.png"])))
    assert has_embedded_images(open_folder(str(both)), "a.parquet")
    assert not has_embedded_images(open_folder(str(both)), "a.parquet", "path")


@pytest.mark.parametrize("type_", [pa.list_(IMAGE), pa.large_list(pa.binary()), pa.list_(pa.binary(), 2)], ids=str)
@pytest.mark.parametrize("options", [{}, {"image_column": "images"}], ids=str)
def test_several_images_a_record_are_refused_with_the_column(type_, options, tmp_path):
    one = picture(0) if type_.value_type == IMAGE else b"image"
    root = source_of(tmp_path, a=table([[one, one]], ["x"], type_=type_, image="images"))
    assert is_hf_parquet(open_folder(str(root)))
    assert has_embedded_images(open_folder(str(root)), "a.parquet", wanted=options.get("image_column"))
    with pytest.raises(DataError, match=r"a\.parquet: column 'images' holds lists of images"):
        opened(root, **options)


@pytest.mark.parametrize(
    "data",
    [
        pa.table({"image": ["1.png"], "label": ["x"]}),  # a table of paths
        pa.table({"hash": pa.array([b"1"], pa.binary()), "label": ["x"]}),  # bytes that need not be images
        pa.table({"image": pa.array([{"bytes": "1"}]), "label": ["x"]}),
    ],
)
def test_other_parquet_files_are_not_taken_for_images(tmp_path, data):
    root = source_of(tmp_path, a=data)
    assert not is_hf_parquet(open_folder(str(root)))
    with pytest.raises(DataError, match=r"there is no column of images in it"):
        opened(root)


def test_other_layouts_are_not_taken_for_parquet(tmp_path):
    root = write_tree(tmp_path / "source", {"cat/1.parquet": b"", "notes.txt": b""})
    assert not is_hf_parquet(open_folder(str(root)))
    with pytest.raises(DataError, match=r"there is no \.parquet file"):
        opened(root)
    broken = write_tree(tmp_path / "broken", {"a.parquet": b"no table"})
    assert not is_hf_parquet(open_folder(str(broken)))


def test_images_without_a_column_of_labels_are_refused(tmp_path):
    with pytest.raises(CallError, match=r"'caption' has a usual name for labels") as refused:
        opened(source_of(tmp_path, a=table([picture(0)], ["x"], column="caption")))
    assert offered(refused.value) == [{"label_columns": ("caption",)}]


def test_files_that_differ_are_refused(tmp_path):
    one, other = (table([picture(0)], [0], names=names) for names in (["a", "b"], ["b", "a"]))
    with pytest.raises(DataError, match=r"2\.parquet: its columns, types or class names differ from those of .*1\."):
        opened(source_of(tmp_path, train_1=one, train_2=other))


def test_a_damaged_row_group_is_said_with_the_file(tmp_path):
    images = [{"bytes": os.urandom(5000), "path": f"{i}"} for i in range(40)]
    root = source_of(tmp_path, 40, a=table(images, ["x"] * 40))
    source = opened(root)
    data = bytearray((root / "a.parquet").read_bytes())
    data[4:60] = b"\xff" * 56
    (root / "a.parquet").write_bytes(data)
    with pytest.raises(DataError, match=r"a\.parquet: the Parquet file is damaged"):
        listed(source)
    assert [path for path in (root.parent / "work").rglob("*") if path.is_file()] == []


@given(
    st.lists(st.tuples(st.none() | st.binary(max_size=300), st.sampled_from(["x", "y"])), min_size=1, max_size=40),
    st.integers(1, 20),
    st.integers(1, 20),
)
def test_every_record_is_listed_once_in_its_order_with_its_own_bytes(tmp_path_factory, records, group_rows, batch_rows):
    images = [{"bytes": data, "path": None} for data, _ in records]
    root = source_of(tmp_path_factory.mktemp("hf"), group_rows, a=table(images, [label for _, label in records]))
    assert rows(opened(root), batch_rows) == [
        (f"a/{i:08d}", None, "missing" if data is None else label, data) for i, (data, label) in enumerate(records)
    ]
