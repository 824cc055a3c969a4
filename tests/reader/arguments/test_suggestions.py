"""The error for an unknown argument suggests the closest valid one."""

import ast
import inspect
import re

import pytest
import tensorflow as tf

from shardkit import reader
from shardkit.errors import CallError, ManifestError, UnknownArgumentError
from shardkit.reader import BlockOrder, Cache, Images, Service, Skip, make_dataset, make_dataset_fn
from shardkit.reader.api import MAKE_DATASET_FN_WORDS, MAKE_DATASET_WORDS
from shardkit.reader.arguments.images import IMAGES_WORDS


@pytest.mark.parametrize("make", [make_dataset_fn, make_dataset, Images, BlockOrder, Skip, Cache, Service])
def test_an_unknown_argument_is_an_error_of_the_call_and_of_the_type(make):
    with pytest.raises(UnknownArgumentError, match="zzz") as caught:
        make(zzz=1)
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, CallError)


def test_no_answer_is_for_an_argument_that_exists():
    tables = ((MAKE_DATASET_FN_WORDS, make_dataset_fn), (MAKE_DATASET_WORDS, make_dataset), (IMAGES_WORDS, Images))
    for words, make in tables:
        assert not set(words) & set(inspect.signature(make).parameters)


def assignments(text, names):
    """The arguments that a sentence gives a value: "flip=False turns them off" is ("flip", False)."""
    number = 0
    while found := re.compile(r"\b(\w+)=(?=[^\s,=])").search(text, number):
        ends = (end for end in range(found.end() + 1, len(text) + 1) if text[end : end + 1] in {"", *" ,;:)"})
        value = next((text[found.end() : end] for end in ends if is_expression(text[found.end() : end])), None)
        number = found.end() + len(value or "")
        if value and found[1] in names:
            yield found[1], eval(value, {"reader": reader, "height": 8, "width": 8})  # noqa: S307 - of our own words


def is_expression(text):
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return True


@pytest.mark.parametrize(
    ("make", "words"), [(make_dataset_fn, MAKE_DATASET_FN_WORDS), (make_dataset, MAKE_DATASET_WORDS)]
)
def test_every_argument_in_an_answer_can_be_written_so(make, words):
    given = []
    for text in dict.fromkeys(words.values()):
        for name, value in assignments(text, inspect.signature(make).parameters):
            more = {"num_workers": {"worker_index": 0}, "one_hot": {"image_size": (8, 8)}}.get(name, {})
            with pytest.raises(ManifestError):  # of "nowhere": arguments are right
                make("nowhere", "train", **{"global_batch_size": 8, name: value} | more)
            given.append(name)
    assert {"images", "training", "take", "fold", "map_fn", "last_batch", "start_step"} <= set(given)


def test_every_argument_in_an_answer_of_images_can_be_written_so():
    given = []
    for text in dict.fromkeys(IMAGES_WORDS.values()):
        for name, value in assignments(text, inspect.signature(Images).parameters):
            both = {"mean": value, "std": value or 1.0} if name in {"mean", "std"} else {name: value}
            assert Images((8, 8), **both)
            given.append(name)
    assert {"mean", "std", "augment", "crop_scale", "flip", "eval_fit", "resize_method", "grayscale"} == set(given) - {
        "eval_crop_fraction"
    }


# What a newcomer writes, and the code in the answer, which is run.
ANSWERS = [
    ("make(num_workers=2)", "reader.make_dataset(dataset, split, global_batch_size=64, num_workers=2, worker_index=0)"),
    ("make(rank=0)", "reader.make_dataset(dataset, split, global_batch_size=64, num_workers=2, worker_index=0)"),
    ("make(eval=True)", "training=False"),
    ("make(normalize=True)", "images=reader.Images((height, width), mean=127.5, std=127.5)"),
    ("make(where=\"label = 'ant'\")", "where=\"label_name = 'ant'\""),
    ("make(batch_map_fn=reader.mixup)", "batch_map_fn=reader.mixup(train_fn.num_classes)"),
    (
        "make(map_fn=lambda image, label: (image, label))",
        "map_fn=lambda features, seed: (features['image'], features['label'])",
    ),
    ("reader.make_dataset_fn(dataset, 'train[:10%]', global_batch_size=16)", "take=31"),
    ("reader.make_dataset_fn(dataset, 'train[:10%]', global_batch_size=16)", "fold=(0, 10)"),
    ("reader.make_dataset_fn(dataset, 'train[80%:]', global_batch_size=16)", "fold=(0, 5)"),
    ("reader.make_dataset_fn(dataset, 'train[20:50]', global_batch_size=16)", "take=30"),
    ("next(train_fn)", "next(iter(train_fn()))"),
    ("next(train_fn)", "train_fn.read_batch(0)"),
    ("len(train_fn)", "train_fn.num_examples"),
    ("len(train_fn)", "train_fn.steps_per_epoch"),
    ("train_fn[0]", "train_fn.read_batch(0)"),
    ("strategy.experimental_distribute_dataset(train_fn)", "strategy.distribute_datasets_from_function(train_fn)"),
    ("train_fn.num_batches", "steps_per_epoch"),
    ("reader.BlockOrder(64)", "reader.BlockOrder(block_records=64)"),
    ("reader.mixup()", "reader.mixup(train_fn.num_classes)"),
    ("reader.cutmix()", "reader.cutmix(train_fn.num_classes)"),
    ("reader.ResumeCallback()", "reader.ResumeCallback(train_fn)"),
    ("reader.InputMonitor(train_fn)", "reader.InputMonitor()"),
    ("reader.monitor()", "reader.monitor(train_fn())"),
    ("reader.Cache()", "reader.Cache('cache', max_bytes=500 << 30)"),
    ("reader.Service()", "reader.Service('grpc://host:5000')"),
    ("reader.preview(train_fn, 'a.png')", "reader.preview(train_fn, path='a.png')"),
    ("reader.preview()", "reader.preview(train_fn, step=0, path='batch.png')"),
]


@pytest.fixture(scope="module")
def names(noise):
    """What a newcomer's program has."""

    def make(**options):
        return make_dataset_fn(noise, "train", **{"global_batch_size": 16, "image_size": (8, 8)} | options)

    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    known = {"reader": reader, "make": make, "train_fn": make(), "strategy": strategy, "dataset": noise}
    return known | {"split": "train", "height": 8, "width": 8}


@pytest.mark.parametrize(("wrong", "code"), ANSWERS)
def test_the_code_in_an_answer_runs(wrong, code, names, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((CallError, TypeError, AttributeError)) as caught:
        eval(wrong, names)  # noqa: S307 - a row of the table
    assert code in str(caught.value)
    if re.match(r"\w+=", code):
        code = f"make({code}{', image_size=None' if code.startswith('images=') else ''})"
    eval(f"train_fn.{code}" if code.isidentifier() else code, names)  # noqa: S307 - as above


def test_a_function_is_true(names):
    assert names["train_fn"]


def test_make_dataset_takes_the_arguments_of_make_dataset_fn_and_the_number_of_the_worker():
    one, other = (inspect.signature(make).parameters for make in (make_dataset_fn, make_dataset))
    assert {name: other[name] for name in one} == dict(one)
    assert set(other) - set(one) == {"num_workers", "worker_index"}
    assert not [one for one in other.values() if one.kind is inspect.Parameter.VAR_KEYWORD]
