"""Datasets as sources, from the first conversion to the second, in this thread."""

import io
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from shardkit.conversion.inventory.columns import features_of
from shardkit.dataset.index.file import parse_index
from shardkit.dataset.manifest import read_manifest
from shardkit.errors import CallError, DataError, MachineError, SourceChangedError
from shardkit.images import inspection, pillow
from shardkit.options.groups import ConvertOptions
from shardkit.records.sequence import Examples
from shardkit.sources.opening import open_source
from shardkit.sources.options import SourceOptions
from shardkit.testing import encoded, files_of, picture, plan_without_beam, write_class_folders, write_tree
from shardkit.testing.refusals import offered

from .converting import convert, examples, index_rows, shards

SPLITS = {"train": 0.6, "test": 0.4}


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    """40 images of two classes, some of which normalisation changes."""
    root = write_class_folders(tmp_path_factory.mktemp("raw"), {"cat": 20, "dog": 20}, width=12)
    bitmap, jpeg = picture(1000, kind="BMP"), picture(1001, kind="JPEG", width=16)
    return write_tree(root, {"cat/900.bmp": bitmap, "dog/901.jpg": jpeg, "dog/902.png": picture(3)})


@pytest.fixture(scope="module")
def old(raw, tmp_path_factory):
    output = tmp_path_factory.mktemp("old") / "OLD"
    convert(raw, output, shards=3)
    return output


@pytest.fixture
def nothing_decodes(monkeypatch):
    """Decoding an image raises an error, as does reading its header."""

    def refuse(*args, **kwargs):
        raise AssertionError("an image was decoded")

    for module in (pillow, inspection):
        for name in ("open_image", "decoding"):
            monkeypatch.setattr(module, name, refuse, raising=False)
    monkeypatch.setattr(Image, "open", refuse)


@pytest.mark.usefixtures("nothing_decodes")
def test_other_shards_hold_the_same_examples(old, tmp_path):
    made = convert(old, tmp_path / "new", shards=2)
    assert [shard.num_examples for _, shard in made.shards()] == [22, 21]
    assert examples(tmp_path / "new") == examples(old)
    before = read_manifest(str(old))
    assert (made.features, made.classes, made.source.layout) == (before.features, before.classes, "shardkit dataset")
    assert (made.source.num_files, made.rejected.num_examples) == (43, 0)


def test_the_shards_are_those_of_the_raw_images_with_the_same_options(raw, old, tmp_path):
    shutil.copytree(raw, tmp_path / "raw")
    (tmp_path / "raw/cat/900.bmp").unlink()  # whose size decides on its shard; the stored one is smaller
    for name, options in (
        ("splits", {"splits": SPLITS, "shards": 2}),
        ("stratified", {"splits": SPLITS, "split_by": "stratified", "seed": 5}),
        ("header", {"splits": SPLITS, "check": "header"}),
        ("images", {"size": "8x6", "dedupe": "drop"}),
        ("groups", {"splits": SPLITS, "group_by": r"(\d)\.\w+$"}),
    ):
        convert(tmp_path / "raw", tmp_path / "raw" / name, **options)
        shutil.move(tmp_path / "raw" / name, tmp_path / f"{name} of raw")
        convert(old, tmp_path / name, **options, where="key != 'cat/900.bmp'")
        assert shards(tmp_path / name) == shards(tmp_path / f"{name} of raw"), name
        assert index_rows(tmp_path / name) == index_rows(tmp_path / f"{name} of raw"), name


def test_splits_stay_or_are_made_anew_and_nobody_moves(raw, old, tmp_path):
    convert(raw, tmp_path / "split", splits=SPLITS)
    splits = {key: split for key, (split, _) in examples(tmp_path / "split").items()}
    assert set(splits.values()) == {"train", "test"}
    convert(tmp_path / "split", tmp_path / "kept", shards=2)
    convert(tmp_path / "split", tmp_path / "again", splits=SPLITS)
    convert(old, tmp_path / "first", splits=SPLITS)
    convert(tmp_path / "split", tmp_path / "more", splits={"train": 0.6, "validation": 0.2, "test": 0.2})
    for name in ("kept", "again", "first"):
        assert {key: split for key, (split, _) in examples(tmp_path / name).items()} == splits
    more = {key: split for key, (split, _) in examples(tmp_path / "more").items()}
    assert {key for key, split in more.items() if split == "train"} == {key for key in splits if splits[key] == "train"}


def test_splits_of_the_first_source_are_not_mixed(tmp_path):
    source = write_class_folders(tmp_path / "raw", {"train/a": 8, "train/b": 8, "test/a": 2, "test/b": 2})
    convert(source, tmp_path / "old")
    with pytest.raises(CallError, match="splits would mix them") as refused:
        convert(tmp_path / "old", tmp_path / "new", splits=SPLITS)
    assert offered(refused.value)[0] == {"splits": None}
    made = convert(tmp_path / "old", tmp_path / "new", splits_of="train", splits={"train": 0.5, "validation": 0.5})
    assert made.splits["test"].num_examples == 4
    assert sum(split.num_examples for split in made.splits.values()) == 20


def test_a_condition_is_that_of_the_reader(old, tmp_path):
    where = "label_name != 'cat' and (width < 12 or changes = '')"
    made = convert(old, tmp_path / "new", where=where)
    wanted = {key for split in ("train",) for key in Examples(str(old), split, where).index["key"].to_pylist()}
    assert set(examples(tmp_path / "new")) == wanted
    assert (made.classes, made.source.skipped) == (["cat", "dog"], {"left out by `where`": 43 - len(wanted)})
    assert made.options["where"].startswith("1 condition, hmac ")
    with pytest.raises(CallError, match="there is no column 'hight'"):
        convert(old, tmp_path / "other", where="hight > 3")
    with pytest.raises(CallError, match="compares text with a number"):
        convert(old, tmp_path / "other", where="height = 'a'")
    with pytest.raises(DataError, match="43 left out by where"):
        convert(old, tmp_path / "other", where="height > 3000")


def test_nothing_of_a_removed_image_is_left(raw, old, tmp_path):
    removed = ["dog/003.png", "dog/901.jpg"]
    (tmp_path / "keys.txt").write_text("\n".join(["", *removed, ""]))
    made = convert(old, tmp_path / "new", drop=str(tmp_path / "keys.txt"))
    assert examples(tmp_path / "new") == {key: one for key, one in examples(old).items() if key not in removed}
    assert made.source.skipped == {"removed by `drop`": 2}
    everything = b"".join(files_of(tmp_path / "new").values())
    for key in removed:
        data = (raw / key).read_bytes()
        assert data in b"".join(shards(old).values())
        assert data[-40:] not in everything  # the end of the compressed pixels
        assert key.encode() not in everything


@pytest.mark.usefixtures("nothing_decodes")
def test_labels_are_corrected_without_decoding(raw, old, tmp_path):
    with pytest.raises((MachineError, AssertionError), match="an image was decoded"):
        convert(raw, tmp_path / "decoded")
    made = convert(old, tmp_path / "new", labels={"cat/004.png": "dog"}, where="label_name = 'dog'")
    before = examples(old)
    changed = examples(tmp_path / "new")
    split, values = before["cat/004.png"]
    assert changed.pop("cat/004.png") == (split, {**values, "label": 1, "names": ["dog"]})
    assert changed == {key: one for key, one in before.items() if one[1]["names"] == ["dog"]}
    assert made.splits["train"].class_counts == [0, 23]
    assert made.options["labels"].startswith("1 key, hmac ")


def test_a_new_class_is_named_by_classes(old, tmp_path):
    with pytest.raises(CallError, match="classes"):
        convert(old, tmp_path / "new", labels={"cat/004.png": "bird"})
    made = convert(old, tmp_path / "new", labels={"cat/004.png": "bird"}, classes=["bird", "dog", "cat"])
    assert made.splits["train"].class_counts == [1, 22, 20]
    assert examples(tmp_path / "new")["cat/004.png"][1]["names"] == ["bird"]


def test_other_options_are_another_conversion(old, tmp_path):
    convert(old, tmp_path / "new", drop=["cat/004.png"])
    for options in ({}, {"drop": ["cat/005.png"]}, {"drop": ["cat/004.png"], "where": "height > 1"}):
        with pytest.raises(DataError, match="converted differently"):
            convert(old, tmp_path / "new", **options)
    convert(old, tmp_path / "renamed", name="renamed", shards=3)
    digests = {plan_without_beam(open_source(str(one)), ConvertOptions()).digest for one in (old, tmp_path / "renamed")}
    assert len(digests) == 1  # the same shards would be written, and yet it is another dataset
    with pytest.raises(DataError, match="different"):
        convert(tmp_path / "renamed", tmp_path / "new", drop=["cat/004.png"])


def image(mode, size):
    return encoded(Image.new(mode, size, 3), "PNG")


def sources_with_annotations(root):
    """A source of each kind of annotations, by name."""
    pictures = {f"{i}.png": picture(i, width=10, height=8) for i in range(6)}
    boxes = "".join(f"{i}.png,{i % 2 + 1},1,{i + 3},7,{'dog' if i % 2 else 'cat'}\n" for i in range(6))
    columns = {
        "image": [*pictures],
        "label": ["a", "b"] * 3,
        "age": [1, 2, 3, 4, 5, 6],
        "weights": [[0.5], [], [1.5, 0.1], [], [0.3], [0.7]],
        "note": ["x", "ä", "", "y", "z", "w"],
        "height": [7, 7, 7, 7, 7, 7],  # a name that shardkit uses itself
    }
    kinds = {
        "boxes": {**pictures, "boxes.csv": b"image,xmin,ymin,xmax,ymax,label\n" + boxes.encode()},
        "columns": {**pictures, "table.parquet": parquet(columns)},
        "several": {
            **pictures,
            "table.jsonl": b"".join(b'{"image": "%d.png", "label": ["a", "b"]}\n' % i for i in range(6)),
        },
        "numbers": {
            **pictures,
            "table.csv": b"image,target\n" + b"".join(b"%d.png,%d.25\n" % (i, i) for i in range(6)),
        },
        "masks": {f"images/{name}": data for name, data in pictures.items()}
        | {f"masks/{name}": image("L", (10, 8)) for name in pictures},
        "nothing": {f"some/where/{name}": data for name, data in pictures.items()},
    }
    options = {"nothing": {"unlabelled": True}, "numbers": {"label_columns": ["target"], "label_type": "number"}}
    tables = {"columns": "table.parquet", "several": "table.jsonl", "numbers": "table.csv"}
    made = {}
    for kind, files in kinds.items():
        folder = write_tree(root / kind, files)
        made[kind] = folder / tables.get(kind, ""), options.get(kind, {})
    return made


def parquet(columns):
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


SLOW = ("several", "numbers", "nothing")
KINDS = ["boxes", "columns", "masks", *(pytest.param(one, marks=pytest.mark.slow) for one in SLOW)]


@pytest.mark.parametrize("kind", KINDS)
def test_all_annotations_come_along_with_their_types(kind, tmp_path):
    source, options = sources_with_annotations(tmp_path)[kind]
    before = convert(source, tmp_path / "old", **options)
    assert features_of(open_source(str(tmp_path / "old")).schema) == before.features
    made = convert(tmp_path / "old", tmp_path / "new", shards=2)
    assert (made.features, made.classes) == (before.features, before.classes)
    assert examples(tmp_path / "new") == examples(tmp_path / "old")
    # Cropped with their annotations, as if this were the first conversion.
    convert(source, tmp_path / "raw cropped", size="6x6", shards=1, **options)
    convert(tmp_path / "old", tmp_path / "cropped", size="6x6", shards=1)
    if kind != "boxes":
        assert shards(tmp_path / "cropped") == shards(tmp_path / "raw cropped")
        return
    wanted, found = examples(tmp_path / "raw cropped"), examples(tmp_path / "cropped")
    for key, (_, values) in wanted.items():  # the stored boxes are rounded to float32
        assert np.allclose(found[key][1].pop("objects/bbox"), values.pop("objects/bbox"), atol=1e-6)
    assert found == wanted


def test_a_damaged_record_is_rejected_with_its_place(old, tmp_path):
    damaged = tmp_path / "old"
    shutil.copytree(old, damaged)
    name = "train-00001-of-00003.tfrecord"
    index = parse_index((old / "train-00001-of-00003.index.parquet").read_bytes(), where="")[0].to_pylist()
    content = bytearray((old / name).read_bytes())
    content[index[2]["offset"] + 40] ^= 1
    (damaged / name).write_bytes(content)
    made = convert(damaged, tmp_path / "new")
    assert made.rejected.by_reason == {"damaged": 1}
    [row] = pq.read_table(tmp_path / "new/rejected.parquet").to_pylist()
    assert row["key"] == index[2]["key"]
    assert f"{name}: record at byte {index[2]['offset']}: the CRC of the record's data" in row["message"]
    assert index[2]["key"] not in examples(tmp_path / "new")


def test_a_shard_of_another_dataset_is_found(old, tmp_path):
    # Same sizes and valid CRCs: the records of two shards of the same lengths, exchanged.
    damaged = tmp_path / "old"
    source = write_tree(tmp_path / "raw", {f"a/{i}.png": picture(7)[:-4] + bytes([i, 0, 0, 0]) for i in range(4)})
    write_tree(source, {f"b/{i}.png": picture(7)[:-4] + bytes([i, 1, 0, 0]) for i in range(4)})
    convert(source, damaged, shards=2, check="header")
    first, second = sorted(damaged.glob("*.tfrecord"))
    content = first.read_bytes(), second.read_bytes()
    assert len(content[0]) == len(content[1])
    first.write_bytes(content[1])
    second.write_bytes(content[0])
    with pytest.raises(DataError, match="it is not the example of the index"):
        convert(damaged, tmp_path / "new", check="header")


@pytest.mark.parametrize("what", ["missing", "short", "index"])
def test_a_dataset_with_other_files_than_its_manifest_is_refused(old, tmp_path, what):
    damaged = tmp_path / "old"
    shutil.copytree(old, damaged)
    shard = damaged / "train-00001-of-00003.tfrecord"
    if what == "missing":
        shard.unlink()
    elif what == "short":
        shard.write_bytes(shard.read_bytes()[:-1])
    else:
        shutil.copy(damaged / "train-00000-of-00003.index.parquet", damaged / "train-00001-of-00003.index.parquet")
    with pytest.raises(DataError, match=r"train-00001-of-00003.*restore it"):
        convert(damaged, tmp_path / "new")


def test_a_dataset_that_is_replaced_meanwhile_is_found(old, raw, tmp_path):
    shutil.copytree(old, tmp_path / "old")
    source = open_source(str(tmp_path / "old"))
    source.refuse_changed()
    (tmp_path / "old/train-00001-of-00003.tfrecord").touch()
    with pytest.raises(SourceChangedError, match=r"train-00001-of-00003.tfrecord: the shard was written"):
        source.refuse_changed()
    shutil.rmtree(tmp_path / "old")
    convert(raw, tmp_path / "old", seed=3)
    with pytest.raises(SourceChangedError, match="was replaced"):
        source.refuse_changed()


def test_images_that_no_conversion_has_decoded_are_decoded_now(raw, tmp_path):
    source = tmp_path / "raw"
    shutil.copytree(raw, source)
    content = bytearray((source / "dog/902.png").read_bytes())
    content[60] ^= 255
    (source / "dog/902.png").write_bytes(content)
    assert convert(source, tmp_path / "old", check="header").rejected.num_examples == 0
    made = convert(tmp_path / "old", tmp_path / "new", check="decode")
    assert made.rejected.by_reason == {"damaged": 1}
    assert "dog/902.png" not in examples(tmp_path / "new")
    assert convert(tmp_path / "old", tmp_path / "unchecked").rejected.num_examples == 0


def test_groups_stay_together_and_may_be_made_anew(raw, tmp_path):
    pattern = r"(\d)\.\w+$"
    convert(raw, tmp_path / "old", group_by=pattern)
    same = convert(tmp_path / "old", tmp_path / "same", splits=SPLITS)
    direct = convert(raw, tmp_path / "direct", splits=SPLITS, group_by=pattern)
    assert same.source.groups == direct.source.groups == 10
    assert {key: one[0] for key, one in examples(tmp_path / "same").items()} == {
        key: one[0] for key, one in examples(tmp_path / "direct").items()
    }
    assert convert(tmp_path / "old", tmp_path / "other", group_by="^(.)").source.groups == 2


def test_calls_that_cannot_be_right(raw, old, tmp_path):
    for output in (old, old / "inside"):
        with pytest.raises(CallError, match="OUTPUT is"):
            convert(old, output)
    with pytest.raises(CallError, match="ignore leaves out"):
        convert(old, tmp_path / "new", ignore=["cat/"])
    with pytest.raises(CallError, match="where has no effect on the layout class-folders"):
        convert(raw, tmp_path / "new", where="height > 3")
    with pytest.raises(CallError, match="root has no effect on the layout shardkit"):
        convert(old, tmp_path / "new", root="/")
    with pytest.raises(CallError, match="'nope'"):
        convert(old, tmp_path / "new", drop=["nope"])
    assert not (tmp_path / "new").exists() or not list((tmp_path / "new").glob("*.tfrecord"))
    shutil.copytree(old, tmp_path / "unfinished")
    (tmp_path / "unfinished/manifest.json").unlink()
    with pytest.raises(DataError, match=r"it has shards and no manifest.json"):
        convert(tmp_path / "unfinished", tmp_path / "new")


def test_the_manifest_may_be_named(old):
    assert (
        open_source(str(old / "manifest.json")).describe()
        == open_source(str(old), SourceOptions("shardkit")).describe()
    )
