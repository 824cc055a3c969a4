"""Keras `fit`, `evaluate` and `BackupAndRestore` under MirroredStrategy of two devices, as a trainer calls them."""

import collections
import itertools
import json
import signal

import pytest
import tensorflow as tf

from shardkit import reader

from .processes import PIPE, Process
from .training_fixtures import TIMEOUT_SECONDS, command, environment, facts_of_all, run_all, shapes  # noqa: F401

GLOBAL_BATCH_SIZE = (
    36  # no divisor of 192 and 48: 6 steps, of which 5 1/3 are an epoch of the data, and 24 padded places
)
EPOCHS = 4
STEPS = 6


@pytest.fixture(scope="module")
def facts(shapes, found_once):  # noqa: F811 - a fixture
    """What `fit` with validation data and one more `evaluate` did."""

    def run_program(folder):
        return facts_of_all("keras_fit.py", [(shapes, folder / "result", GLOBAL_BATCH_SIZE, EPOCHS)])[0]

    return found_once("keras-fit", run_program)


@pytest.fixture(scope="module")
def train_fn(shapes):  # noqa: F811 - a fixture
    return reader.make_dataset_fn(str(shapes), "train", global_batch_size=GLOBAL_BATCH_SIZE)


@pytest.fixture(scope="module")
def validation_fn(shapes):  # noqa: F811 - a fixture
    return reader.make_dataset_fn(str(shapes), "validation", global_batch_size=GLOBAL_BATCH_SIZE, training=False)


def batches_seen(lines, *, training):
    """Global batches of keys: each step's parts of replicas 0 and 1, one behind the other."""
    of_replica = [[keys for is_training, at, keys in lines if at == i and is_training == training] for i in (0, 1)]
    return [first + second for first, second in zip(*of_replica, strict=True)]


def test_every_epoch_has_steps_per_epoch_steps_and_every_validation_its_own(facts, train_fn, validation_fn):
    assert train_fn.steps_per_epoch == STEPS
    assert facts["train_steps"] == [STEPS] * EPOCHS
    # One more for `evaluate`. The program turns Keras' warning that the data ran out into an error.
    assert facts["test_steps"] == [validation_fn.steps_per_epoch] * (EPOCHS + 1)


def test_fit_trains_on_the_global_batches_in_order_without_a_gap_between_epochs(facts, train_fn):
    steps = range(EPOCHS * STEPS)
    assert batches_seen(facts["lines"], training=True) == [train_fn.batch_keys(step) for step in steps]


def test_every_training_example_is_seen_as_often_as_any_other_but_once(facts, train_fn):
    counts = collections.Counter(itertools.chain(*batches_seen(facts["lines"], training=True)))
    assert len(counts) == train_fn.num_examples
    assert set(counts.values()) == {4, 5}  # 24 steps of 36 are four and a half times 192


def test_every_validation_sees_every_example_once_and_then_the_padding(facts, validation_fn):
    seen = batches_seen(facts["lines"], training=False)
    whole = [validation_fn.batch_keys(0), validation_fn.batch_keys(1)]
    whole[1] += whole[1][-1:] * 24
    assert seen == whole * (EPOCHS + 1)


@pytest.mark.parametrize("where", ["metrics", "last_validation"])
@pytest.mark.parametrize("name", ["accuracy", "crossentropy"])
def test_weighted_metrics_are_those_of_plain_arithmetic_over_each_example_once(facts, where, name):
    assert facts["num_evaluated"] == 48
    assert facts[where][name] == pytest.approx(facts["independent"][name], rel=1e-5)


def fit_and_kill(shapes, folder, save_freq, order, kills):  # noqa: F811 - the fixture's value
    """Start `fit` again and again, killed at these steps, and once more to its end; what each start wrote."""
    starts = []
    for kill_at in (*kills, 0):
        log = folder / f"log-{len(starts)}"
        arguments = (shapes, log, folder / "backup", GLOBAL_BATCH_SIZE, EPOCHS, save_freq, kill_at, order)
        process = Process(command("keras_resume.py", *arguments), environment(), stderr=PIPE)
        _, error = process.communicate(timeout=TIMEOUT_SECONDS)
        assert process.returncode == (-signal.SIGKILL if kill_at else 0), error[-3000:]
        starts.append([json.loads(line) for line in log.read_text().splitlines()])
    return starts


RUNS = {
    "undisturbed": ("epoch", "behind", []),
    # Twice within the second epoch, neither time at a save: those are at 3, 6, 9 and so on.
    "within an epoch": (3, "behind", [8, 11]),
    "saved by epoch": ("epoch", "before", [8]),
}
SAVED_BY_EPOCH = pytest.param("saved by epoch", marks=pytest.mark.slow)


@pytest.fixture(scope="module")
def resumed(shapes, found_once):  # noqa: F811 - a fixture
    """Return the starts of a run of `fit`, by what disturbed it."""

    def starts_of(name):
        return found_once(f"keras-resume-{name}", lambda folder: fit_and_kill(shapes, folder, *RUNS[name]))

    return starts_of


@pytest.fixture(params=["undisturbed", "within an epoch", SAVED_BY_EPOCH])
def starts(request, resumed):
    return resumed(request.param)


def steps_of(start):
    """(step, keys' ids of the global batch) of every step that a start finished, the step counted from 0."""
    steps, parts = [], {}
    for line in start:
        if isinstance(line, list):
            parts[line[1]] = line[2]
        elif "step" in line:
            steps.append((line["step"] - 1, parts[0] + parts[1]))
    return steps


def ids_of(keys):
    return tf.strings.to_hash_bucket_fast(keys, 1 << 23).numpy().tolist()


def test_after_a_kill_fit_goes_on_at_the_very_example_that_the_restored_model_is_at(starts, train_fn):
    for start in starts:
        steps = steps_of(start)
        assert [step for step, _ in steps] == list(range(steps[0][0], steps[-1][0] + 1))
        for step, ids in steps:
            assert ids == ids_of(train_fn.batch_keys(step)), step


@pytest.mark.parametrize(
    ("name", "spans"),
    [
        ("undisturbed", [(0, 23)]),
        ("within an epoch", [(0, 7), (6, 10), (9, 23)]),
        pytest.param("saved by epoch", [(0, 7), (6, 23)], marks=pytest.mark.slow),
    ],
)
def test_fit_goes_on_from_its_last_save_and_ends_with_the_step_at_which_an_undisturbed_one_ends(resumed, name, spans):
    assert [(steps_of(start)[0][0], steps_of(start)[-1][0]) for start in resumed(name)] == spans


def test_epochs_are_counted_on_after_two_kills_within_one(resumed):
    # Keras itself would begin the third start with epoch 0 again.
    epochs = [[line["epoch"] for line in start if "epoch" in line] for start in resumed("within an epoch")]
    assert epochs == [[0, 1], [1], [1, 2, 3]]


@pytest.mark.parametrize("name", ["within an epoch", SAVED_BY_EPOCH])
def test_the_model_ends_up_the_same_however_often_it_was_killed(resumed, name):
    weights = resumed(name)[-1][-1]["weights"]
    assert weights == pytest.approx(resumed("undisturbed")[-1][-1]["weights"], rel=1e-4)


def test_a_second_fit_of_the_same_model_has_all_its_epochs_and_goes_on_in_the_data(shapes, tmp_path):  # noqa: F811
    import keras

    train_fn = reader.make_dataset_fn(str(shapes), "train", global_batch_size=48, image_size=(8, 8))
    model = keras.Sequential([keras.Input([8, 8, 3]), keras.layers.Flatten(), keras.layers.Dense(4)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    backup = keras.callbacks.BackupAndRestore(tmp_path / "backup", delete_checkpoint=False)
    options = {"steps_per_epoch": 4, "shuffle": False, "verbose": 0}
    for epochs, steps_taken, start_step in ((1, 4, 0), (3, 12, 4)):
        model.fit(train_fn(), epochs=epochs, callbacks=[backup, reader.ResumeCallback(train_fn)], **options)
        assert (int(model.optimizer.iterations), int(train_fn.start_step)) == (steps_taken, start_step)
    model.fit(train_fn(), epochs=2, callbacks=[reader.ResumeCallback(train_fn)], **options)
    assert (int(model.optimizer.iterations), int(train_fn.start_step)) == (20, 12)
