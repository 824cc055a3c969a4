"""Whole inputs as NumPy sees them: what is fetched in each order, by any number of workers, from any step on."""

from collections import Counter

import numpy as np
import pytest

from shardkit import read_manifest
from shardkit.dataset import tfrecord
from shardkit.fetch.fetcher import RECORD, Fetcher
from shardkit.fetch.orders import make_order
from shardkit.fetch.places import BATCH_SEED, Places, Wanted, seeds
from shardkit.fetch.recovery import RecordRecovery
from shardkit.fetch.sources import Sources
from shardkit.fetch.table.records import load_table
from shardkit.fetch.table.selection import select
from shardkit.fetch.windows import Crops
from shardkit.order import BatchLayout, steps_per_epoch
from shardkit.order.training import BlockOrder

from .conftest import COUNTS

NUM_EXAMPLES, BATCH = sum(COUNTS.values()), 16
BLOCKS = BlockOrder(block_records=4, window_blocks=2, lanes=8)
INPUTS = {
    "full": {},
    "seed": {"seed": (1 << 63) - 1},
    "block": {"blocks": BLOCKS},
    "class_balanced": {"sampling": "class_balanced"},
    "weights": {"sampling": {"ant": 1, "cat": 3}},
    "condition": {"where": "label_name <> 'bee'", "blocks": BLOCKS},
    "fold": {"fold": (0, 3), "sampling": "class_balanced"},
    "take": {"take": 50},
    "evaluation": {"training": False},
}


class Input:
    """What some workers fetch, put together: the columns of global batches."""

    def __init__(self, dataset, workers=1, replicas=1, *, batch=BATCH, **options):
        manifest, training = read_manifest(dataset), options.get("training", True)
        selection = {name: options.get(name) for name in ("where", "fold", "take")}
        self.seed = options.get("seed", 0)
        self.table = select(load_table(manifest, "train"), training=training, **selection)
        self.order = make_order(
            self.table,
            manifest.classes,
            training=training,
            seed=self.seed,
            global_batch_size=batch,
            shares=None,
            blocks=options.get("blocks"),
            sampling=options.get("sampling", "natural"),
        )
        self.end = steps_per_epoch(self.table.num_examples, batch) if self.order is None else 1 << 40
        self._layouts = [BatchLayout(batch, workers, worker, replicas) for worker in range(workers)]
        self._places = [Places(self.table, self.order, one, self._wanted, self.end) for one in self._layouts]

    @property
    def _wanted(self):
        crops = Crops((6, 6), (0.1, 1.0), flip=True)
        return Wanted(self.seed, crops, has_seed=True, has_batch_seed=True)

    def plans(self, first, count):
        """The planned columns of `count` steps, [count, batch, …] each; no record is read."""
        return self._joined([places.columns for places in self._places], first, count)

    def batches(self, first, count):
        """The fetched columns, in the same way."""
        fetchers = [
            Fetcher(self.table, places, self._wanted, sources, RecordRecovery(self.table, None, self.seed, sources))
            for places in self._places
            for sources in [Sources(self.table)]
        ]
        return self._joined([fetcher.fetch for fetcher in fetchers], first, count)

    def _joined(self, calls, first, count):
        parts, size = [], self._layouts[0].per_worker_batch_size
        for call in calls:
            columns = call(first * size, count * size)
            parts.append({name: column.reshape(count, size, *column.shape[1:]) for name, column in columns.items()})
        return {name: np.concatenate([part[name] for part in parts], axis=1) for name in parts[0]}


LAYOUTS = [(1, 16), (2, 2), (8, 1)]  # workers, and replicas of each


@pytest.mark.parametrize("name", INPUTS)
def test_any_number_of_workers_and_replicas_has_the_same_batches_from_any_step_on(noise, name):
    options = INPUTS[name]
    training = options.get("training", True)
    alone = Input(noise, **options)
    from_the_beginning = alone.plans(0, 20)
    for first, count in ((0, 20), (19, 25), (1 << 39, 25)) if training else ((0, 20), (7, 13)):
        wanted = Input(noise, **options).plans(first, count)
        for workers, replicas in LAYOUTS:
            shared = Input(noise, workers, replicas, **options).plans(first, count)
            assert shared.keys() == wanted.keys() >= {"id", "label", "window", "flip", "seed", BATCH_SEED}
            for column in shared:
                if column != "lane_window":  # of the worker's own
                    np.testing.assert_array_equal(shared[column], wanted[column], column)
        for column in wanted if first < 20 else ():
            np.testing.assert_array_equal(wanted[column][: 20 - first], from_the_beginning[column][first:], column)


@pytest.mark.parametrize("name", ["full", "condition", "evaluation"])
def test_any_number_of_workers_reads_the_records_of_its_places(noise, name):
    records = read_records(noise)
    for workers, replicas in LAYOUTS[1:]:
        made = Input(noise, workers, replicas, **INPUTS[name])
        found, ids = made.batches(7, 13), made.plans(7, 13)["id"]
        assert found[RECORD].ravel().tolist() == [records[one] for one in made.table.records[ids].ravel().tolist()]


def read_records(dataset):
    """All records, in file order."""
    table, found = load_table(read_manifest(dataset), "train"), []
    for path in table.paths:
        with open(path, "rb") as file:
            found += [data for _, data in tfrecord.read_records(file, name=path)]
    return found


@pytest.mark.parametrize("name", ["full", "block", "condition", "take"])
def test_every_epoch_has_each_example_once_in_another_order(noise, name):
    made = Input(noise, **INPUTS[name])
    num_examples, counts = made.table.num_examples, Counter()
    batches = made.plans(0, -(-3 * num_examples // BATCH))["id"]
    for step, batch in enumerate(batches):
        counts.update(batch.tolist())
        # The batch of an epoch's border holds the end of one and the beginning of the next.
        epochs_done, within = divmod(BATCH * (step + 1), num_examples)
        assert max(counts.values()) <= epochs_done + (within > 0)
        assert sum(count >= epochs_done for count in counts.values()) == num_examples or not epochs_done
    assert len(counts) == num_examples
    ids, other = batches.ravel(), Input(noise, **INPUTS[name] | {"seed": 1}).plans(0, 20)["id"].ravel()
    half = num_examples // 2
    assert (ids[:half] == ids[num_examples:][:half]).sum() < 15
    assert (ids[:half] == other[:half]).sum() < 15


@pytest.mark.parametrize(
    ("name", "shares"), [("class_balanced", (1 / 3, 1 / 3, 1 / 3)), ("weights", (1 / 4, 0, 3 / 4))]
)
def test_a_class_has_its_share_and_its_examples_come_in_turn(noise, name, shares):
    columns = Input(noise, **INPUTS[name]).plans(0, 63)
    ids, labels = (columns[column].ravel()[:1000] for column in ("id", "label"))
    for label, (share, count) in enumerate(zip(shares, COUNTS.values(), strict=True)):
        assert abs((labels == label).sum() - 1000 * share) <= 1
        own = ids[labels == label].tolist()
        laps = [own[lap : lap + count] for lap in range(0, len(own), count)]
        assert all(len(set(lap)) == len(lap) for lap in laps)


def test_sampling_is_of_what_was_selected(noise):
    made = Input(noise, where="label_name <> 'bee'", sampling="class_balanced")
    assert Counter(made.plans(0, 20)["label"].ravel().tolist()) == {0: 160, 2: 160}


def test_a_class_of_fewer_examples_than_its_share_of_a_batch_is_balanced_all_the_same(noise):
    counts = Counter(Input(noise, batch=240, sampling="class_balanced").plans(0, 1)["label"].ravel().tolist())
    assert counts[2] > COUNTS["cat"]
    assert max(counts.values()) - min(counts.values()) <= 2


@pytest.mark.parametrize("batch", [BATCH, 1024])
@pytest.mark.parametrize(("workers", "replicas"), [(1, 1), (2, 2), (8, 1)])
def test_an_evaluation_has_every_example_once_then_padding_of_weight_0(noise, batch, workers, replicas):
    made = Input(noise, workers, replicas, batch=batch, training=False)
    columns = made.plans(0, made.end)
    weights, ids = columns["weight"].ravel(), columns["id"].ravel()
    assert weights.tolist() == [1.0] * NUM_EXAMPLES + [0.0] * (len(weights) - NUM_EXAMPLES)
    assert ids[:NUM_EXAMPLES].tolist() == [*range(NUM_EXAMPLES)]


def test_half_of_the_examples_are_mirrored_another_half_each_epoch(noise):
    columns = Input(noise).plans(0, -(-4 * NUM_EXAMPLES // BATCH))
    ids, flips = columns["id"].ravel(), columns["flip"].ravel()
    epochs = [slice(epoch * NUM_EXAMPLES, (epoch + 1) * NUM_EXAMPLES) for epoch in range(4)]
    by_epoch = np.array([flips[epoch][np.argsort(ids[epoch])] for epoch in epochs])
    assert abs(by_epoch.mean() - 0.5) < 6 * 0.5 / np.sqrt(by_epoch.size)
    again = by_epoch[0] == by_epoch[1]
    assert abs(again.mean() - 0.5) < 6 * 0.5 / np.sqrt(again.size)


@pytest.mark.parametrize("name", ["full", "block", "class_balanced"])
def test_seeds_are_of_seed_epoch_and_key_alone_so_what_comes_back_is_augmented_anew(noise, name):
    made = Input(noise, seed=9, **INPUTS[name])
    columns, seen = made.plans(0, 60), Counter()
    for example, found in zip(columns["id"].ravel().tolist(), columns["seed"].reshape(-1, 2), strict=True):
        wanted = seeds(made.table.key_hash[[example]], np.array([seen[example]]), 9)
        np.testing.assert_array_equal(found, wanted[0])
        seen[example] += 1
    assert max(seen.values()) > 2
