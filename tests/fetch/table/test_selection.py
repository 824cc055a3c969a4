import numpy as np
import pyarrow.compute as pc
import pytest

from shardkit import read_manifest, reader
from shardkit.dataset.index.shards import read_columns
from shardkit.errors import CallError, RecordError
from shardkit.fetch.table.records import load_table
from shardkit.fetch.table.selection import select
from shardkit.sources.options import SourceOptions
from shardkit.testing import convert_without_beam, picture, write_tree

from ..conftest import fetched_batches

RANDOM = pc.Expression._call("random", [], pc.RandomOptions())  # no public function makes one


@pytest.fixture(scope="module")
def rows(noise):
    """The index of all 307 examples."""
    manifest = read_manifest(noise)
    shards = manifest.splits["train"].shards
    return [row for shard in shards for row in read_columns(manifest.root, shard).to_pylist()]


def keys_read(dataset, *, training=False, **options):
    """Keys of one pass, by reading the records; in training of one epoch."""
    made = reader.make_dataset_fn(dataset, "train", global_batch_size=4, training=training, **options)
    found = []
    for step, batch in enumerate(fetched_batches(made, made.num_examples // 4 if training else None)):
        keys = [key.decode() for key in batch["key"]]
        if "weight" in batch:
            keys = [key for key, weight in zip(keys, batch["weight"], strict=True) if weight]
        assert keys == made.batch_keys(step)
        found += keys
    return found


def keys_listed(dataset, *, training=False, **options):
    """The same from the index alone."""
    made = reader.make_dataset_fn(dataset, "train", global_batch_size=4, training=training, **options)
    steps = made.num_examples // 4 if training else made.steps_per_epoch
    return [key for step in range(steps) for key in made.batch_keys(step)]


CONDITIONS = {
    "a class": (
        "label_name = 'ant'",
        pc.field("label_name") == "ant",
        lambda row: row["label_name"] == "ant",
    ),
    "classes and a size": (
        "label_name in ('ant', 'bee') and image_bytes * 2 >= 250",
        pc.field("label_name").isin(["ant", "bee"]) & (pc.field("image_bytes") * 2 >= 250),
        lambda row: row["label_name"] in ("ant", "bee") and row["image_bytes"] * 2 >= 250,
    ),
    "a key": (
        "key like '%7.png'",
        pc.ends_with(pc.field("key"), "7.png"),
        lambda row: row["key"].endswith("7.png"),
    ),
}


@pytest.mark.parametrize(("text", "expression", "holds"), CONDITIONS.values(), ids=CONDITIONS.keys())
def test_only_what_meets_the_condition_is_read_each_once(text, expression, holds, noise, rows):
    wanted = sorted(row["key"] for row in rows if holds(row))
    assert 20 < len(wanted) < 300
    for condition, keys in ((text, keys_read), (expression, keys_listed)):
        assert sorted(keys(noise, where=condition)) == wanted
        assert len(set(keys_listed(noise, training=True, where=condition))) == len(wanted) // 4 * 4


def test_folds_part_the_split_and_share_out_every_class(noise, rows):
    label_of = {row["key"]: row["label_name"] for row in rows}
    seen = []
    for index in range(5):
        fold = selected(noise, fold=(index, 5))
        assert index or fold == set(keys_read(noise, fold=(index, 5)))
        assert selected(noise, fold=(index, 5), training=True) == label_of.keys() - fold
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
        for key in keys_listed(str(tmp_path / "out"), fold=(index, 4)):
            fold_of.setdefault(key.split("/")[1][:3], set()).add(index)
    assert {len(folds) for folds in fold_of.values()} == {1}
    assert set().union(*fold_of.values()) == {0, 1, 2, 3}


def selected(dataset, **options):
    """Keys of a selection, from the index alone."""
    chosen = {"where": None, "fold": None, "take": None, "training": False} | options
    table = select(load_table(read_manifest(dataset), "train"), **chosen)
    return set(table.keys(np.arange(table.num_examples)))


@pytest.mark.parametrize("where", ["label_name = 'bee'", "key like '%7.png'", pc.field("label") == 2])
def test_a_condition_chooses_from_a_fold_and_does_not_change_it(where, noise):
    meeting = selected(noise, where=where)
    for index in range(3):
        for training in (False, True):
            fold = selected(noise, fold=(index, 3), training=training)
            assert selected(noise, fold=(index, 3), training=training, where=where) == fold & meeting
            assert selected(noise, fold=(index, 3), training=training, where=where, take=5) < fold & meeting


def test_duplicates_stay_in_one_fold_also_where_groups_chain_them(tmp_path):
    # The last of each group p has the bytes of the first of the group q of its number; those of r are in no group.
    files, unit_of = {}, {}
    for i in range(30):
        contents = {f"p{i}_0": i, f"p{i}_1": 100 + i, f"q{i}_0": 100 + i, f"q{i}_1": 200 + i}
        contents |= {f"r{i}x0": 300 + i, f"r{i}x1": 300 + i, f"r{i}x2": 400 + i}
        for name, number in contents.items():
            key = f"{'ab'[i % 2]}/{name}.png"
            files[key] = picture(number)
            unit_of[key] = name if name.endswith("x2") else f"{name[0] == 'r'}{i}"
    convert_without_beam(
        str(write_tree(tmp_path / "source", files)), str(tmp_path / "out"), group_by="/([pq][0-9]+)_", shards=3
    )
    folds = [selected(str(tmp_path / "out"), fold=(index, 4)) for index in range(4)]
    units = [{unit_of[key] for key in fold} for fold in folds]
    assert sum(map(len, folds)) == len(files) == 210
    assert sum(map(len, units)) == len(set(unit_of.values())) == 90
    assert all(40 < len(fold) < 65 for fold in folds)


def test_a_fold_that_is_empty_is_refused(tmp_path, noise):
    files = {f"a/p{i % 2}_{i}.png": picture(i) for i in range(6)}
    source, layout = str(write_tree(tmp_path / "source", files)), SourceOptions(layout="class-folders")
    convert_without_beam(source, str(tmp_path / "out"), source_options=layout, group_by="/(p[0-9])_")
    with pytest.raises(CallError, match=r"fold=\(2, 3\) has no example to evaluate.*use fewer folds"):
        selected(str(tmp_path / "out"), fold=(2, 3))
    one = f"key = '{min(selected(noise))}'"
    others = [index for index in range(3) if not selected(noise, fold=(index, 3)) & selected(noise, where=one)]
    with pytest.raises(CallError, match=r"is met by 1 examples .*none of them in fold"):
        selected(noise, where=one, fold=(others[0], 3))


def test_taking_few_takes_some_of_those_that_taking_more_takes(noise):
    few, more = keys_read(noise, take=20), keys_read(noise, take=100)
    assert (len(few), len(more)) == (20, 100)
    assert set(few) < set(more)


def test_a_selection_of_a_selection(noise, rows):
    ants = {row["key"] for row in rows if row["label_name"] == "ant"}
    found = keys_read(noise, where="label_name = 'ant'", fold=(1, 3), take=11)
    assert len(found) == 11
    assert set(found) < ants


def test_records_and_labels_are_those_of_the_selection(noise):
    made = reader.make_dataset_fn(noise, "train", global_batch_size=8, where="label_name = 'cat'")
    for batch in fetched_batches(made, 8):
        assert set(batch["label"].tolist()) == {2}
        assert {key.decode().partition("/")[0] for key in batch["key"]} == {"cat"}


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        ({"where": "label_nam = 'ant'"}, ["where=", "'label_nam'", "label_name"]),
        ({"where": "label_name < 5"}, ["where=", "number (5)"]),
        ({"where": "label"}, ["where='label'", "int32"]),
        ({"where": pc.field("colour") == "red"}, ["where=", "colour", "label_name"]),
        ({"where": pc.field("offset") < 3}, ["where=", "offset", "label_name"]),  # a column, but none of the example's
        ({"where": pc.field("label")}, ["where='label'", "int32"]),
        ({"where": 8}, ["where", "string", "pyarrow", "int"]),
        ({"where": RANDOM < 0.5}, ["where=", "random()", "take="]),
        ({"where": "height > 100000"}, ["where='height > 100000'", "none"]),
        ({"fold": (5, 5)}, ["fold", "(5, 5)"]),
        ({"fold": (0, 1)}, ["fold", "(0, 1)"]),
        ({"take": 0}, ["take", "from 1 to 307", "0"]),
        ({"take": 308}, ["take", "from 1 to 307", "308"]),
    ],
)
def test_what_cannot_be_selected_is_refused(options, facts, noise):
    with pytest.raises(CallError) as raised:
        selected(noise, **options)
    for fact in facts:
        assert fact in str(raised.value)


def labelled(root, table, **options):
    write_tree(root / "source", {f"{i}.png": picture(i) for i in range(4)} | {"t.csv": table.encode()})
    source_options = SourceOptions(label_columns=("label",), **options)
    convert_without_beam(str(root / "source" / "t.csv"), str(root / "out"), source_options=source_options)
    return str(root / "out")


def test_a_column_that_is_empty_is_named_with_the_one_to_use(tmp_path, noise):
    several = labelled(
        tmp_path / "a", "image,label\n0.png,star\n1.png,moon|star\n2.png,sun\n3.png,\n", label_separator="|"
    )
    numbers = labelled(
        tmp_path / "b", "image,label\n" + "".join(f"{i}.png,{i}.5\n" for i in range(4)), label_type="number"
    )
    cases = [
        (several, "label_name = 'star'", ["label_name is empty", "several labels", "3 in labels"]),
        (several, pc.field("label") == 1, ["label is empty", "several labels", "3 in labels"]),
        (numbers, "label > 0.5", ["label is empty", "numbers"]),
        (noise, "1 in labels", ["labels is empty", "one label each", "label_name"]),
        (noise, "group = 'a'", ["group is empty", "without groups"]),
    ]
    for dataset, condition, facts in cases:
        with pytest.raises(CallError) as raised:
            selected(dataset, where=condition)
        for fact in facts:
            assert fact in str(raised.value)
    with pytest.raises(CallError) as raised:
        selected(noise, where="label_name = 'cow'")
    assert "empty" not in str(raised.value)
    assert selected(several, where="1 in labels") == {"0.png", "1.png"}  # moon, star, sun are 0, 1, 2


def test_a_damaged_record_of_a_selection_is_named(copied, rows):
    cats = [row for row in rows if row["label_name"] == "cat"]
    path = next(iter(sorted(copied.glob("*.tfrecord"))))
    manifest = read_manifest(str(copied))
    first = next(shard for _, shard in manifest.shards() if shard.path == path.name)
    in_first = {row["key"]: row for row in read_columns(manifest.root, first).to_pylist()}
    victim = next(row for row in cats if row["key"] in in_first)
    raw = bytearray(path.read_bytes())
    raw[victim["offset"] + 40] ^= 1
    path.write_bytes(raw)
    made = reader.make_dataset_fn(str(copied), "train", global_batch_size=1, training=False, where="label_name = 'cat'")
    with pytest.raises(RecordError, match=victim["key"]):
        list(fetched_batches(made))
