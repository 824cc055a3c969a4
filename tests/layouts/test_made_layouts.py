"""The made layouts of tests/sources, converted and read back record by record, by commands that a user would type.

What listing gives is tested there, case by case. Here the same trees hold real pictures, go through the conversion, and
are read from the shards: keys, splits, classes and bytes. Where shardkit asks, the first reading that it offers gives
what the tree was recognised as.
"""

import io
import re
import shlex
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import shardkit
from shardkit.dataset.features import MASK
from shardkit.naming import IMAGE_ENDINGS
from shardkit.options.groups import ConvertOptions
from shardkit.refusals import UnclearError
from shardkit.reject_reasons import REJECT_REASONS
from shardkit.sources import SourceOptions
from shardkit.sources.readings.text import from_data
from shardkit.sources.walking import ending
from shardkit.testing import convert_without_beam, encoded, picture

from ..cli.calling import call
from ..sources.folders import test_class_trees as trees
from ..sources.test_well_known import READ as WELL_KNOWN
from ..sources.test_well_known import write

KINDS = {".bmp": "BMP", ".gif": "GIF", ".png": "PNG", ".tif": "TIFF", ".tiff": "TIFF", ".webp": "WEBP"}


# Trees in which images are there twice.
# What shardkit asks about. A name that begins or ceases to belong here is to be looked at.
WELL_KNOWN_THAT_ASK = {
    "Tiny ImageNet, validation images sorted",
    "CamVid, SegNet",
}
TREES_THAT_ASK = {
    "ImageNet's pictures",
    "a split in a folder of the same split",
    "samples of each material",
    "classes whose names begin like splits",
    "a class called train",
    "charts next to classes",
}


def grey(number):
    """A mask: a class number in all pixels."""
    return encoded(Image.fromarray(np.full((8, 8), number % 3, np.uint8)), "PNG")


def pictured(files, masks=()):
    """The files with a picture of its own in place of each image's dummy content."""
    made = {}
    numbers = {}
    for path, content in files.items():
        number = numbers.setdefault(path, len(numbers))
        kind = ending(path)
        if kind not in IMAGE_ENDINGS or not isinstance(content, bytes) or len(content) > 20:
            made[path] = content
        else:
            made[path] = grey(number) if path in masks else picture(number, kind=KINDS.get(kind, "JPEG"))
    return made


def convert_as_recognised(source, out, options, source_options, *, asks):
    """Convert a source; one that asks is converted by the first reading that the question offers."""
    if asks:
        with pytest.raises(UnclearError) as asked:
            convert_without_beam(str(source), str(out), options, source_options=source_options)
        readings = asked.value.readings
        assert all(reading not in readings[:i] for i, reading in enumerate(readings))
        source_options = replace(source_options, reading=from_data(readings[0], "the question"))
    convert_without_beam(str(source), str(out), options, source_options=source_options)


def read_back(folder):
    """{key: (split, label or labels)} of a dataset, and its examples by key."""
    found, examples = {}, {}
    for split in shardkit.read_manifest(str(folder)).splits:
        for example in shardkit.open(str(folder), split):
            several = "labels" in example
            labels = example.label_names
            found[example.key] = (split, labels if several else labels[0] if labels else None)
            examples[example.key] = example
    return found, examples


def wanted_of(rows):
    """The same of a listing's rows; without those that are rejected."""
    return {key: (split or "train", label) for key, split, label in rows if str(label) not in REJECT_REASONS}


@pytest.mark.parametrize("name", WELL_KNOWN)
def test_a_well_known_dataset_is_read_back_from_its_shards(name, tmp_path):
    files, options, rows, _ = WELL_KNOWN[name]
    masks = {label for _, _, label in rows if isinstance(label, str) and label in files}
    made = pictured(files, masks)
    source = write(tmp_path / "source", made)
    few = ConvertOptions(accept=("other_class_names",))  # an image in each split
    out, asks = tmp_path / "out", name in WELL_KNOWN_THAT_ASK
    convert_as_recognised(source, out, few, SourceOptions(**options), asks=asks)
    found, examples = read_back(out)
    wanted = wanted_of(rows)
    assert found.keys() == wanted.keys()
    for key, (split, label) in wanted.items():
        assert found[key][0] == split
        if isinstance(label, str) and label in masks:
            np.testing.assert_array_equal(examples[key].mask(), np.asarray(Image.open(io.BytesIO(made[label]))))
            assert MASK in examples[key]
        else:
            several = isinstance(found[key][1], list)
            assert (sorted(found[key][1]) if several else found[key][1]) == (sorted(label or []) if several else label)
        if key in made and made[key][:2] in {b"\xff\xd8", b"\x89P"}:
            assert examples[key]["image"] == made[key]
    assert call("verify", out, "--deep").exit_code == 0


@pytest.mark.parametrize("name", trees.READ)
def test_a_tree_of_class_folders_is_read_back_from_its_shards(name, tmp_path):
    paths, _, wanted, _ = trees.READ[name]
    files = paths if isinstance(paths, dict) else dict.fromkeys(paths, b"content")
    source = write(tmp_path / "source", pictured(files))
    out, asks = tmp_path / "out", name in TREES_THAT_ASK
    convert_as_recognised(source, out, ConvertOptions(), SourceOptions(), asks=asks)
    found, _ = read_back(out)
    assert found == {key: (split or "train", label) for key, (split, label) in wanted.items()}


@pytest.mark.parametrize(
    "name",
    ["Tiny ImageNet, validation images sorted"],
)
def test_the_first_command_of_a_question_reads_what_was_recognised(name, tmp_path):
    # Other readings give more images than this one, or more than one class.
    files, _, rows, _ = WELL_KNOWN.get(name) or trees.READ[name]
    wanted = wanted_of(rows) if name in WELL_KNOWN else rows
    files = files if isinstance(files, dict) else dict.fromkeys(files, b"content")
    masks = {label for _, _, label in rows} if name in WELL_KNOWN else ()
    source, out = write(tmp_path / "source", pictured(files, masks)), tmp_path / "out"
    asked = call("convert", source, out)
    assert asked.exit_code == 2
    first = re.search(r"^  shardkit (convert .*?) +# as it was recognised", asked.output, re.MULTILINE)
    assert asked.output.partition("\n  shardkit ")[2].startswith(first[1])
    call(*shlex.split(first[1]), "--accept", "other_class_names")  # an image in each split
    assert read_back(out)[0].keys() == wanted.keys()
