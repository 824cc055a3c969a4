"""A dataset that grows while it is read: running and pinned input functions go on, a replaced dataset stops them."""

import re
import shutil

import numpy as np
import pytest

from shardkit import read_manifest, reader
from shardkit.conversion.writing.conversion import Conversion
from shardkit.errors import CallError, DataError
from shardkit.options.groups import ConvertOptions
from shardkit.parallel.threads import ThreadExecutor
from shardkit.testing import append_without_beam, convert_without_beam, write_class_folders

from ...fetch.conftest import fetched_batches
from ..conftest import texts


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    root = tmp_path_factory.mktemp("sources")
    old = write_class_folders(root / "old", {"ant": 8, "bee": 5})
    return old, write_class_folders(root / "new", {"bee/new": 2, "cat/new": 9}, width=9)


@pytest.fixture
def dataset(sources, tmp_path):
    # With the characters of a glob in its path: whether the old manifest was kept is found out by one.
    output = tmp_path / "OUT [1] *?"
    convert_without_beam(str(sources[0]), str(output), shards=2)
    return output


@pytest.mark.parametrize("pins", [True, False])
def test_reading_goes_on_while_the_dataset_grows_and_ends_when_it_is_replaced(pins, dataset, sources):
    digest = read_manifest(str(dataset)).digest
    name = f"{dataset}@sha256:{digest}" if pins else str(dataset)
    train_fn = reader.make_dataset_fn(name, "train", global_batch_size=4)
    batches = fetched_batches(train_fn, 100)
    for step in range(22):
        if step == 2:
            append_without_beam(str(dataset), str(sources[1]))
        assert texts(next(batches)["key"]) == train_fn.batch_keys(step)
    Conversion(str(sources[0]), str(dataset), ConvertOptions(seed=1), ThreadExecutor(1), overwrite=True).run()
    with pytest.raises(DataError, match=r"while the dataset was read|converted again"):
        next(batches)


def test_a_pin_gives_the_old_batches_and_its_absence_all_examples(dataset, sources, tmp_path):
    digest = read_manifest(str(dataset)).digest
    before = reader.make_dataset_fn(str(dataset), "train", global_batch_size=4)
    append_without_beam(str(dataset), str(sources[1]))
    for path in (dataset, shutil.copytree(dataset, tmp_path / "copy")):
        pinned = reader.make_dataset_fn(f"{path}@sha256:{digest}", "train", global_batch_size=4)
        assert pinned.num_examples == 13
        assert [pinned.batch_keys(step) for step in range(9)] == [before.batch_keys(step) for step in range(9)]
        assert pinned.class_names == ["ant", "bee"]
    grown = reader.make_dataset_fn(str(dataset), "train", global_batch_size=4)
    assert (grown.num_examples, grown.class_names) == (24, ["ant", "bee", "cat"])
    epoch = {key for step in range(6) for key in grown.batch_keys(step)}
    assert len(epoch) == 24
    # A function that was made before the append reads its own examples.
    assert before.num_examples == 13
    images = next(iter(reader.make_dataset(str(dataset), "train", global_batch_size=24, image_size=(8, 8))))[0]
    assert images.shape == (24, 8, 8, 3)


def test_two_versions_of_a_dataset_are_two_datasets_of_a_mixture(dataset, sources):
    """The first 13 examples are in both versions, and only the 11 later ones are in the second alone."""
    pin = f"{dataset}@sha256:{read_manifest(str(dataset)).digest}"
    old = set(reader.make_dataset_fn(pin, "train", global_batch_size=13, training=False).keys())
    append_without_beam(str(dataset), str(sources[1]))
    new = f"{dataset}@sha256:{read_manifest(str(dataset)).digest}"
    for versions in ([(pin, 3), (new, 1)], [(new, 1), (pin, 3)]):
        mixed = reader.make_dataset_fn(versions, "train", global_batch_size=8, on_corrupt="skip")
        table, order = mixed._table, mixed._order
        of_old = versions.index((pin, 3))
        drawn = [table.dataset[table.shard_of(order.ids(np.arange(8 * step, 8 * step + 8)))] for step in range(125)]
        assert abs(np.count_nonzero(np.concatenate(drawn) == of_old) - 750) <= 1
        first_of_old = int(np.flatnonzero(table.dataset[table.shard_of(np.arange(37))] == of_old)[0])
        assert set(table.keys(table.peers(first_of_old))) < old
        assert texts(next(fetched_batches(mixed, 1))["key"]) == mixed.batch_keys(0)
        with pytest.raises(
            CallError, match=rf"13 examples of .*{re.escape(pin)} are in .*{re.escape(new)} too.*: leave .* out"
        ):
            reader.make_dataset_fn(versions, "train", global_batch_size=8, training=False)
