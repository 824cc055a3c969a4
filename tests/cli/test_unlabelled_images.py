"""Images that have no label on purpose, next to images that have one: a reading's `images: unlabelled`."""

import json

import numpy as np
import pytest
import yaml

import shardkit
from shardkit.bench.dataset_part import restricted
from shardkit.dataset.manifest import read_manifest
from shardkit.errors import CallError
from shardkit.testing import picture, write_tree

from .calling import call

FOLDERS = {"images": {"unlabelled": ["pool/"]}, "label": {"path": 0}}
SENTENCE = (
    'have no label on purpose (6 in train, 2 in validation) and count for no class; train with where="label >= 0"'
)


def write_folders(folder, **counts):
    paths = [f"{name}/{i}.png" for name, count in counts.items() for i in range(count)]
    return write_tree(folder, {path: picture(number, width=4, height=4) for number, path in enumerate(paths)})


def write_tags(folder):
    """A table of several labels for each image: of images 3, 7, … none, and of 4, 9, … an empty list."""
    lists = [["a"], ["b", "a"], ["b"], None, []]
    records = [{"file_name": f"{i}.png", "tags": lists[i % 5], "age": i} for i in range(40)]
    images = {f"{i}.png": picture(i, width=4, height=4) for i in range(40)}
    lines = "".join(json.dumps(record) + "\n" for record in records)
    return write_tree(folder, images | {"tags.jsonl": lines.encode()})


def tags_reading(*globs):
    place = {"files": ["tags.jsonl"], "key": ["file_name"]}
    features = {"age": {"column": "age", **place}}
    return {"images": {"unlabelled": [*globs]}, "label": {"column": "tags", **place}, "features": features}


def config(folder, reading):
    path = folder.parent / f"{folder.name}.yaml"
    path.write_text(yaml.safe_dump({"reading": reading}))
    return path


def convert(source, output, reading, *options):
    found = call("convert", source, output, "--config", config(output, reading), *options)
    assert found.exit_code == 0, found.output
    return found


@pytest.fixture(scope="session")
def folders(made_once):
    return made_once("unlabelled-folders", lambda folder: write_folders(folder, ant=12, bee=8, pool=8))


@pytest.fixture(scope="session")
def dataset(folders, made_once):
    """Two classes, and 8 images of 28 without a label; not to be changed."""
    return made_once(
        "unlabelled-dataset", lambda folder: convert(folders, folder, FOLDERS, "--splits", "75/25", "--shards", 2)
    )


@pytest.fixture(scope="session")
def tagged(made_once):
    """Lists of labels, without which are 8 images of 40; not to be changed."""
    source = made_once("unlabelled-tags", write_tags)
    globs = [f"{i}.png" for i in range(3, 40, 5)]
    return made_once("unlabelled-tagged", lambda folder: convert(source, folder, tags_reading(*globs)))


def labels_of(dataset, split="train"):
    return {one.key: one.get("label", one.get("labels")) for one in shardkit.open(str(dataset), split)}


def test_they_are_stored_with_the_label_minus_one_and_are_in_no_class_count(folders, dataset, tmp_path):
    splits = read_manifest(str(dataset)).splits
    assert {name: (one.class_counts, one.num_unlabelled) for name, one in splits.items()} == {
        "train": ([9, 6], 6),
        "validation": ([3, 2], 2),
    }
    assert {key for key, label in labels_of(dataset).items() if label == -1} == {
        key for key in labels_of(dataset) if key.startswith("pool/")
    }
    assert [balance.class_spread <= 1 for balance in (one.balance for one in splits.values())] == [True, True]
    planned = call("plan", folders, "--config", config(tmp_path / "x", FOLDERS), "--splits", "75/25")
    as_json = json.loads(call("plan", folders, "--reading", tmp_path / "x.yaml", "--splits", "75/25", "--json").stdout)
    counts = [(one["class_counts"], one["num_unlabelled"]) for one in as_json["splits"].values()]
    assert counts == [([9, 6], 6), ([3, 2], 2)]
    for said in (planned, call("info", dataset)):
        assert SENTENCE in said.output
        assert "2 classes: 'ant', 'bee'" in planned.output
    assert call("verify", dataset, "--deep").exit_code == 0
    page = tmp_path / "page.html"
    for what in ([dataset], [folders, "--reading", config(tmp_path / "x", FOLDERS), "--splits", "75/25"]):
        assert call("report", *map(str, what), "-o", page).exit_code == 0
        assert SENTENCE.rpartition(";")[0] in page.read_text()


def test_of_a_table_they_keep_their_other_columns_and_an_empty_list_stays_a_negative(tagged):
    manifest = read_manifest(str(tagged))
    assert manifest.splits["train"].num_unlabelled == 8
    examples = shardkit.open(str(tagged), "train")
    found = {example["age"]: example["labels"].tolist() for example in examples}
    assert [found[age] for age in range(5)] == [[0], [0, 1], [1], [-1], []]
    assert examples["3.png"].label_names == []
    info = call("info", tagged).output
    assert '8 images have no label on purpose (8 in train) and count for no class; train with where="-1 not in' in info
    assert call("verify", tagged, "--deep").exit_code == 0


def test_an_image_outside_of_the_globs_that_has_no_label_is_rejected(tmp_path):
    source = write_tags(tmp_path / "tags")
    (tmp_path / "tags" / "more").mkdir()
    (tmp_path / "tags" / "more" / "41.png").write_bytes(picture(41, width=4, height=4))
    reading = config(tmp_path / "out", tags_reading("3.png"))
    refused = call("convert", source, tmp_path / "out", "--config", reading)
    assert refused.exit_code == 1
    assert "8 no_label" in refused.output  # seven records without labels, and an image that none names
    (tmp_path / "tags" / "more" / "41.png").unlink()


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"label": None}, "no label"),
        ({"label": None, "boxes": "yolo:*.txt"}, "boxes"),
        ({"label": None, "mask": "masks/{stem}.png"}, "a mask"),
        ({"label": {"column": "age", "files": ["tags.jsonl"], "kind": "number"}, "features": {}}, "numbers"),
    ],
)
def test_only_images_of_classes_can_lack_them(changes, what, tmp_path):
    source = write_tags(tmp_path / "tags")
    write_tree(source / "masks", {"0.png": picture(0, width=4, height=4)})
    (source / "0.txt").write_text("0 0.5 0.5 0.5 0.5\n")
    reading = config(tmp_path / "out", tags_reading("3.png") | changes)
    refused = call("plan", source, "--config", reading)
    assert refused.exit_code == 2, refused.output
    assert f"one or several, and these have {what}" in refused.output


def test_a_glob_that_matches_nothing_is_named_and_one_that_matches_all_stops(folders, tmp_path):
    reading = FOLDERS | {"images": {"unlabelled": ["pool/", "pol/"]}}
    planned = call("plan", folders, "--config", config(tmp_path / "x", reading))
    assert planned.exit_code == 0
    assert "note: `images: unlabelled` has pol/, which matches no image without a label" in planned.output
    assert "has pool/" not in planned.output
    reading["images"]["unlabelled"] = ["*.png"]
    refused = call("convert", folders, tmp_path / "out", "--config", config(tmp_path / "y", reading))
    assert (refused.exit_code, (tmp_path / "out" / "manifest.json").exists()) == (1, False)
    assert "no image has a label: `images: unlabelled` marks all; for these images give --unlabelled" in refused.output


def test_training_stops_and_says_the_condition_that_leaves_them_out(dataset):
    from shardkit import reader

    options = {"global_batch_size": 4, "image_size": (4, 4)}
    with pytest.raises(CallError, match="6 of the 21 selected examples have no label on purpose") as stopped:
        reader.make_dataset_fn(str(dataset), "train", **options)
    assert "where='label >= 0'" in str(stopped.value)
    with pytest.raises(CallError, match="2 of the 7 selected"):
        reader.make_dataset_fn(str(dataset), "validation", training=False, **options)
    with pytest.raises(CallError, match=r"where='\(height > 1\) and label >= 0'"):
        reader.make_dataset_fn(str(dataset), "train", where="height > 1", **options)
    trained = reader.make_dataset_fn(str(dataset), "train", where="label >= 0", **options)
    labels = np.concatenate([labels for _, labels in trained().take(8).as_numpy_iterator()])
    assert set(labels.tolist()) == {0, 1}
    assert trained.num_examples == 15
    predicted = reader.make_dataset_fn(str(dataset), "train", where="label < 0", training=False, **options)
    assert all(key.startswith("pool/") for key in predicted.keys())  # noqa: SIM118 - a method, not a mapping
    pretraining = reader.make_dataset_fn(str(dataset), "train", global_batch_size=4, features=("image", "key"))
    assert pretraining.num_examples == 21
    with pytest.raises(CallError, match="where='label >= 0'"):
        reader.make_dataset_fn(str(dataset), "train", fold=(0, 3), **options)


def test_a_printed_program_leaves_them_out_and_a_benchmark_reads_them(dataset, tagged):
    from shardkit import reader

    program = call("script", dataset).output
    assert 'WHERE: str | None = "label >= 0"' in program
    assert "15 examples in train, 5 examples in validation, without 8 images that have no label" in program
    assert 'WHERE: str | None = "-1 not in labels"' in call("script", tagged).output
    for one in (dataset, tagged):
        part = restricted(read_manifest(str(one)), "train", 1)
        assert reader.make_dataset_fn(part, "train", global_batch_size=4).num_examples > 4


def test_the_sampler_stops_likewise_and_its_condition_is_that_of_lists(dataset, tagged):
    with pytest.raises(CallError, match="where='label >= 0'"):
        shardkit.sampler(str(dataset), "train", global_batch_size=4)
    examples = shardkit.open(str(dataset), "train", where="label >= 0")
    sampler = shardkit.sampler(str(dataset), "train", global_batch_size=4, num_steps=10, where="label >= 0")
    assert {examples[i]["label"] for i in sampler} == {0, 1}
    with pytest.raises(CallError, match=r"8 of the 40 selected .* where='-1 not in labels'"):
        shardkit.sampler(str(tagged), "train", global_batch_size=4)
    examples = shardkit.open(str(tagged), "train", where="-1 not in labels")
    sampler = shardkit.sampler(str(tagged), "train", global_batch_size=4, num_steps=10, where="-1 not in labels")
    assert len({examples[i].key for i in sampler}) == 32
    with pytest.raises(CallError, match="no label on purpose"):
        shardkit.open(str(dataset), "train", fold=(0, 3))


def test_they_survive_an_extract_an_export_and_a_conversion_of_the_dataset(dataset, tagged, tmp_path):
    for old in (dataset, tagged):
        again, files = tmp_path / f"{old.name}-again", tmp_path / f"{old.name}-files"
        assert call("convert", old, again).exit_code == 0
        assert call("diff", old, again).exit_code == 0
        assert call("extract", old, files).exit_code == 0
        assert call("convert", files, tmp_path / f"{old.name}-back").exit_code == 0
        assert call("diff", old, tmp_path / f"{old.name}-back").exit_code == 0
        assert read_manifest(str(again)).num_unlabelled == 8


def test_an_append_adds_some_and_a_dataset_without_has_no_such_count(dataset, folders, tmp_path):
    plain = {"images": {"exclude": ["pool/"]}, "label": {"path": 0}}
    convert(folders, tmp_path / "plain", plain)
    assert "num_unlabelled" not in (tmp_path / "plain" / "manifest.json").read_text()
    convert(folders, tmp_path / "out", FOLDERS)
    delivery = write_folders(tmp_path / "may", ant=2, pool=3)
    for path in delivery.rglob("*.png"):
        path.rename(path.with_stem(f"may{path.stem}"))
    appended = call("append", tmp_path / "out", delivery)
    assert appended.exit_code == 0, appended.output
    assert read_manifest(str(tmp_path / "out")).num_unlabelled == 11
    assert call("verify", tmp_path / "out", "--deep").exit_code == 0
