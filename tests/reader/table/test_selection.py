import numpy as np
import pyarrow.compute as pc
import pytest
import tensorflow as tf

from shardkit import read_manifest, reader
from shardkit.dataset.index import read_index
from shardkit.errors import CallError
from shardkit.reader.table.records import load_table
from shardkit.reader.table.selection import select
from shardkit.sources.options import SourceOptions
from shardkit.testing import convert_without_beam, picture, write_tree

RANDOM = pc.Expression._call("random", [], pc.RandomOptions())  # no public function makes one


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
    convert_without_beam(str(write_tree(tmp_path / "source", files)), str(tmp_path / "out"), group_by="/(p[0-9])_")
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


def test_images_and_labels_are_those_of_the_selection(noise, rows):
    made = reader.make_dataset_fn(
        noise,
        "train",
        global_batch_size=8,
        images=reader.Images((8, 8), crop_scale=(1, 1), flip=False),
        where="label_name = 'cat'",
    )
    _, labels = next(iter(made()))
    assert set(labels.numpy().tolist()) == {2}
    made_by = {row["key"]: row["label"] for row in rows}
    assert {made_by[key] for key in made.batch_keys(0)} == {2}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"where": "label_nam = 'ant'"}, "cannot be read: there is no column 'label_nam'; it may name key, label,"),
        ({"where": 'label_name = "ant"'}, "there is no column 'ant'; it may name key, label, label_name, labels, hei"),
        ({"where": "label_name ="}, "cannot be read: syntax error"),
        ({"where": "label_name < 5"}, "cannot be read: Binder Error: Cannot compare values of type VARCHAR"),
        ({"where": ""}, "where='' cannot be read: it is empty; leave where out to read everything"),
        ({"where": " \n"}, "it is empty; leave where out"),
        ({"where": pc.field("colour") == "red"}, "it may name key, label, label_name"),
        ({"where": pc.field("row") < 3}, "it may name key, label, label_name"),
        ({"where": pc.field("label")}, "where='label' is of type int32, neither true nor false"),
        ({"where": "8"}, "where='8' is of type INTEGER, neither true nor false; compare it with something"),
        ({"where": "label"}, "where='label' is of type INTEGER, neither true nor false"),
        ({"where": "'true'"}, "is of type VARCHAR, neither true nor false"),
        ({"where": 8}, "where must be a SQL condition as a string, or a pyarrow.compute expression; found int"),
        ({"where": RANDOM < 0.5}, "calls random(), which gives every worker another selection; use take= for a few"),
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


# Each shard is asked by itself, in every worker: the answer must depend on the row alone.
NOT_OF_ONE_ROW = {
    "key in (select key from examples order by key limit 2)": "a subquery",
    "image_bytes >= (select max(image_bytes) from examples)": "a subquery",
    "exists (from examples)": "a subquery",
    "label_name = any(['ant'])": "a subquery",  # DuckDB makes one of it
    "key in (select content from read_text('/etc/passwd'))": "a subquery",
    "row_number() over () < 3": "a window function",
    "random() < 0.5": "it calls random()",
    "RANDOM() < 0.5": "it calls random()",
    "height > 0 and not (case when uuid() > 'a' then true end)": "it calls uuid()",
    "now() > '2030-01-01'": "it calls now()",
    "current_date > '2030-01-01'": "there is no column 'current_date'",  # what has no parentheses is a column so far
    "getvariable('x') is null": "it calls getvariable()",
    "count(*) > 3": "it calls count_star()",
    "image_bytes = max(image_bytes)": "it calls max()",
    "unnest([true, true])": "it calls unnest()",
    "pg_sleep(3) is null": "it calls pg_sleep()",  # a macro: whatever it stands for
    "row < 3": "there is no column 'row'",  # the number within the shard, by which we find rows again
    "rowid < 3": "there is no column 'rowid'",
    "examples.row < 3": "there is no column 'examples.row'",
    "(row -> '$')::int < 3": "a lambda, a list comprehension or ->",
    "len([x for x in [1] if random() < 0.5]) = 1": "a lambda, a list comprehension or ->",
    "columns('height') > 3": "* or COLUMNS",
    "* is not null": "* or COLUMNS",
    "label = $1": "a parameter",
    "label = #1": "a column by its position",
    "grouping(label) = 0": "GROUPING_FUNCTION",
    "true) union all (select row from examples": "goes on with another part of the query",
    "true) limit (2": "goes on with another part of the query",
    "true) order by (height": "goes on with another part of the query",
    "true) group by (row": "goes on with another part of the query",
    "true) qualify (row_number() over () = 1": "goes on with another part of the query",
    "true); select (1": "several statements",
    "true; select 1": "syntax error at or near",
}


@pytest.mark.parametrize(("condition", "said"), NOT_OF_ONE_ROW.items(), ids=NOT_OF_ONE_ROW.keys())
def test_sql_that_is_no_expression_over_one_row_the_same_everywhere_is_refused(condition, said, noise):
    with pytest.raises(CallError) as raised:
        reader.make_dataset_fn(noise, "train", global_batch_size=4, where=condition)
    assert str(raised.value).startswith(f"where={condition!r} cannot be read: ")
    assert said in str(raised.value)


OF_ONE_ROW = {
    "label between 1 and 2": lambda row: row["label"] in (1, 2),
    "case when label = 0 then image_bytes % 3 = 0 else label_name = 'cat' end -- and a comment": lambda row: (
        row["image_bytes"] % 3 == 0 if row["label"] == 0 else row["label_name"] == "cat"
    ),
    "Examples.LABEL_NAME ilike 'A%' and coalesce(\"group\", 'none') = 'none'": lambda row: row["label_name"] == "ant",
    "cast(regexp_extract(key, '([0-9]+)[.]png', 1) as int) < 50": lambda row: int(row["key"][4:-4]) < 50,
    "nullif(label, 1) is null or try(1 / 0) = 1": lambda row: row["label"] == 1,
    "label in [0, 2] and length(upper(key)) > 3": lambda row: row["label"] != 1,
    "list_contains([1], label)) or (label = 2": lambda row: row["label"] != 0,  # still one expression
}


@pytest.mark.parametrize(("condition", "holds"), OF_ONE_ROW.items(), ids=OF_ONE_ROW.keys())
def test_expressions_over_one_row_select_what_they_say(condition, holds, noise, rows):
    made = reader.make_dataset_fn(noise, "train", global_batch_size=1, training=False, where=condition)
    found = [key for step in range(made.num_examples) for key in made.batch_keys(step)]
    assert sorted(found) == sorted(row["key"] for row in rows if holds(row))
    assert 0 < len(found) < len(rows)


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
    empty = "is empty in this dataset"
    cases = [
        (
            several,
            "label_name = 'star'",
            f"the column label_name {empty}, whose examples have several labels: use labels",
        ),
        (several, pc.field("label") == 1, f"the column label {empty}, whose examples have several labels: use labels"),
        (numbers, "label > 0.5", f"the column label {empty}, whose labels are numbers that stand in the records only"),
        (
            noise,
            "list_contains(labels, 1)",
            f"the column labels {empty}, whose examples have one label each: use label_n",
        ),
        (noise, "\"group\" = 'a'", f"the column group {empty}, which was converted without groups"),
    ]
    for dataset, condition, said in cases:
        with pytest.raises(CallError) as raised:
            reader.make_dataset_fn(dataset, "train", global_batch_size=1, where=condition)
        assert "is met by none of the examples of the split; the column" in str(raised.value)
        assert said in str(raised.value)
    with pytest.raises(CallError) as raised:
        reader.make_dataset_fn(noise, "train", global_batch_size=1, where="label_name = 'cow'")
    assert str(raised.value).endswith("is met by none of the examples of the split")
    # What the message says to use: moon, star, sun are 0, 1, 2.
    stars = reader.make_dataset_fn(several, "train", global_batch_size=1, where="list_contains(labels, 1)")
    assert sorted(stars.batch_keys(0) + stars.batch_keys(1)) == ["0.png", "1.png"]
    assert stars.num_examples == 2


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
