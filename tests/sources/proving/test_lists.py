"""Text files that name images and are no plain lists of their classes are a question."""

import pytest

from shardkit.errors import CallError
from shardkit.sources.opening import open_source
from shardkit.testing import write_tree

X = b"content"
PETS = dict.fromkeys((f"{label}/{i}.jpg" for label in ("cat", "dog") for i in range(9)), X)
CAPTIONS = "".join(f"photos/{i}.jpg a photograph of {chr(97 + i)}x\n" for i in range(20))
BOXES = b'{"v": {"x": ["1.jpg", {"bbox": [1, 2, 3, 4]}], "y": ["2.jpg", {"bbox": [1, 2, 3, 4]}]}}'

# name: files, and why it asks
ASKED = {
    "names of several images": (PETS | {"train.txt": b"1.jpg a\n2.jpg a\n"}, "exist in 2 folders"),
    "fractions": (PETS | {"train.txt": b"cat/1.jpg 0.5\ndog/3.jpg 1.5\n"}, "no list of splits names"),
    "captions": ({f"photos/{i}.jpg": X for i in range(20)} | {"captions.txt": CAPTIONS}, "there are no label folders"),
    "other splits than those of folders": (
        {f"{split}/{path}": X for split in ("train", "test") for path in PETS}
        | {"train.txt": b"".join(b"test/cat/%d.jpg\n" % i for i in range(9))},
        "train.txt names 9 of 36 images by the path",
    ),
    "boxes in one file": ({"cat/1.jpg": X, "dog/2.jpg": X, "cat/b.json": BOXES}, "b.json names 2 of 2 images"),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_file_that_names_images_and_is_no_list_of_classes_is_asked_about(name, tmp_path):
    files, says = ASKED[name]
    url = str(write_tree(tmp_path / "source", files))
    with pytest.raises(CallError, match=says):
        open_source(url)
