"""The table of lines copied from other programs: each does what the page says, and the line beside it is right."""

import re

import numpy as np
import pytest
import tensorflow as tf

from shardkit import reader

from ..pages import CHECKOUT
from .training_fixtures import shapes  # noqa: F401 - a fixture

keras = pytest.importorskip("keras")

PAGE = (CHECKOUT / "shardkit" / "reader" / "troubleshooting.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.partition("## Lines copied")[2].splitlines()
    if line.startswith("| `")
]
OPTIONS = {"global_batch_size": 32, "image_size": (4, 4)}


@pytest.fixture(scope="module")
def names(shapes, tmp_path_factory):  # noqa: F811 - a fixture
    """What the table's lines refer to; OUT is a link in the working folder of the tests."""

    def train_fn(**changed):
        return reader.make_dataset_fn(str(shapes), "train", **OPTIONS | changed)

    def model(loss):
        with single.scope():
            layers = [keras.layers.Flatten(), keras.layers.Dense(4, activation="softmax")]
            made = keras.Sequential([keras.Input((4, 4, 3)), *layers])
            made.compile("sgd", loss, run_eagerly=True)
        return made

    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    # One replica: a fit that fails amid the collective operations of two would break those of all later tests.
    single = tf.distribute.MirroredStrategy(["CPU:0"])
    distribute = single.distribute_datasets_from_function
    return {
        "reader": reader,
        "strategy": strategy,
        "options": OPTIONS,
        "train_fn": train_fn(),
        "data": distribute(train_fn()),
        "one_hot_data": distribute(train_fn(one_hot=True)),
        "model": model("sparse_categorical_crossentropy"),
        "categorical_model": model("categorical_crossentropy"),
        "context": tf.distribute.InputContext(2, 0, 2),
        "num_gpus": 2,
        "task_type": "worker",
        "task_index": 1,
        "stars": train_fn(where="label_name = 'star'"),
        "others": train_fn(where="label_name != 'star'"),
    }


def labels(dataset, num_batches):
    return [batch.tolist() for _, batch in dataset.take(num_batches).as_numpy_iterator()]


def loses_batches(dataset, names):
    return labels(dataset, 6) == labels(names["train_fn"](names["context"]), 12)[1::2]


def has_stars_only(dataset, names):
    return set(np.ravel(labels(dataset, 40))) == {names["train_fn"].class_names.index("star")}


SILENT = {"half of the batches are lost": loses_batches, "the batches have stars only": has_stars_only}


@pytest.mark.parametrize(("copied", "happens", "_"), ROWS, ids=[row[0] for row in ROWS])
def test_a_copied_line_does_what_the_page_says(copied, happens, _, names):
    if happens.startswith("no message"):
        (check,) = [check for words, check in SILENT.items() if words in happens]
        assert check(eval(copied.strip("`"), names), names)  # noqa: S307 - a cell of the table
        return
    with pytest.raises(Exception, match=re.escape(re.match(r'"(.*?)"', happens)[1])):
        eval(copied.strip("`"), names)  # noqa: S307 - as above


@pytest.mark.parametrize("right", sorted({row[2].split("`")[1] for row in ROWS}))
def test_the_line_beside_it_is_right(right, names, shapes, tmp_path, monkeypatch):  # noqa: F811 - a fixture
    (tmp_path / "OUT").symlink_to(shapes)
    monkeypatch.chdir(tmp_path)
    result = eval(right, names)  # noqa: S307 - as above
    if isinstance(result, reader.DatasetFn):
        element = next(iter(result()))
        assert (result.num_examples, len(element)) == (192, 3 if "sample_weight" in right else 2)
    elif not hasattr(result, "history"):
        images, _ = next(iter(result))
        assert sum(len(part) for part in getattr(images, "values", [images])) == (
            16 if right == "train_fn(context)" else 32
        )
