import io
import math
import tracemalloc

import pytest

from shardkit.errors import DataError
from shardkit.sources.formats.xml_files import read_images
from shardkit.testing import listed, opened, read_source, write_archive, write_tree

# Elements and attributes of https://docs.cvat.ai/docs/dataset_management/formats/format-cvat/
META = "<version>1.1</version><meta><task><id>1</id><labels><label><name>cat</name></label></labels></task></meta>"
BOX = '<box label="cat" source="manual" occluded="1" xtl="1.50" ytl="2.00" xbr="30.00" ybr="40.00" z_order="0"></box>'
CAT = ("cat", 2, 1.5, 40, 30)


def cvat(*images):
    return f'<?xml version="1.0" encoding="utf-8"?>\n<annotations>{META}{"".join(images)}</annotations>'.encode()


def image(name, *shapes, number=0, more=""):
    return f'<image id="{number}" name="{name}"{more} width="80" height="60">{"".join(shapes)}</image>'


SHAPES = {
    "polygon": ('<polygon label="dog" points="5.0,6.0;9.00,6.5;7,20" />', ("dog", 6, 5, 20, 9)),
    "mask": ('<mask label="dog" rle="1, 2" left="5" top="6" width="4" height="14" />', ("dog", 6, 5, 20, 9)),
    "ellipse": ('<ellipse label="dog" cx="20" cy="30" rx="4" ry="6" />', ("dog", 24, 16, 36, 24)),
    "turned box": ('<box label="dog" xtl="10" ytl="20" xbr="30" ybr="30" rotation="90" />', ("dog", 15, 15, 35, 25)),
    "turned ellipse": ('<ellipse label="dog" cx="20" cy="30" rx="4" ry="6" rotation="90"/>', ("dog", 26, 14, 34, 26)),
}


@pytest.mark.parametrize(("shape", "wanted"), SHAPES.values(), ids=SHAPES.keys())
def test_shapes_become_boxes(shape, wanted, tmp_path):
    data = cvat(image("a.jpg", BOX, shape), image("b.jpg", number=1))
    root = write_tree(tmp_path / "s", {"annotations.xml": data, "images/a.jpg": b"x", "images/b.jpg": b"x"})
    source = opened(root)
    listing = listed(source)
    found = listing.boxes
    assert (source.layout, listing.problems, listing.skipped) == ("CVAT for images", [], {})
    assert (found["images/a.jpg"][0], found["images/b.jpg"]) == (CAT, [])
    assert found["images/a.jpg"][1][0] == wanted[0]
    assert all(math.isclose(a, b) for a, b in zip(found["images/a.jpg"][1][1:], wanted[1:], strict=True))
    assert (listing.rows[0]["annotated_width"], listing.rows[0]["objects"][0]["is_occluded"]) == (80, True)
    segmentation = "[[5,6,9,6.5,7,20]]" if "<polygon" in shape else ""
    assert listing.rows[0]["objects"][1]["segmentation"] == segmentation


def test_what_has_no_box_is_counted(tmp_path):
    shapes = ['<points label="cat" points="1,2" />', '<polyline label="cat" points="1,2;3,4" />', '<tag label="cat" />']
    files = {
        "annotations.xml": cvat(image("a.jpg", BOX, *shapes)),
        "a.jpg": b"x",
        "more.jpg": b"x",
        "other/b.jpg": b"x",
    }
    found = read_source(write_tree(tmp_path / "s", files))
    assert found.problems == [("more.jpg", "no_label")]
    assert found.skipped == {
        "shapes of the kind points": 1,
        "shapes of the kind polyline": 1,
        "tags of whole images": 1,
        "image in other/ that no annotation names": 1,
    }


def test_subsets_are_splits_and_may_be_folders_as_in_a_zip(tmp_path):
    images = [
        image(f"{i}.jpg", BOX, number=i, more=f' subset="{name}"') for i, name in enumerate(("Train", "val", "default"))
    ]
    paths = ["images/Train/0.jpg", "images/default/2.jpg", "images/val/1.jpg"]
    archive = write_archive(tmp_path / "project.zip", {"annotations.xml": cvat(*images), **dict.fromkeys(paths, b"x")})
    rows = read_source(archive).rows
    assert [(row["key"], row["split"]) for row in rows] == list(zip(paths, ["train", None, "validation"], strict=True))


UNNAMED = ("images/b.jpg", "no_label")
# name: an image element, and the keys and reasons of the problems
BAD_IMAGES = {
    "no label": (image("b.jpg", '<box xtl="1" ytl="1" xbr="2" ybr="2"/>'), [("image 2, shape 1", "bad_annotation")]),
    "a side is missing": (
        image("b.jpg", '<box label="x" xtl="1" ytl="1" xbr="2"/>'),
        [("image 2, shape 1", "bad_box")],
    ),
    "a word": (image("b.jpg", '<box label="x" xtl="1" ytl="1" xbr="2" ybr="y"/>'), [("image 2, shape 1", "bad_box")]),
    "an infinite turn": (image("b.jpg", BOX.replace("z_order", 'rotation="inf" z')), [("image 2, shape 1", "bad_box")]),
    "two corners": (image("b.jpg", '<polygon label="x" points="1,2;3,4"/>'), [("image 2, shape 1", "bad_box")]),
    "no name": ('<image id="2" width="8" height="8"></image>', [("image 2", "bad_path"), UNNAMED]),
    "a path that leaves": (image("../../b.jpg", BOX), [("image 2", "bad_path"), UNNAMED]),
}


@pytest.mark.parametrize(("second", "wanted"), BAD_IMAGES.values(), ids=BAD_IMAGES.keys())
def test_a_bad_shape_is_reported_and_the_others_stay(second, wanted, tmp_path):
    files = {"annotations.xml": cvat(image("a.jpg", BOX), second), "images/a.jpg": b"x", "images/b.jpg": b"x"}
    found = read_source(write_tree(tmp_path / "s", files))
    assert [(key.removeprefix("annotations.xml, "), reason) for key, reason in found.problems] == wanted
    assert found.boxes["images/a.jpg"] == [CAT]


# name: the file, and what the refusal says
REFUSED = {
    "a video": (
        cvat('<track id="0" label="cat"><box frame="0" /></track>'),
        "has tracks, .* export the task as 'COCO 1.0'",
    ),
    "no images": (cvat(), "name no image; .* 'COCO 1.0'"),
    "images that are not there": (cvat(image("z.jpg", BOX)), "none of the images that it names is in .*'z.jpg'.*root"),
    "cut off": (cvat(image("a.jpg", BOX))[:-20], "it is not XML"),
    "a document type": (cvat().replace(b"<annotations>", b"<!DOCTYPE a []><annotations>"), "declares a document type"),
    "VOC": (b"<annotation><filename>a.jpg</filename></annotation>", "for Pascal VOC, give the folder"),
}


@pytest.mark.parametrize(("data", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_other_files_are_refused_with_the_export_to_choose(data, message, tmp_path):
    root = write_tree(tmp_path / "s", {"annotations.xml": data, "a.jpg": b"x"})
    with pytest.raises(DataError, match=message):
        opened(root / "annotations.xml")


def test_the_layout_is_refused_without_its_file(tmp_path):
    with pytest.raises(DataError, match="there is no XML file of CVAT for images"):
        opened(write_tree(tmp_path / "s", {"a.jpg": b"x"}), layout="cvat")


def test_memory_does_not_grow_with_the_file():
    def peak(num_images):
        data = io.BytesIO(cvat(*(image(f"{i}.jpg", *[BOX] * 20, number=i) for i in range(num_images))))
        tracemalloc.start()
        assert sum(len(one.objects) for one in read_images(data, "x")) == 20 * num_images
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert peak(480) < 1.3 * peak(120)
