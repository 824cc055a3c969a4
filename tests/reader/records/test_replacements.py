"""What replaces a damaged record, and what is not damage: files that cannot be read, and replaced shards."""

import errno
import shutil

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.data.ops import debug_mode

from shardkit import read_manifest, reader
from shardkit.errors import DataError, MachineError, RecordError
from shardkit.fetch.damaged_records import DamagedRecords
from shardkit.fetch.recovery import RecordRecovery
from shardkit.fetch.sources import Sources
from shardkit.fetch.table.mixtures import joined
from shardkit.fetch.table.records import load_table
from shardkit.fetch.table.selection import select
from shardkit.reader import pipeline
from shardkit.storage import LocalFolder
from shardkit.testing import convert_without_beam, write_class_folders

from ...fetch.conftest import fetched_batches
from ...fetch.damaging import damage

SIZES = {"ant": 20, "bee": 9, "cat": 1}
BLOCKS = {"order": reader.BlockOrder(block_records=4, window_blocks=2, lanes=4)}


@pytest.fixture(scope="module")
def intact(tmp_path_factory):
    """Folders of two datasets of the same classes, two shards each; not to be changed."""
    root, found = tmp_path_factory.mktemp("pair"), []
    for name, sizes in (("one", SIZES), ("two", {"ant": 8, "bee": 6, "cat": 3})):
        source = write_class_folders(root / name / "source", sizes)
        convert_without_beam(str(source), str(root / name / "dataset"), shards=2)
        found.append(root / name / "dataset")
    return found


@pytest.fixture
def pair(intact, tmp_path):
    """Copies that a test may damage."""
    return [shutil.copytree(folder, tmp_path / str(number)) for number, folder in enumerate(intact)]


def table_of(folder):
    return load_table(read_manifest(str(folder)), "train")


def test_another_of_the_same_class_dataset_and_selection_takes_its_place(pair):
    tables = {
        "all": table_of(pair[0]),
        "fold": select(table_of(pair[0]), where=None, fold=(1, 3), take=None, training=False),
        "mixture": joined([table_of(folder) for folder in pair], [read_manifest(str(folder)) for folder in pair]),
    }
    for name, table in tables.items():
        counts = np.bincount(table.label)
        dataset = [table.location(i)[0].url for i in range(table.num_examples)]
        victims = [
            next(i for i in range(table.num_examples) if table.label[i] == label and dataset[i] == url)
            for url in dict.fromkeys(dataset)
            for label in np.flatnonzero(counts > 1)
            if sum(np.asarray(dataset)[table.label == label] == url) > 1
        ]
        damage(table, victims)
        recovery = RecordRecovery(table, DamagedRecords(100), 5, Sources(table))
        for victim in victims:
            (other, _), (again, _) = (recovery.repaired(victim, is_undecodable=known) for known in (False, True))
            assert other == again, name
            assert other not in victims
            assert table.label[other] == table.label[victim]
            assert dataset[other] == dataset[victim]
        damage(table, victims)  # repairs it


def test_where_a_class_has_no_intact_example_training_goes_on_without_it(pair, caplog):
    table = table_of(pair[0])
    damage(table, np.flatnonzero(table.label == 2))
    options = {"global_batch_size": 6, "on_corrupt": "skip", "image_size": (8, 8), "sample_weight": {"bee": 2}}
    dataset_fn = reader.make_dataset_fn(str(pair[0]), "train", **options)
    weights = np.concatenate([batch["weight"] for batch in fetched_batches(dataset_fn, 5)])  # an epoch
    assert sorted(weights) == [0] + [1] * 20 + [2] * 9
    assert [record.key.partition("/")[0] for record in dataset_fn.damaged_records] == ["cat"]
    assert caplog.text.count("no example of class 'cat' is intact") == 1


def test_where_nothing_is_intact_that_is_told(pair):
    table = select(table_of(pair[0]), where="label_name = 'cat'", fold=None, take=None, training=True)
    damage(table, [0])
    with pytest.raises(RecordError, match=r"train-0.*record \d+, key 'cat/.*no other example.*restore"):
        RecordRecovery(table, DamagedRecords(100), 0, Sources(table)).repaired(0)


def test_shares_of_classes_stay_exact(pair):
    table = table_of(pair[0])
    damage(table, [int(np.flatnonzero(table.label == label)[0]) for label in (0, 1)])
    options = {"global_batch_size": 6, "sampling": {"ant": 1, "bee": 2}, "on_corrupt": "skip"}
    dataset_fn = reader.make_dataset_fn(str(pair[0]), "train", **options)
    labels = np.concatenate([batch["label"] for batch in fetched_batches(dataset_fn, 20)])
    assert np.bincount(labels).tolist() == [40, 80]
    assert len(dataset_fn.damaged_records) == 2


def test_a_record_that_is_intact_when_read_again_is_not_replaced(pair, tmp_path):
    """A cached copy rots; the source is sound."""
    options = {"global_batch_size": 8, "on_corrupt": "skip", "training": False, "cache": str(tmp_path / "cache")}
    dataset_fn = reader.make_dataset_fn(str(pair[0]), "train", **options)
    table = dataset_fn._table
    for example_id in (3, 17):
        _, shard, _ = table.location(example_id)
        path = next(path for path, one in zip(table.paths, table.shards, strict=True) if one == shard)
        (tmp_path / path).chmod(0o644)
        with open(path, "r+b") as file:
            file.seek(int(table.offset[example_id]) + 40)
            file.write(b"rot")
    assert sum(batch["weight"].sum() for batch in fetched_batches(dataset_fn)) == table.num_examples
    assert dataset_fn.damaged_records == []


def refusing(monkeypatch, method, path, number):
    """From now on the machine refuses to read files of that kind."""
    plain = getattr(LocalFolder, method)

    def refuse(self, name, *rest):
        if name.endswith(path):
            raise OSError(number, "refused by the test")
        return plain(self, name, *rest)

    monkeypatch.setattr(LocalFolder, method, refuse)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
@pytest.mark.parametrize(
    ("method", "path"), [("read", "manifest.json"), ("read", ".index.parquet"), ("stat", ".tfrecord")]
)
def test_what_the_machine_cannot_read_is_told_with_file_and_remedy(intact, monkeypatch, method, path, number):
    refusing(monkeypatch, method, path, number)
    with pytest.raises(MachineError, match=rf"{path}: cannot be read: refused by the test; check its permissions"):
        reader.make_dataset_fn(str(intact[0]), "train", global_batch_size=2)


@pytest.mark.parametrize("damaged", [None, DamagedRecords(100)])
def test_a_shard_that_cannot_be_read_is_not_replaced(intact, monkeypatch, damaged):
    table = table_of(intact[0])
    recovery = RecordRecovery(table, damaged, 0, Sources(table))
    refusing(monkeypatch, "read_range", ".tfrecord", errno.EACCES)
    with pytest.raises(MachineError, match=r"train-0.*\.tfrecord: cannot be read"):
        recovery.repaired(3)
    assert damaged is None or damaged.records == []


def test_the_manifest_may_not_be_gone(pair):
    sources = Sources(table_of(pair[0]))
    sources.check_manifests()
    (pair[0] / "manifest.json").unlink()
    with pytest.raises(DataError, match=r"is converted again while it is read: .*manifest\.json"):
        sources.check_manifests()


@pytest.mark.parametrize("on_corrupt", ["error", "skip"])
def test_a_shard_replaced_by_another_is_named_and_stops_block_order(pair, on_corrupt):
    """No manifest changes: someone copied the wrong file."""
    options = {"global_batch_size": 4, "on_corrupt": on_corrupt, **BLOCKS}
    dataset_fn = reader.make_dataset_fn(str(pair[0]), "train", **options)
    first, second = (shard.path for shard in dataset_fn._table.shards)
    shutil.copy(pair[1] / first, pair[0] / second)
    with pytest.raises(DataError, match=rf"{second}: the shard was replaced"):
        list(fetched_batches(dataset_fn, 20))
    assert dataset_fn.damaged_records == []


def test_decoding_is_a_map_without_state(intact, monkeypatch):
    """Stateful maps run on one thread where TensorFlow is told to be deterministic."""
    graphs, traced = [], pipeline._MakeElements.__call__

    def remember(self, place):
        graphs.append(tf.compat.v1.get_default_graph())
        return traced(self, place)

    monkeypatch.setattr(pipeline._MakeElements, "__call__", remember)
    options = {"global_batch_size": 4, "image_size": (8, 8), "on_corrupt": "skip"}
    reader.make_dataset_fn(str(intact[0]), "train", **options)()
    (graph,) = graphs
    assert [op.type for op in graph.get_operations() if op.op_def.is_stateful] == []


def test_tf_data_in_debug_mode_gives_the_same(intact):
    options = {"global_batch_size": 4, "image_size": (8, 8), "on_corrupt": "skip"}
    expected = next(iter(reader.make_dataset_fn(str(intact[0]), "train", **options)()))
    debug_mode.toggle_debug_mode(True)
    try:
        found = next(iter(reader.make_dataset_fn(str(intact[0]), "train", **options)()))
    finally:
        debug_mode.toggle_debug_mode(False)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
