"""Tables and metadata folders, converted as users do, read back, and compared with csv, json and pyarrow."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from shardkit import read_manifest, reader
from shardkit.testing import picture, write_tree

from ..cli.calling import call, convert
from .reading_back import assert_same_images, examples

SAMPLES = Path(__file__).parents[2] / "sample_data"


@pytest.mark.parametrize(
    "name", ["labels.csv", "attributes.tsv", "multilabel.jsonl", "regression.parquet", "automl.csv"]
)
def test_every_image_is_stored_as_it_is(name, converted):
    assert_same_images(examples(converted(name)), SAMPLES)  # and the fixture has had it verified


def test_a_kaggle_table_beside_its_folder_is_read_with_names_for_its_numbers(tmp_path):
    # APTOS 2019: id_code,diagnosis and train_images/000c1434d8d7.png; here as pandas writes it with one grade missing.
    names = ["absent", "mild", "severe"]
    source = write_tree(tmp_path / "aptos", {f"train_images/{i:04x}.png": picture(i) for i in range(24)})
    rows = "".join(f"{i:04x},{float(i % 3) if i else ''}\n" for i in range(24))
    (source / "train.csv").write_text("id_code,diagnosis\n" + rows)
    (tmp_path / "names.txt").write_text("\n".join(names) + "\n\n")
    said = convert(source / "train.csv", tmp_path / "out", "--classes", tmp_path / "names.txt", "--max-rejected", 1)
    assert f"its images were found in {source}/train_images" in said
    found, manifest = examples(tmp_path / "out"), read_manifest(str(tmp_path / "out"))
    assert list(manifest.classes) == names
    assert {key: int(one["label"]) for key, one in found.items()} == {
        f"train_images/{i:04x}.png": i % 3 for i in range(1, 24)
    }
    assert_same_images(found, source)
    assert "train_images/0000.png: no_label" in call("info", tmp_path / "out", "--rejected").output


def test_classes_of_a_csv(converted):
    found, classes = examples(converted("labels.csv")), read_manifest(str(converted("labels.csv"))).classes
    with (SAMPLES / "labels.csv").open(newline="") as file:
        wanted = {row["image"]: row["label"] for row in csv.DictReader(file)}
    assert {key: classes[one["label"]] for key, one in found.items()} == wanted
    assert len(wanted) == 240


def test_splits_and_carried_columns_of_a_tsv(converted):
    found, classes = examples(converted("attributes.tsv")), read_manifest(str(converted("attributes.tsv"))).classes
    with (SAMPLES / "attributes.tsv").open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert len(rows) == len(found) == 240
    for row in rows:
        one = found[row["file_name"]]
        assert (one["split"], classes[one["label"]], one["scene"].decode()) == (
            row["split"],
            row["class_name"],
            row["scene"],
        )
        assert (one["iso"], one["remark"].decode()) == (int(row["iso"]), row["remark"])
        assert one["exposure_ms"] == np.float32(row["exposure_ms"])


def test_several_labels_an_image_and_none(converted):
    dataset = str(converted("multilabel.jsonl"))
    found, classes = examples(dataset), read_manifest(dataset).classes
    wanted = {
        row["image_path"]: set(row["labels"])
        for row in map(json.loads, (SAMPLES / "multilabel.jsonl").read_text().splitlines())
    }
    assert {key: {classes[label] for label in one["labels"]} for key, one in found.items()} == wanted
    assert sum(not labels for labels in wanted.values()) > 10, "some have none"
    # With a decoded image they are 0 and 1.
    train_fn = reader.make_dataset_fn(dataset, "train", global_batch_size=16, image_size=(8, 8))
    for step, (_, labels) in enumerate(train_fn().take(3)):
        for key, row in zip(train_fn.batch_keys(step), labels.numpy(), strict=True):
            assert {name for name, value in zip(classes, row, strict=True) if value} == wanted[key]
            assert set(row.tolist()) <= {0.0, 1.0}


def test_a_number_to_regress_on(converted):
    dataset = str(converted("regression.parquet"))
    wanted = {
        row["image"]: np.float32(row["target"]) for row in pq.read_table(SAMPLES / "regression.parquet").to_pylist()
    }
    assert {key: one["label"] for key, one in examples(dataset).items()} == wanted
    train_fn = reader.make_dataset_fn(dataset, "train", global_batch_size=16, image_size=(8, 8))
    _, labels = next(iter(train_fn()))
    assert labels.numpy().tolist() == [wanted[key] for key in train_fn.batch_keys(0)]


def test_automl_without_a_header_leaves_out_what_has_no_split(converted):
    found, classes = examples(converted("automl.csv")), read_manifest(str(converted("automl.csv"))).classes
    with (SAMPLES / "automl.csv").open(newline="") as file:
        rows = [row for row in csv.reader(file) if row[0] != "UNASSIGNED"]
    wanted = {path: (split.lower(), label) for split, path, label in rows}
    assert {key: (one["split"], classes[one["label"]]) for key, one in found.items()} == wanted
    rejected = pq.read_table(converted("automl.csv") / "rejected.parquet")
    assert rejected["reason"].to_pylist() == ["bad_split"] * 4


def test_hugging_face_metadata(converted):
    found, classes = examples(converted("metadata")), read_manifest(str(converted("metadata"))).classes
    rows = [json.loads(line) for line in (SAMPLES / "metadata/metadata.jsonl").read_text().splitlines()]
    wanted = {row["file_name"]: (row["file_name"].split("/")[0], row["label"], row["corner"]) for row in rows}
    assert {key: (one["split"], classes[one["label"]], one["corner"]) for key, one in found.items()} == wanted
    assert_same_images(found, SAMPLES / "metadata")


def test_every_bad_line_is_told_with_its_file_and_line_and_nothing_is_published(tmp_path):
    said = convert(SAMPLES / "broken.csv", tmp_path / "out", exit_code=1)
    assert "12 of 16 images and records are bad" in said
    assert "  broken.csv, line 11: bad_line: it is not UTF-8 (b'\\xe9'); save the table as UTF-8" in said.splitlines()
    assert "  shapes/circle/circle_000.jpg: duplicate_key: records 2 and 17 of this image have different labels" in said
    assert not (tmp_path / "out/manifest.json").exists()
    convert(SAMPLES / "broken.csv", tmp_path / "out", "--max-rejected", "12")
    assert sorted(examples(tmp_path / "out")) == [
        "shapes/square/square_001.jpg",
        "shapes/square/square_007.jpg",
        "shapes/star/star_000.jpg",
        "shapes/star/star_001.jpg",
    ]


def test_a_table_may_lie_apart_from_its_images(tmp_path):
    table = tmp_path / "elsewhere" / "list.csv"
    table.parent.mkdir()
    table.write_text("name,kind\ncircle/circle_000.jpg,round\nstar/star_000.jpg,pointed\n")
    options = ["--root", SAMPLES / "shapes", "--image-column", "name", "--label-column", "kind"]
    convert(table, tmp_path / "out", *options)
    assert sorted(examples(tmp_path / "out")) == ["circle/circle_000.jpg", "star/star_000.jpg"]


def test_identifiers_name_their_files_and_images_without_a_record_are_counted(tmp_path):
    table = tmp_path / "train.csv"
    table.write_text("id_code,diagnosis,age\ncircle_000,0,30\ncircle_001,2,\n")
    options = ["--root", SAMPLES / "shapes/circle", "--image-column", "id_code", "--label-column", "diagnosis"]
    said = convert(table, tmp_path / "out", *options)
    assert "images are found by names without endings or in another case, such as 'circle_000.jpg'" in said
    found = examples(tmp_path / "out")
    assert_same_images(found, SAMPLES / "shapes/circle")
    assert {key: one["age"] for key, one in found.items()} == {"circle_000.jpg": b"30", "circle_001.jpg": b""}
    there = sum(path.suffix in {".jpg", ".png"} for path in (SAMPLES / "shapes/circle").iterdir())
    assert read_manifest(str(tmp_path / "out")).source.skipped == {
        "images that train.csv does not name": there - 2,
    }
