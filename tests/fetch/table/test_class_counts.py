import json

import numpy as np
import pytest
from PIL import Image

from shardkit import reader
from shardkit.sources import SourceOptions
from shardkit.testing import convert_without_beam, encoded, write_tree


def jpeg(number):
    return encoded(Image.fromarray(np.full((8, 8, 3), number * 9, np.uint8)), "JPEG")


def tagged(root, labels):
    """The folder of a dataset of images with several labels each."""
    lines = "".join(json.dumps({"image": f"{i}.jpg", "label": each}) + "\n" for i, each in enumerate(labels))
    write_tree(root / "source", {f"{i}.jpg": jpeg(i) for i in range(len(labels))} | {"tags.jsonl": lines.encode()})
    convert_without_beam(str(root / "source" / "tags.jsonl"), str(root / "out"), shards=3)
    return str(root / "out")


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """12 images; image i has the class 'all', and 'even' and 'third' where i is."""
    labels = [["all", *["even"] * (i % 2 == 0), *["third"] * (i % 3 == 0)] for i in range(12)]
    return tagged(tmp_path_factory.mktemp("several"), labels)


def made(dataset, **options):
    return reader.make_dataset_fn(dataset, "train", global_batch_size=1, **options)


def test_every_label_of_an_example_counts(several):
    assert made(several).class_counts == {"all": 12, "even": 6, "third": 4}


def test_a_selection_counts_its_own(several):
    evens = made(several, where="1 in labels")
    assert evens.class_counts == {"all": 6, "even": 6, "third": 2}
    assert sum(made(several, take=1).class_counts.values()) in {1, 2, 3}


def test_a_mixture_counts_by_name(several, tmp_path):
    other = tagged(tmp_path, [["zebra", "even"], ["zebra"], ["ant", "zebra"]])
    mixed = made([(several, 3), (other, 1)])
    assert mixed.class_counts == {"all": 12, "even": 7, "third": 4, "ant": 1, "zebra": 3}
    assert repr(mixed) == "train: 15 examples, 15 steps of 1, 5 classes, a mixture of 2 datasets"


def test_numbers_have_no_classes(tmp_path):
    table = "image,score\n" + "".join(f"{i}.jpg,{i}.5\n" for i in range(4))
    write_tree(tmp_path / "source", {f"{i}.jpg": jpeg(i) for i in range(4)} | {"t.csv": table.encode()})
    numbers = SourceOptions(label_columns=("score",), label_type="number")
    convert_without_beam(str(tmp_path / "source" / "t.csv"), str(tmp_path / "out"), source_options=numbers)
    dataset_fn = made(str(tmp_path / "out"))
    assert (dataset_fn.num_classes, dataset_fn.class_names, dataset_fn.class_counts) == (0, [], {})
    assert repr(dataset_fn) == "train: 4 examples, 4 steps of 1, full order"
