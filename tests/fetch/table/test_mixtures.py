"""Several datasets read as one: shares kept, nothing twice before its time, classes by name."""

import io
import json
import shutil
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from shardkit import read_manifest, reader
from shardkit.errors import CallError, RecordError
from shardkit.sources.options import SourceOptions
from shardkit.testing import convert_without_beam, picture, write_class_folders, write_tree

from ...reader.conftest import global_batches, texts
from ..conftest import fetched_batches


def dataset(root, counts, **options):
    """Pictures, whose keys begin with the name of their dataset's folder."""
    source = write_class_folders(root / "source", counts, **options)
    layout = SourceOptions(layout="class-folders")  # also of one class
    shards = min(2, sum(counts.values()))
    convert_without_beam(str(source), str(root / "dataset"), source_options=layout, shards=shards)
    return str(root / "dataset")


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """Folders of three datasets, of 60, 30 and 20 examples; their classes overlap, and are numbered differently."""
    root = tmp_path_factory.mktemp("mixed")
    counts = [{"cat": 40, "dog": 20}, {"ant": 10, "dog": 20}, {"bee": 15, "cat": 5}]
    return [dataset(root / str(i), count, width=8 + i) for i, count in enumerate(counts)]


def which(batch):
    """Which dataset each example of a batch of features is of: the pictures' widths tell."""
    return [int(width) - 8 for width in batch["width"]]


def test_every_dataset_has_its_share_of_any_thousand_positions(three):
    weights = [5, 3, 0.5]
    train_fn = reader.make_dataset_fn(list(zip(three, weights, strict=True)), "train", global_batch_size=50)
    numbers = np.array([number for batch in fetched_batches(train_fn, 44) for number in which(batch)])
    for number, weight in enumerate(weights):
        counts = np.convolve(numbers == number, np.ones(1000), "valid")
        assert np.abs(counts - 1000 * weight / 8.5).max() < 1
    assert train_fn.num_examples == 110
    assert train_fn.num_classes == 4
    assert train_fn.steps_per_epoch == 3


def test_each_dataset_gives_all_it_has_before_any_comes_again(three):
    train_fn = reader.make_dataset_fn([(one, 1) for one in three], "train", global_batch_size=10)
    seen = [[], [], []]
    for batch in fetched_batches(train_fn, 60):
        for number, key in zip(which(batch), texts(batch["key"]), strict=True):
            seen[number].append(key)
    for keys, size in zip(seen, (60, 30, 20), strict=True):
        laps = [keys[start : start + size] for start in range(0, len(keys) - size + 1, size)]
        assert len(laps) >= 3
        assert all(len(set(lap)) == size for lap in laps)
        assert laps[0] != laps[1]


@pytest.mark.parametrize(("training", "image_size"), [(True, None), (False, (8, 8))])
def test_labels_are_the_numbers_of_the_names(image_size, training, three):
    classes = ["cat", "dog", "ant", "bee"]
    made = reader.make_dataset_fn(
        [(one, 1) for one in three], "train", global_batch_size=11, image_size=image_size, training=training
    )
    seen = Counter()
    batches = fetched_batches(made, 10) if image_size is None else global_batches(made, 10)
    for step, batch in enumerate(batches):
        labels = batch["label"] if image_size is None else batch[1]
        names = [key.partition("/")[0] for key in made.batch_keys(step)]
        assert [classes[label] for label in labels] == names
        seen.update(names)
    assert set(seen) == set(classes)


def test_evaluation_reads_every_example_of_all_once(three):
    made = reader.make_dataset_fn(
        [(one, weight) for weight, one in enumerate(three, 1)], "train", global_batch_size=16, training=False
    )
    seen = Counter()
    for batch in fetched_batches(made):
        pairs = zip(which(batch), texts(batch["key"]), batch["weight"], strict=True)
        seen.update((number, key) for number, key, weight in pairs if weight)
    assert len(seen) == 110
    assert set(seen.values()) == {1}


@pytest.mark.parametrize("num_workers", [1, 2, 4])
def test_the_batches_are_the_same_for_any_number_of_workers_and_from_any_step(num_workers, three):
    datasets = [(three[0], 2), (three[1], 1)]
    made = reader.make_dataset_fn(datasets, "train", global_batch_size=8, seed=4)
    for step, batch in enumerate(fetched_batches(made, 20, num_workers)):
        assert texts(batch["key"]) == made.batch_keys(step)
    made.start_step.assign(1_000_000)
    (batch,) = fetched_batches(made, 1, num_workers)
    assert texts(batch["key"]) == made.batch_keys(1_000_000)


def test_conditions_and_samples_choose_from_each_dataset(three):
    datasets = [(one, 1) for one in three]
    cats = reader.make_dataset_fn(
        datasets[::2], "train", global_batch_size=5, where="label_name = 'cat'", training=False
    )
    assert cats.num_examples == 45
    assert all(key.startswith("cat/") for step in range(9) for key in cats.batch_keys(step))
    for step, batch in enumerate(fetched_batches(cats)):
        assert texts(batch["key"]) == cats.batch_keys(step)
    assert reader.make_dataset_fn(datasets, "train", global_batch_size=5, take=7).num_examples == 21


def test_several_labels_and_boxes_are_renumbered_too(tmp_path):
    def coco(root, names):
        files = {f"{i}.png": picture(i) for i in range(6)}
        content = {
            "images": [{"id": i, "file_name": f"{i}.png", "width": 8, "height": 8} for i in range(6)],
            "categories": [{"id": i, "name": name} for i, name in enumerate(names)],
            "annotations": [
                {"id": i, "image_id": i, "category_id": i % len(names), "bbox": [0, 0, 4, 4], "area": 16, "iscrowd": 0}
                for i in range(6)
            ],
        }
        write_tree(root / "source", {**files, "instances.json": json.dumps(content).encode()})
        convert_without_beam(str(root / "source"), str(root / "out"))
        return str(root / "out")

    first, second = coco(tmp_path / "a", ["x", "y"]), coco(tmp_path / "b", ["z", "y", "w"])
    made = reader.make_dataset_fn([(first, 1), (second, 1)], "train", global_batch_size=12, training=False)
    (batch,) = made()
    labels = batch["objects/label"].to_list()
    # x y z w; the second dataset numbers z y w.
    wanted = {**{(0, i): [i % 2] for i in range(6)}, **{(1, i): [[2, 1, 3][i % 3]] for i in range(6)}}
    keys = [int(key.decode().partition(".")[0]) for key in batch["key"].numpy()]
    assert labels == [wanted[(position // 6, key)] for position, key in enumerate(keys)]
    with_images = reader.make_dataset_fn(
        [(first, 1), (second, 1)], "train", global_batch_size=12, training=False, image_size=(8, 8)
    )
    (element,) = with_images()
    assert [row[:1] for row in element[1]["labels"].numpy().tolist()] == labels


def test_sample_weights_are_of_all_examples(three):
    made = reader.make_dataset_fn(
        [(one, 1) for one in three], "train", global_batch_size=10, image_size=(8, 8), sample_weight="balanced"
    )
    counts = {"cat": 45, "dog": 40, "ant": 10, "bee": 15}
    weights = np.array([110 / (4 * count) for count in counts.values()], np.float32)
    for _, labels, given in global_batches(made, 5):
        np.testing.assert_array_equal(given, weights[labels])


def test_a_damaged_record_is_told_with_its_own_dataset(three, tmp_path):
    folder = shutil.copytree(three[1], tmp_path / "copy")
    for path in folder.glob("*.tfrecord"):
        raw = bytearray(path.read_bytes())
        raw[40] ^= 0xFF
        path.write_bytes(raw)
    made = reader.make_dataset_fn([(three[0], 1), (str(folder), 1)], "train", global_batch_size=10)
    with pytest.raises(RecordError, match=f"{folder}/train-0000"):
        list(fetched_batches(made, 12))
    skipping = reader.make_dataset_fn(
        [(three[0], 1), (str(folder), 1)], "train", global_batch_size=10, on_corrupt="skip"
    )
    list(fetched_batches(skipping, 12))
    assert 1 <= len(skipping.damaged_records) <= 2


def test_a_dataset_is_known_again_behind_a_link_and_as_a_copy(three, tmp_path):
    (tmp_path / "link").symlink_to(three[0])
    shutil.copytree(three[0], tmp_path / "copy")
    for same in (tmp_path / "link", tmp_path / "copy"):
        with pytest.raises(CallError, match=f"{same} is given twice, first as {three[0]}"):
            reader.make_dataset_fn([(three[0], 1), (str(same), 1)], "train", global_batch_size=10)


def test_a_path_and_any_kind_of_number_will_do(three):
    given = [(Path(three[0]), Fraction(3, 2)), [read_manifest(three[1]), np.float32(1.5)]]
    made, same = (
        reader.make_dataset_fn(datasets, "train", global_batch_size=10)
        for datasets in (given, [(three[0], 1), (three[1], 1)])
    )
    assert [made.batch_keys(step) for step in range(9)] == [same.batch_keys(step) for step in range(9)]


def test_of_a_dataset_smaller_than_its_share_a_batch_holds_some_twice(tmp_path, three):
    one = dataset(tmp_path, {"cat": 1})
    made = reader.make_dataset_fn([(one, 1), (three[0], 3)], "train", global_batch_size=8)
    (key,) = reader.make_dataset_fn(one, "train", global_batch_size=1).batch_keys(0)
    for batch in fetched_batches(made, 5):
        keys = Counter(zip(which(batch), texts(batch["key"]), strict=True))
        assert sum(keys.values()) == 8
        assert keys[(0, key)] == 2


@pytest.mark.parametrize("options", [{"order": "block"}, {"sampling": "class_balanced"}])
def test_a_mixture_has_no_other_order(options, three):
    with pytest.raises(CallError):
        reader.make_dataset_fn([(one, 1) for one in three], "train", global_batch_size=8, **options)


def test_datasets_of_different_kinds_are_refused(three, tmp_path):
    table = "image,score\n" + "".join(f"{i}.png,{i}.5\n" for i in range(4))
    write_tree(tmp_path / "source", {f"{i}.png": picture(i) for i in range(4)} | {"t.csv": table.encode()})
    convert_without_beam(
        str(tmp_path / "source" / "t.csv"),
        str(tmp_path / "out"),
        source_options=SourceOptions(label_columns=("score",), label_type="number"),
    )
    with pytest.raises(CallError, match="feature 'label' is float32 scalar, but int64 class_label"):
        reader.make_dataset_fn([(three[0], 1), (str(tmp_path / "out"), 1)], "train", global_batch_size=8)


def test_masks_of_other_classes_are_refused(tmp_path):
    datasets = []
    for name, classes in (("a", ["sky", "sea"]), ("b", ["sea", "sky"])):
        mask = io.BytesIO()
        Image.new("L", (8, 8), 1).save(mask, "PNG")
        files = {"images/0.png": picture(0), "masks/0.png": mask.getvalue()}
        source = write_tree(tmp_path / name, files)
        convert_without_beam(str(source), str(tmp_path / f"{name}-out"), classes=tuple(classes))
        datasets.append((str(tmp_path / f"{name}-out"), 1))
    with pytest.raises(CallError, match="masks hold class numbers: mixed datasets need the same classes"):
        reader.make_dataset_fn(datasets, "train", global_batch_size=1)
