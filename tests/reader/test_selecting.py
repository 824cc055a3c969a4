import numpy as np
import pyarrow.compute as pc
import pytest
import tensorflow as tf

from shardkit import read_manifest, reader
from shardkit.errors import CallError
from shardkit.index import read_index
from shardkit.testing import convert_without_beam, picture, write_tree


@pytest.fixture(scope="module")
def rows(noise):
    """The index of all 307 examples."""
    manifest = read_manifest(noise)
    shards = manifest.splits["train"].shards
    return [row for shard in shards for row in read_index(manifest.root, shard.index.path).to_pylist()]


def keys_read(dataset, *, training=False, **options):
    """Keys of one pass, by reading the records; in training of one epoch."""
    made = reader.make_dataset_fn(dataset, "train", global_batch_size=4, training=training, **options)
    steps = made.num_examples // 4 if training else None
    found = []
    for step, batch in enumerate(made() if steps is None else made().take(steps)):
        keys = [key.decode() for key in batch["key"].numpy()]
        if "weight" in batch:
            keys = [key for key, weight in zip(keys, batch["weight"].numpy(), strict=True) if weight]
        assert keys == made.batch_keys(step)
        found += keys
    return found


CONDITIONS = {
    "a class": ("label_name = 'ant'", pc.field("label_name") == "ant"),
    "classes and a hash": (
        "label_name in ('ant', 'bee') and image_bytes % 2 = 0",
        pc.field("label_name").isin(["ant", "bee"]) & (pc.bit_wise_and(pc.field("image_bytes"), 1) == 0),
    ),
    "a key": ("key like '%7.png'", pc.ends_with(pc.field("key"), "7.png")),
}


@pytest.mark.parametrize(("sql", "expression"), CONDITIONS.values(), ids=CONDITIONS.keys())
def test_only_what_meets_the_condition_is_read_each_once(sql, expression, noise, rows):
    checks = {
        "label_name = 'ant'": lambda row: row["label_name"] == "ant",
        "key like '%7.png'": lambda row: row["key"].endswith("7.png"),
    }
    check = checks.get(sql, lambda row: row["label_name"] in ("ant", "bee") and row["image_bytes"] % 2 == 0)
    wanted = sorted(row["key"] for row in rows if check(row))
    assert 20 < len(wanted) < 300
    for condition in (sql, expression):
        assert sorted(keys_read(noise, where=condition)) == wanted
        assert len(set(keys_read(noise, training=True, where=condition))) == len(wanted) // 4 * 4


def test_folds_part_the_split_and_share_out_every_class(noise, rows):
    label_of = {row["key"]: row["label_name"] for row in rows}
    seen = []
    for index in range(5):
        fold = keys_read(noise, fold=(index, 5))
        others = reader.make_dataset_fn(noise, "train", global_batch_size=4, fold=(index, 5))
        assert others.num_examples == len(rows) - len(fold)
        trained = {key for step in range(others.steps_per_epoch) for key in others.batch_keys(step)}
        assert not trained & set(fold)
        seen += fold
        for name, total in (("ant", 149), ("bee", 97), ("cat", 61)):
            assert abs(sum(label_of[key] == name for key in fold) - total / 5) < 1
    assert sorted(seen) == sorted(label_of)


def test_folds_keep_groups_whole(tmp_path):
    files = {f"{label}/p{i % 13:02d}_{i:03d}.png": picture(i) for i, label in enumerate(["a", "b"] * 50)}
    convert_without_beam(
        str(write_tree(tmp_path / "source", files)), str(tmp_path / "out"), group_by="/(p[0-9]+)_", shards=3
    )
    fold_of = {}
    for index in range(4):
        for key in keys_read(str(tmp_path / "out"), fold=(index, 4)):
            fold_of.setdefault(key.split("/")[1][:3], set()).add(index)
    assert {len(folds) for folds in fold_of.values()} == {1}
    assert set().union(*fold_of.values()) == {0, 1, 2, 3}


def test_taking_few_takes_some_of_those_that_taking_more_takes(noise):
    few, more = keys_read(noise, take=20), keys_read(noise, take=100)
    assert (len(few), len(more)) == (20, 100)
    assert set(few) < set(more)


def test_a_selection_of_a_selection(noise, rows):
    ants = {row["key"] for row in rows if row["label_name"] == "ant"}
    found = keys_read(noise, where="label_name = 'ant'", fold=(1, 3), take=11)
    assert len(found) == 11
    assert set(found) < ants


def test_images_and_labels_are_those_of_the_selection(noise, rows):
    made = reader.make_dataset_fn(
        noise,
        "train",
        global_batch_size=8,
        image_size=(8, 8),
        where="label_name = 'cat'",
        crop_scale=(1, 1),
        flip=False,
    )
    _, labels = next(iter(made()))
    assert set(labels.numpy().tolist()) == {2}
    made_by = {row["key"]: row["label"] for row in rows}
    assert {made_by[key] for key in made.batch_keys(0)} == {2}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"where": "label_nam = 'ant'"}, "cannot be read: Binder Error"),
        ({"where": "label_name ="}, "cannot be read: Parser Error"),
        ({"where": "key in (select content from read_text('/etc/passwd'))"}, "cannot be read: Permission Error"),
        ({"where": pc.field("colour") == "red"}, "it may name key, label, label_name"),
        ({"where": 5}, "where must be a SQL condition as a string, or a pyarrow.compute expression; found int"),
        ({"where": "height > 100000"}, "is met by none of the examples of the split"),
        ({"fold": (5, 5)}, "fold must be (index, count)"),
        ({"fold": (0, 1)}, "fold must be (index, count)"),
        ({"take": 0}, "take must be from 1 to 307"),
        ({"take": 308}, "take must be from 1 to 307"),
    ],
)
def test_what_cannot_be_selected_is_refused(options, said, noise):
    with pytest.raises(CallError) as raised:
        reader.make_dataset_fn(noise, "train", global_batch_size=4, **options)
    assert said in str(raised.value)


def test_a_damaged_record_of_a_selection_is_named(copied, rows):
    cats = [row for row in rows if row["label_name"] == "cat"]
    path = next(iter(sorted(copied.glob("*.tfrecord"))))
    in_first = {
        row["key"]: row for row in read_index(read_manifest(str(copied)).root, path.stem + ".index.parquet").to_pylist()
    }
    victim = next(row for row in cats if row["key"] in in_first)
    raw = bytearray(path.read_bytes())
    raw[victim["offset"] + 40] ^= 1
    path.write_bytes(raw)
    made = reader.make_dataset_fn(str(copied), "train", global_batch_size=1, training=False, where="label_name = 'cat'")
    with pytest.raises(tf.errors.OpError, match=victim["key"]):
        for _ in made():
            pass
    assert np.all([row["label"] == 2 for row in cats])
