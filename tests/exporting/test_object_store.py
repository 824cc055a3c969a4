"""`shardkit diff` and `shardkit export` in an object store."""

import json
from dataclasses import replace

import pytest

from shardkit.dataset.features import BOXES, CLASS_LABELS
from shardkit.storage import open_folder

from ..cli.calling import call
from ..comparison.making import Made, write_dataset

OBJECTS = {"objects/bbox": BOXES, "objects/label": CLASS_LABELS}
BOX = {"objects/bbox": [0.1, 0.1, 0.5, 0.5], "objects/label": [0]}
EXAMPLES = [Made(f"{i}.png", None, b"image %d" % i * 3000, values=BOX) for i in range(8)]  # beyond SMALL_IMAGE


def uploaded(folder, url):
    output = open_folder(url)
    for path in folder.iterdir():
        with output.atomic_write(path.name) as file:
            file.write(path.read_bytes())
    return url


@pytest.mark.slow
def test_datasets_in_an_object_store_are_compared_and_exported(tmp_path, s3_bucket):
    other = replace(EXAMPLES[3], values=BOX | {"objects/label": [1]})
    write_dataset(tmp_path / "a", {"train": EXAMPLES}, features=OBJECTS, label=None)
    write_dataset(tmp_path / "b", {"train": [*EXAMPLES[4:], other, *EXAMPLES[:3]]}, features=OBJECTS, label=None)
    a, b = (uploaded(tmp_path / name, f"{s3_bucket}/{name}") for name in "ab")
    result = call("diff", a, b, "--json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["num_examples"]["same"]) == (1, 7)
    assert found["annotations"]["first"] == [{"key": "3.png", "features": ["objects/label"]}]
    for said in ("wrote 3 files", "up to date"):
        assert said in call("export", a, "--to", "dali-index").stdout
    assert "idx" not in call("verify", a).output
    assert call("diff", a, tmp_path / "a").exit_code == 0
