"""mlcroissant and DALI read what is exported; each needs an environment of its own, because of what it installs.

    python -m venv /tmp/others && /tmp/others/bin/pip install mlcroissant pyarrow nvidia-dali-cuda120
    OTHERS_PYTHON=/tmp/others/bin/python .venv/bin/pytest -n 0 -m slow tests/exporting/test_read_by_others.py

DALI reads and decodes on the CPU; it needs no GPU and no driver.
"""

import json
import os
import subprocess

import pyarrow.parquet as pq
import pytest

from shardkit import read_manifest
from shardkit.testing import write_class_folders

from ..cli.calling import SAMPLE_DATA, call, convert

PYTHON = os.environ.get("OTHERS_PYTHON")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(PYTHON is None, reason="OTHERS_PYTHON names no interpreter")]
FACTS = {"license": "cc-by-4.0", "url": "https://example.org", "date-published": "2026-05-31", "cite-as": "@misc{a}"}

MLCROISSANT = """
import json, sys
import mlcroissant
dataset = mlcroissant.Dataset(jsonld=sys.argv[1])
issues = dataset.metadata.ctx.issues
records = {one.name: list(dataset.records(one.name)) for one in dataset.metadata.record_sets}

def text(value):
    if isinstance(value, bytes):
        return value.decode()
    return list(value) if hasattr(value, "__len__") and not isinstance(value, str) else value

rows = {name: [{key: text(value) for key, value in row.items()} for row in found] for name, found in records.items()}
json.dump({"issues": sorted(issues.errors | issues.warnings), "rows": rows}, open(sys.argv[2], "w"), default=int)
"""
DALI = """
import json, sys
import numpy as np
from nvidia.dali import fn, pipeline_def, tfrecord
paths = json.loads(sys.argv[1])
types = {name: tfrecord.FixedLenFeature((), tfrecord.string, "") for name in ("image", "key")}
types["label"] = tfrecord.FixedLenFeature([1], tfrecord.int64, -1)

@pipeline_def(batch_size=1, num_threads=1, device_id=None)
def pipeline():
    read = fn.readers.tfrecord(path=[a for a, _ in paths], index_path=[b for _, b in paths], features=types, name="r")
    return read["key"], read["label"], fn.decoders.image(read["image"], device="cpu")

running = pipeline()
running.build()
rows = []
for _ in range(running.epoch_size("r")):
    key, label, image = (np.asarray(one.at(0)) for one in running.run())
    rows.append([key.tobytes().decode(), int(label[0]), image.tolist()])
json.dump(rows, open(sys.argv[2], "w"))
"""


def run(program, *arguments, output):
    done = subprocess.run([PYTHON, "-c", program, *arguments, output], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(output.read_text())


def index_rows(dataset):
    return {
        row["key"]: row | {"split": split, "shard": shard.path.removesuffix(".tfrecord")}
        for split, shard in read_manifest(str(dataset)).shards()
        for row in pq.read_table(dataset / shard.index.path).to_pylist()
    }


@pytest.mark.parametrize("source", ["shapes", "coco", "multilabel.jsonl", "regression.parquet", "masks"])
def test_mlcroissant_validates_the_description_and_loads_every_example(source, tmp_path):
    convert(SAMPLE_DATA / source, tmp_path / "out", "--quiet")
    is_read_by_mlcroissant(tmp_path)


def test_mlcroissant_loads_every_example_of_a_dataset_that_grew(tmp_path):
    """Shards of two generations have the same name in two folders, and the new ones have a new class and split."""
    old = write_class_folders(tmp_path / "old", {"train/ant": 5, "train/bee": 4, "test/ant": 3, "test/bee": 2})
    convert(old, tmp_path / "out", "--quiet", "--shards", "train=2,test=1")
    more = write_class_folders(tmp_path / "more", {"train/new/cat": 3, "train/new/ant": 3, "val/cat": 2}, width=9)
    appended = call("append", tmp_path / "out", more, "--quiet", "--shards", "train=2")
    assert appended.exit_code == 0, appended.output
    is_read_by_mlcroissant(tmp_path)


def is_read_by_mlcroissant(tmp_path):
    """Compare what mlcroissant loads with the indexes."""
    facts = [f"--{name}={value}" for name, value in (FACTS | {"creator": "Example"}).items()]
    assert call("export", tmp_path / "out", "--to", "croissant", *facts).exit_code == 0
    found = run(MLCROISSANT, tmp_path / "out" / "croissant.json", output=tmp_path / "found.json")
    assert found["issues"] == []
    expected, rows = index_rows(tmp_path / "out"), found["rows"]["examples"]
    assert sorted(row["examples/key"] for row in rows) == sorted(expected)
    for row in rows:
        for field, value in row.items():
            assert value == expected[row["examples/key"]][field.removeprefix("examples/")], field
    classes = [row["classes/name"] for row in found["rows"].get("classes", [])]
    assert classes == read_manifest(str(tmp_path / "out")).classes


def test_dali_reads_every_record_on_the_cpu(tmp_path):
    import numpy as np
    from PIL import Image

    source = write_class_folders(tmp_path / "source", {"train/a": 7, "train/b": 4, "test/a": 3}, width=9, height=5)
    convert(source, tmp_path / "out", "--shards", "2", "--quiet")
    assert call("export", tmp_path / "out", "--to", "dali-index", "-o", tmp_path / "idx").exit_code == 0
    expected = index_rows(tmp_path / "out")
    shards = sorted((tmp_path / "out").glob("*.tfrecord"))
    paths = [[str(shard), str(tmp_path / "idx" / f"{shard.stem}.idx")] for shard in shards]
    rows = run(DALI, json.dumps(paths), output=tmp_path / "found.json")
    assert sorted(key for key, _, _ in rows) == sorted(expected)
    for key, label, image in rows:
        assert label == expected[key]["label"]
        with Image.open(source / key) as file:
            np.testing.assert_array_equal(image, np.asarray(file.convert("RGB")))
