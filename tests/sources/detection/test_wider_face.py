import pytest

from shardkit.errors import DataError
from shardkit.testing import listed, opened, read_source, write_tree

# As TFDS' wider_face and torchvision.datasets.WIDERFace read it; the second image has no face, and a line of zeros.
TRAIN = """0--Parade/0_Parade_marchingband_1_849.jpg
1
449 330 122 149 0 0 0 0 0 0 
0--Parade/0_Parade_Parade_0_452.jpg
0
0 0 0 0 0 0 0 0 0 0 
1--Handshaking/1_Handshaking_1_1.jpg
2
78 221 7 8 2 0 0 0 0 0 
78 238 14 17 2 1 1 1 2 1 
"""  # noqa: W291 - as the authors wrote it
IMAGES = [line for line in TRAIN.split("\n") if line.endswith(".jpg")]


def tree(root, train=TRAIN, images="WIDER_train/images", lists="wider_face_split"):
    files = {f"{images}/{name}": b"x" for name in IMAGES}
    return write_tree(root, {**files, f"{lists}/wider_face_train_bbx_gt.txt": train.encode()})


@pytest.mark.parametrize("images", ["WIDER_train/images", "WIDER_train/WIDER_train/images"])
def test_faces_are_listed_with_their_attributes(images, tmp_path):
    root = tree(tmp_path / "s", images=images)
    val = "WIDER_val/images/2--Demonstration/a.jpg"
    more = {val: b"x", "WIDER_test/images/b.jpg": b"x", "wider_face_split/wider_face_test_filelist.txt": b"b.jpg\n"}
    write_tree(
        root,
        {**more, "wider_face_split/wider_face_val_bbx_gt.txt": b"2--Demonstration/a.jpg\n1\n1 2 3 4 0 0 0 0 0 0\n"},
    )
    source = opened(root)
    found = listed(source)
    assert found.problems == []
    assert found.boxes == {
        f"{images}/{IMAGES[0]}": [("face", 330, 449, 479, 571)],
        f"{images}/{IMAGES[1]}": [],
        f"{images}/{IMAGES[2]}": [("face", 221, 78, 229, 85), ("face", 238, 78, 255, 92)],
        val: [("face", 2, 1, 6, 4)],
    }
    assert [row["split"] for row in found.rows] == ["train"] * 3 + ["validation"]
    face = found.rows[2]["objects"][1]
    wanted = {"blur": 2, "expression": 1, "illumination": 1, "invalid": 1, "occlusion": 2, "pose": 1, "name": "line 10"}
    assert {name: face[name] for name in wanted} == wanted
    assert found.skipped == {"image in WIDER_test/ that no annotation names": 1}
    assert source.classes == ("face",)


# name: the list, and the keys and reasons of the problems
BAD_LISTS = {
    "a face too few": (TRAIN.replace("78 221 7 8 2 0 0 0 0 0 \n", ""), [("line 7", "bad_annotation")]),
    "a field too few": (TRAIN.replace("449 330 122 149 0", "449 330 122 149"), [("line 3", "bad_annotation")]),
    "a word for a number": (TRAIN.replace("449 330", "449 x"), [("line 3", "bad_annotation")]),
    "no number": (TRAIN.replace(".jpg\n1\n", ".jpg\n"), [("line 1", "bad_annotation")]),
    "a path that leaves": (TRAIN + "../../../a.jpg\n0\n", [("line 11", "bad_path")]),
}


@pytest.mark.parametrize(("train", "wanted"), BAD_LISTS.values(), ids=BAD_LISTS.keys())
def test_bad_lines_are_reported_and_the_images_stay(train, wanted, tmp_path):
    found = read_source(tree(tmp_path / "s", train))
    name = "wider_face_split/wider_face_train_bbx_gt.txt"
    assert found.problems == [(f"{name}, {line}", reason) for line, reason in wanted]
    assert len(found.boxes) == 3


def test_an_image_that_the_list_does_not_name_is_rejected(tmp_path):
    root = write_tree(tree(tmp_path / "s"), {"WIDER_train/images/0--Parade/more.jpg": b"x"})
    assert read_source(root).problems == [("WIDER_train/images/0--Parade/more.jpg", "no_label")]


def test_the_layout_is_refused_without_its_lists(tmp_path):
    root = write_tree(tmp_path / "s", {"WIDER_train/images/a/1.jpg": b"x"})
    with pytest.raises(DataError, match="there is no list of WIDER FACE next to its images"):
        opened(root, layout="wider-face")
