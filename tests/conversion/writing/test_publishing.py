import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shardkit import naming
from shardkit.conversion.inventory.columns import Reject
from shardkit.conversion.planning.plan import PLAN_VERSION
from shardkit.conversion.planning.plan_file import PlannedDataset
from shardkit.conversion.writing.output.finished_shards import check_finished_shards
from shardkit.conversion.writing.publishing import publish
from shardkit.dataset.index.file import parse_index, serialize_index
from shardkit.dataset.manifest import read_manifest
from shardkit.errors import DataError
from shardkit.naming import ShardName
from shardkit.options.groups import ConvertOptions
from shardkit.sources.opening import open_source
from shardkit.storage import open_folder
from shardkit.testing import convert_without_beam, files_of, picture, plan_without_beam, write_class_folders, write_tree

COUNTS = {"train/cat": 5, "train/dog": 3, "test/cat": 1, "test/dog": 1}


@pytest.fixture
def dataset(tmp_path):
    write_class_folders(tmp_path / "source", COUNTS)
    write_tree(tmp_path / "source", {"train/cat/bad.jpg": b"", "train/notes.txt": b"", "test/dog/twin.png": picture(0)})
    convert_without_beam(str(tmp_path / "source"), str(tmp_path / "out"), shards={"train": 2}, name="pets")
    return tmp_path / "out"


def planned(dataset, source):
    plan = plan_without_beam(open_source(str(source)), ConvertOptions.of({"shards": {"train": 2}, "name": "pets"}))
    return PlannedDataset.of(open_folder(str(dataset)), "", plan)


def proved(dataset):
    """What the cheap proof says of the dataset's shards."""
    return check_finished_shards(open_folder(str(dataset)), NAMES, read_manifest(str(dataset)).plan_digest)


NAMES = [ShardName("train", 0, 2), ShardName("train", 1, 2), ShardName("test", 0, 1)]


def test_the_files_of_a_dataset_are_the_designs(dataset):
    assert set(files_of(dataset)) == {
        "manifest.json",
        "rejected.parquet",
        "dataset_info.json",
        "features.json",
        "label.labels.txt",
        naming.RUN_LOG,
        *(name for shard in NAMES for name in (shard.records, shard.index)),
    }


def test_the_manifest_says_what_is_there(dataset):
    manifest = read_manifest(str(dataset))
    train, test = manifest.splits["train"], manifest.splits["test"]
    assert manifest.name == "pets"
    assert manifest.classes == ["cat", "dog"]
    assert list(manifest.splits) == ["train", "test"]
    assert (train.num_examples, test.num_examples) == (8, 3)
    assert (train.class_counts, test.class_counts) == ([5, 3], [1, 2])
    assert (train.balance.count_spread, train.balance.class_spread) == (0, 1)
    sizes = [shard.num_bytes for shard in train.shards]
    assert train.balance.bytes_spread == pytest.approx(max(sizes) / min(sizes) - 1, abs=1e-6)
    assert (manifest.source.num_files, manifest.source.duplicates, manifest.source.skipped) == (12, 1, {".txt": 1})
    assert manifest.source.layout == "split and class folders"
    assert (manifest.rejected.num_examples, manifest.rejected.by_reason) == (1, {"empty": 1})
    assert manifest.options["plan_version"] == PLAN_VERSION
    for split, shard in manifest.shards():
        assert (dataset / shard.path).stat().st_size == shard.num_bytes
        assert ShardName.parse(shard.path).split == split
    for file in manifest.files:
        assert (dataset / file.path).stat().st_size == file.num_bytes


def test_the_rejected_are_listed_with_reason_and_sentence(dataset):
    (row,) = pq.read_table(io.BytesIO((dataset / "rejected.parquet").read_bytes())).to_pylist()
    assert (row["key"], row["reason"], row["source_bytes"]) == ("train/cat/bad.jpg", "empty", 0)
    assert row["message"].endswith(".")


def test_tfds_reads_the_dataset(dataset):
    import tensorflow_datasets as tfds

    builder = tfds.builder_from_directory(str(dataset))
    assert builder.name == "pets"
    assert {name: split.num_examples for name, split in builder.info.splits.items()} == {"train": 8, "test": 3}
    assert builder.info.splits["train"].shard_lengths == [4, 4]
    assert builder.info.features["label"].names == ["cat", "dog"]
    found = {(one["key"].decode(), int(one["label"])) for one in tfds.as_numpy(builder.as_dataset(split="train"))}
    pairs = tfds.as_numpy(builder.as_dataset(split="train", as_supervised=True))
    assert sorted(int(label) for _, label in pairs) == sorted(label for _, label in found)
    assert found == {
        (f"train/{name}/{i:03d}.png", label) for label, name in enumerate(["cat", "dog"]) for i in range(5 - 2 * label)
    }


def test_class_names_with_line_breaks_keep_their_labels_in_tfds(tmp_path):
    import tensorflow_datasets as tfds

    write_class_folders(tmp_path / "source", {"a\nb": 1, "c": 1})
    convert_without_beam(str(tmp_path / "source"), str(tmp_path / "out"))
    assert tfds.builder_from_directory(str(tmp_path / "out")).info.features["label"].names == ["a b", "c"]


def test_the_manifest_comes_last(dataset, tmp_path, monkeypatch):
    output, plan = open_folder(str(dataset)), planned(dataset, tmp_path / "source")
    before = files_of(output)
    written = []
    kind = type(output)
    write = kind.atomic_write
    monkeypatch.setattr(
        kind, "atomic_write", lambda folder, path, **more: (written.append(path), write(folder, path, **more))[1]
    )
    publish(output, plan, check_finished_shards(output, NAMES, plan.digest), [])
    assert written[-1] == naming.MANIFEST
    not_published = {naming.RUN_LOG, *(name for shard in NAMES for name in (shard.records, shard.index))}
    assert set(written) == set(before) - not_published
    assert files_of(output) == before  # and published twice, it is the same


def test_late_rejects_are_counted_and_listed(dataset, tmp_path):
    output, plan = open_folder(str(dataset)), planned(dataset, tmp_path / "source")
    manifest = publish(
        output, plan, check_finished_shards(output, NAMES, plan.digest), [Reject("a.png", "damaged", "it is", 3)]
    )
    assert (manifest.rejected.num_examples, manifest.rejected.by_reason) == (2, {"damaged": 1, "empty": 1})
    table = pq.read_table(io.BytesIO(output.read("rejected.parquet")))
    assert table["key"].to_pylist() == ["a.png", "train/cat/bad.jpg"]


def test_finished_shards_are_proved_by_their_indexes(dataset):
    shards = proved(dataset)
    assert [one.shard.path for one in shards] == [name.records for name in NAMES]
    third = shards[2]
    assert dict(zip(third.labels.tolist(), third.label_counts.tolist(), strict=True)) == {0: 1, 1: 2}
    assert [one.shard.model_dump() for one in shards] == [
        shard.model_dump() for _, shard in read_manifest(str(dataset)).shards()
    ]


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (
            lambda path: path.unlink(),
            r"00001-of-00002\.tfrecord: the shard is missing, its index says \d+; convert again with overwrite=True",
        ),
        (
            lambda path: path.write_bytes(b"x"),
            r"the shard has 1 bytes, its index says \d+; convert again with overwrite=True",
        ),
    ],
)
def test_a_shard_that_is_not_what_its_index_says_is_not_published(dataset, damage, sentence):
    damage(dataset / NAMES[1].records)
    with pytest.raises(DataError, match=sentence):
        proved(dataset)


def test_an_index_that_does_not_cover_its_shard_is_not_published(dataset):
    path = dataset / NAMES[0].index
    table, summary = parse_index(path.read_bytes(), where="x")
    moved = table.set_column(0, table.field(0), pa.array([16 * number for number in range(len(table))], pa.int64()))
    path.write_bytes(serialize_index(moved, summary))
    with pytest.raises(DataError, match=r"train-00000-of-00002\.index\.parquet: record 1 should start at byte"):
        proved(dataset)


def test_a_split_whose_shards_are_empty_can_still_be_published(tmp_path):
    write_tree(tmp_path / "source", {"train/cat/1.png": picture(1), "test/cat/1.png": b""})
    manifest = convert_without_beam(str(tmp_path / "source"), str(tmp_path / "out"), check="header")
    assert manifest.splits["test"].num_examples == 0
    assert manifest.splits["test"].balance.bytes_spread == 0
    assert json.loads((tmp_path / "out/dataset_info.json").read_text())["splits"][1]["shardLengths"] == ["0"]


def test_a_shard_of_another_plan_is_not_published(dataset):
    with pytest.raises(DataError, match=r"train-00000-of-00002\.index\.parquet: was written from another plan"):
        check_finished_shards(open_folder(str(dataset)), NAMES, "0" * 64)
