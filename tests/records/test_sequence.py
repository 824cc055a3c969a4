import copy as copying
import json
import os
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import shardkit
from shardkit.dataset import example as example_format
from shardkit.dataset.feature_spans import find_features
from shardkit.errors import CallError, DataError, RecordError, UnknownNameError
from shardkit.records import Example
from shardkit.storage import open_folder
from shardkit.storage.open_files import MAX_OPEN_FILES
from shardkit.testing import append_without_beam, convert_without_beam, write_class_folders

from ..cli.calling import SAMPLE_DATA, convert, environment


@pytest.fixture(scope="session")
def many_shards(made_once):
    """The folder of 70 shards of a few examples; not to be changed."""

    def make(folder):
        write_class_folders(folder / "in", {"a": 80, "b": 70})
        convert_without_beam(str(folder / "in"), str(folder / "out"), shards=70)

    return str(made_once("many-shards", make) / "out")


def test_the_examples_of_a_split_are_the_files_of_the_source(sample):
    examples = shardkit.open(sample("shapes"), "train")
    files = {str(path.relative_to(SAMPLE_DATA / "shapes")): path for path in (SAMPLE_DATA / "shapes").rglob("*.*")}
    assert len(examples) == len(files)
    for example in examples:
        path = files.pop(example.key)
        assert example["image"] == path.read_bytes()
        assert example.label_names == [path.parent.name]
        assert (example["height"], example["width"], 3) == example.array().shape
        assert example.array().flags.writeable  # PyTorch warns if it is not
    assert not files


def test_a_sequence_has_numbers_keys_slices_and_parts_of_slices(sample):
    examples = shardkit.open(sample("shapes"), "train")
    keys = [example.key for example in examples]
    assert [examples[-1].key, examples[np.int64(3)].key, examples["star/star_001.jpg"].key] == [
        keys[-1],
        keys[3],
        "star/star_001.jpg",
    ]
    part = examples[10:20][::-2]
    assert [example.key for example in part] == keys[10:20][::-2]
    assert part.index["key"].to_pylist() == keys[10:20][::-2]
    assert len(examples[500:]) == 0
    for number in (len(examples), -len(examples) - 1):
        with pytest.raises(IndexError, match=f"{len(examples)} examples; found the number {number}"):
            examples[number]


@pytest.mark.parametrize("part", [slice(None), slice(None, None, 3), slice(None, None, -1), slice(7, 8), slice(3, 3)])
def test_an_iteration_gives_the_examples_by_number(part, many_shards):
    examples = shardkit.open(many_shards, "train", where="label_name = 'a' or height > 20")[part]
    by_number = [examples[number] for number in range(len(examples))]
    assert [(dict(one), one.location) for one in examples] == [(dict(one), one.location) for one in by_number]
    assert [one.key for one in reversed(examples)] == examples.index["key"].to_pylist()[::-1]


def test_an_iteration_over_parts_that_were_chosen_by_number_keeps_their_order(sample):
    examples = shardkit.open(sample("shapes"), "train")
    order = np.random.default_rng(0).permutation(len(examples))
    assert [one.key for one in examples.select(order)] == examples.index["key"].take(order).to_pylist()
    assert [one.key for one in examples.__getitems__(order.tolist())] == examples.index["key"].take(order).to_pylist()
    assert examples.__getitems__([examples[9].key, 3]) == [examples[9], examples[3]]
    assert examples[::2].__getitems__([1, -1, 1]) == [examples[2], examples[::2][-1], examples[2]]
    with pytest.raises(IndexError, match="found the number 100000"):
        examples.__getitems__([1, 100_000])


def test_a_key_is_in_a_sequence_if_the_condition_and_the_slice_chose_it(sample):
    examples = shardkit.open(sample("shapes"), "train")
    for part in (examples, examples[5:9], examples[::-2], examples.select(np.array([7, 2, 7]))):
        chosen = part.index["key"].to_pylist()
        for key in [*examples.index["key"].to_pylist(), "another"]:
            assert (key in part) == (key in chosen)
            if key in chosen:
                assert part[key].key == key
    assert examples[3] in examples
    assert examples[3] not in examples[5:9]


def test_examples_with_the_same_record_are_equal(sample):
    one, other = shardkit.open(sample("coco"), "train")[:2]
    assert one == shardkit.open(sample("coco"), "train")[0]
    assert one != other
    assert one != "text"


def test_an_object_store_gets_one_request_for_many_records(sample, s3_bucket, s3_server):
    url = f"{s3_bucket}/dataset"
    for name in ("manifest.json", "train-00000-of-00001.tfrecord", "train-00000-of-00001.index.parquet"):
        with open_folder(url).atomic_write(name) as file:
            file.write(Path(sample("shapes"), name).read_bytes())
    local, remote = (shardkit.open(place, "train") for place in (sample("shapes"), url))
    before = s3_server.num_failed()
    s3_server.fail("(GET|HEAD) .*tfrecord", seconds=0)  # counts them
    assert [*remote] == [*local]
    assert s3_server.num_failed() - before < 6  # of 240 records; the first ones are small
    assert remote.__getitems__([5, 100, 5]) == [local[5], local[100], local[5]]
    assert pickle.loads(pickle.dumps(remote[40:50]))[3] == local[43]  # noqa: S301 - our own bytes


def test_a_condition_chooses_examples(sample):
    examples = shardkit.open(sample("shapes"), "train", where="label_name = 'star' and height >= 100")
    assert 0 < len(examples) < 60
    assert all(example.label_names == ["star"] and example["height"] >= 100 for example in examples)
    with pytest.raises(UnknownNameError, match=r"circle/circle_000\.jpg"):
        examples["circle/circle_000.jpg"]


def test_boxes_texts_and_numbers_have_their_types(sample):
    data = json.loads((SAMPLE_DATA / "coco/annotations/instances_train2017.json").read_text())
    image = next(one for one in data["images"] if one["file_name"] == "train_04.jpg")
    wanted = [one["bbox"] for one in data["annotations"] if one["image_id"] == image["id"]]
    example = shardkit.open(sample("coco"), "train")["train2017/train_04.jpg"]
    assert example.boxes.dtype == np.float32
    ymin, xmin, ymax, xmax = (example.boxes * np.array([image["height"], image["width"]] * 2)).T
    found = np.stack([xmin, ymin, xmax - xmin, ymax - ymin], 1)
    np.testing.assert_allclose(sorted(found.tolist()), sorted(wanted), atol=0.01)
    assert len(example.label_names) == len(wanted)
    assert all(isinstance(text, str) for text in example["objects/segmentation"])
    assert set(example) == set(example.keys()) >= {"image", "key", "height", "objects/bbox"}


def test_a_mask_has_the_class_numbers_of_the_source(sample):
    from PIL import Image

    example = shardkit.open(sample("masks"), "train")["train/images/004.jpg"]
    mask = np.asarray(Image.open(SAMPLE_DATA / "masks/train/masks/004.png"))
    np.testing.assert_array_equal(example.mask(), mask)
    assert example.mask().shape == example.array().shape[:2]
    with pytest.raises(CallError):
        shardkit.open(sample("shapes"), "train")[0].mask()


def test_numbers_for_regression_are_targets_and_no_labels(sample):
    example = shardkit.open(sample("regression.parquet"), "train")[0]
    assert example.labels == []
    assert example.targets == [pytest.approx(example["label"])]


def _keys_and_sizes(examples):
    return [(example.key, len(example["image"])) for example in examples]


# A process of its own: gRPC, if a test before has loaded it, may abort in a fork that then runs Python.
FORKING = """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
import shardkit

def keys_and_sizes(examples):
    return [(example.key, len(example["image"])) for example in examples]

if __name__ == "__main__":
    part = shardkit.open(sys.argv[1], "train", where="height > 90")[3:9]
    wanted = keys_and_sizes(part)  # a shard is open when this process forks
    for method in ("fork", "spawn"):
        with ProcessPoolExecutor(1, multiprocessing.get_context(method)) as pool:
            assert pool.submit(keys_and_sizes, part).result() == wanted, method
    print(len(wanted))
"""


def test_a_sequence_works_in_forked_and_spawned_processes(sample, tmp_path):
    (tmp_path / "forking.py").write_text(FORKING)  # a spawned process imports it
    command = [sys.executable, str(tmp_path / "forking.py"), str(sample("shapes"))]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "6\n"), done.stderr


def test_a_sequence_is_pickled_small(sample, monkeypatch):
    part = shardkit.open(sample("shapes"), "train", where="height > 90")[3:9]
    pickled = pickle.dumps(part)
    assert len(pickled) < 1000
    assert _keys_and_sizes(pickle.loads(pickled)) == _keys_and_sizes(part)  # noqa: S301 - our own bytes
    folder = Path(sample("shapes"))
    monkeypatch.chdir(folder.parent)
    pickled = pickle.dumps(shardkit.open(folder.name, "train")[:3])
    monkeypatch.chdir("/")
    assert len(pickle.loads(pickled)) == 3  # noqa: S301


def test_an_example_is_pickled_and_copied(sample):
    example = shardkit.open(sample("coco"), "train")[0]
    for copy in (pickle.loads(pickle.dumps(example)), copying.deepcopy(example)):  # noqa: S301 - our own bytes
        assert {name: str(value) for name, value in copy.items()} == {
            name: str(value) for name, value in example.items()
        }
        assert (copy.key, copy.location, copy.label_names) == (example.key, example.location, example.label_names)


def test_batches_of_frameworks_that_rebuild_mappings_are_dicts(sample):
    example = shardkit.open(sample("shapes"), "train")[0]
    made = type(example)((name, [value]) for name, value in example.items())
    assert type(made) is dict
    assert made == {name: [value] for name, value in example.items()}


def test_more_shards_than_files_may_be_open_are_read_in_any_order_and_by_threads(many_shards):
    examples = shardkit.open(many_shards, "train")
    shards = {example.location.shard for example in examples}
    assert len(shards) > MAX_OPEN_FILES
    keys = examples.index["key"].to_pylist()
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(len(keys)), 5)).tolist()
    assert _keys_by_threads(examples, order) == [keys[number] for number in order]
    assert [one.key for one in examples.__getitems__(order)] == [keys[number] for number in order]
    assert 0 < _num_open_files(many_shards) <= MAX_OPEN_FILES
    del examples
    assert _num_open_files(many_shards) == 0


def _keys_by_threads(examples, order):
    with ThreadPoolExecutor(4) as pool:
        return [*pool.map(lambda number: examples[number].key, order)]


def _num_open_files(folder):
    """Number of this process's descriptors of files below a folder."""
    links = Path("/proc/self/fd").iterdir()
    return sum(os.path.realpath(link).startswith(os.path.realpath(folder)) for link in links)


def test_a_pickled_sequence_of_a_replaced_dataset_is_refused(own, tmp_path):
    dataset = own("shapes")
    pickled = pickle.dumps(shardkit.open(dataset, "train"))
    shutil.rmtree(dataset)
    convert(SAMPLE_DATA / "shapes", dataset, "--seed", "1")
    with pytest.raises(CallError, match="was replaced"):
        pickle.loads(pickled)  # noqa: S301 - our own bytes


def test_a_damaged_record_is_named_and_others_are_read(own):
    dataset = own("shapes")
    place = shardkit.open(dataset, "train")[5].location
    path = Path(dataset, place.shard)
    whole = path.read_bytes()
    examples = shardkit.open(dataset, "train")
    for at in (place.offset, place.offset + 8, place.offset + 30, place.end - 1):  # length, its CRC, data, its CRC
        raw = bytearray(whole)
        raw[at] ^= 1
        path.write_bytes(raw)
        with pytest.raises(RecordError, match=f"{place.shard}, record 5 .*{examples.index['key'][5]}.*CRC"):
            examples[5]
        assert examples[4].array().ndim == examples[6].array().ndim == 3
        found = iter(examples)
        assert [next(found).key for _ in range(5)] == examples.index["key"][:5].to_pylist()
        with pytest.raises(RecordError, match=f"{place.shard}, record 5 .*{examples.index['key'][5]}.*CRC"):
            next(found)
    assert f"record 5 ({examples.index['key'][5]}): the CRC" in examples._repr_html_()  # and the others' pictures
    assert examples._repr_html_().count("data:image/jpeg;base64,") == 5
    path.write_bytes(whole[: place.end - 3])
    for read in (lambda: examples[5], lambda: [*examples]):
        with pytest.raises(RecordError, match=r"record 5 .*the file ends inside the record"):
            read()


@pytest.mark.parametrize("lost", ["train-00000-of-00001.tfrecord", "train-00000-of-00001.index.parquet"])
def test_a_lost_file_is_named(lost, own):
    dataset = own("coco")
    examples = shardkit.open(dataset, "train")
    Path(dataset, lost).unlink()
    with pytest.raises(DataError, match=f"{lost}.*missing"):
        shardkit.open(dataset, "train")
    if lost.endswith(".tfrecord"):
        for read in (lambda: examples[0], lambda: next(iter(examples)), lambda: examples.__getitems__([0])):
            with pytest.raises(DataError, match=f"{lost}.*missing"):
                read()


def test_a_record_in_another_form_of_protobuf_is_read_and_a_wrong_one_is_named(sample):
    [one] = shardkit.open(sample("shapes"), "train")[:1]
    data, schema = one._data, one._schema
    found = example_format.decode(data)
    # Two Features messages, which protobuf merges.
    spans = find_features(data)
    halves = [
        example_format.encode({name: data[slice(*spans[name.encode()])] for name in part})
        for part in ([*found][:2], [*found][2:])
    ]
    split = Example(b"".join(halves), schema, "train.tfrecord", 7, 0)
    assert find_features(b"".join(halves)) is None
    assert dict(split) == dict(one)
    for damaged, message in [(b"\x0a\x05", "bytes are not"), (halves[0], "lacks the feature"), (b"", "lacks")]:
        with pytest.raises(RecordError, match=rf"train\.tfrecord, record 7: .*{message}.*shardkit verify"):
            Example(damaged, schema, "train.tfrecord", 7, 0)["label"]


def test_a_feature_that_does_not_exist_has_no_value(sample):
    example = shardkit.open(sample("shapes"), "train")[0]
    assert "labl" not in example
    assert example.get("labl", 5) == 5


def test_an_empty_selection_is_an_empty_sequence(sample):
    examples = shardkit.open(sample("shapes"), "train", where="height > 100000")
    assert len(examples) == 0
    assert [*examples] == []
    assert "0 examples" in repr(examples)


def test_a_notebook_shows_an_example_and_runs_no_script(sample, tmp_path):
    source = tmp_path / "in" / "<script>alert(1)</script>"
    for label in ("a", source.name.replace("/", "")):
        (tmp_path / "in" / label).mkdir(parents=True, exist_ok=True)
        shutil.copy(SAMPLE_DATA / "shapes/circle/circle_000.jpg", tmp_path / "in" / label / f"{len(label)}.jpg")
    convert(tmp_path / "in", tmp_path / "out")
    for example in shardkit.open(str(tmp_path / "out"), "train"):
        shown = example._repr_html_()
        assert "<script" not in shown
        assert "data:image/jpeg;base64," in shown
    examples = shardkit.open(sample("coco"), "train")
    assert "objects/bbox" in examples[0]._repr_html_()
    shown = examples._repr_html_()
    assert shown.startswith(f"<div>&lt;Examples {sample('coco')} train: {len(examples)} examples")
    assert shown.count("data:image/jpeg;base64,") == 6


def test_a_notebook_shows_what_is_wrong_with_a_picture(sample, monkeypatch):
    example = shardkit.open(sample("shapes"), "train")["circle/circle_000.jpg"]
    damaged = Example(example._data.replace(b"\xff\xd8\xff", b"\x00\x00\x00", 1), example._schema, "shard", 0, 0)
    assert "cannot be decoded" in damaged._repr_html_()
    assert "<th style='text-align:left'>height</th>" in damaged._repr_html_()
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert "needs PIL, which is not installed" in example._repr_html_()


def test_a_number_behind_the_end_of_a_dataset_that_has_grown_hints_at_the_pin(tmp_path):
    write_class_folders(tmp_path / "in", {"ant": 2, "bee": 2})
    write_class_folders(tmp_path / "more", {"cat": 4, "dog": 4})
    convert_without_beam(str(tmp_path / "in"), str(tmp_path / "out"))
    examples = shardkit.open(str(tmp_path / "out"), "train")
    append_without_beam(str(tmp_path / "out"), str(tmp_path / "more"))
    pin = f"{tmp_path}/out@sha256:{examples.manifest.digest}"
    with pytest.raises(IndexError, match=f"there are 4 examples; found the number .*grown.* to {pin}$"):
        [examples[i] for i in shardkit.sampler(str(tmp_path / "out"), "train", global_batch_size=2, num_steps=6)]
    pinned = shardkit.sampler(pin, "train", global_batch_size=2, num_steps=2)
    assert {examples[i].key for i in pinned} == {one.key for one in examples}
    with pytest.raises(IndexError, match=r"found the number 12$"):
        shardkit.open(str(tmp_path / "out"), "train")[12]
