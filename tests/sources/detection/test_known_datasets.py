"""COCO, iNaturalist, Pascal VOC and datasets like them, as their authors distribute them."""

import contextlib
import io
import json
import tarfile

import pytest
from pycocotools.coco import COCO

from shardkit.errors import DataError
from shardkit.sources.recognising.detection.coco import is_coco
from shardkit.sources.recognising.detection.of_one_image import is_voc
from shardkit.storage import open_folder
from shardkit.testing import listed, opened, read_source, write_tree

CATEGORIES = [
    {"supercategory": "person", "id": 1, "name": "person"},
    {"supercategory": "animal", "id": 17, "name": "cat"},
]


def coco_2017(split, **more):
    images = [{"id": i, "file_name": f"{i:012}.jpg", "width": 8, "height": 8} for i in (9, 25)]
    annotations = [
        {"id": 1, "image_id": 25, "category_id": 17, "bbox": [1.5, 2, 3, 4], "area": 9, "iscrowd": 0, **more},
        {"id": 2, "image_id": 25, "category_id": 1, "bbox": [0, 0, 8, 8], "area": 64, "iscrowd": 1, **more},
    ]
    return json.dumps({"info": {}, "images": images, "annotations": annotations, "categories": CATEGORIES}).encode()


# https://cocodataset.org/#download: the archives of 2017, unpacked into one folder
def test_coco_2017_as_downloaded(tmp_path):
    files = {f"{split}2017/{i:012}.jpg": b"x" for split in ("train", "val", "test", "unlabeled") for i in (9, 25)}
    for split in ("train", "val"):
        files[f"annotations/instances_{split}2017.json"] = coco_2017(split)
        files[f"annotations/person_keypoints_{split}2017.json"] = coco_2017(split, keypoints=[0] * 51)
        files[f"annotations/captions_{split}2017.json"] = b'{"images": [], "annotations": [{"caption": "a cat"}]}'
        files[f"annotations/stuff_{split}2017.json"] = coco_2017(split)
        files[f"annotations/panoptic_{split}2017.json"] = b'{"images": [], "annotations": [{"segments_info": []}]}'
        files[f"annotations/panoptic_{split}2017.zip"] = b"PK"
    files["annotations/image_info_test2017.json"] = b'{"images": [{"id": 9, "file_name": "000000000009.jpg"}]}'
    root = write_tree(tmp_path / "coco", files)
    source = opened(root)
    found = listed(source)
    for split, name in (("train", "train"), ("val", "validation")):
        with contextlib.redirect_stdout(io.StringIO()):
            coco = COCO(root / f"annotations/instances_{split}2017.json")
        of_split = {row["key"]: found.boxes[row["key"]] for row in found.good if row["split"] == name}
        assert set(of_split) == {f"{split}2017/{image['file_name']}" for image in coco.imgs.values()}
        for image in coco.imgs.values():
            wanted = [
                (coco.cats[one["category_id"]]["name"], y, x, y + height, x + width)
                for one in coco.imgToAnns[image["id"]]
                for x, y, width, height in (one["bbox"],)
            ]
            assert of_split[f"{split}2017/{image['file_name']}"] == wanted
    assert found.skipped == {
        "images in test2017/ that no annotation names": 2,
        "images in unlabeled2017/ that no annotation names": 2,
    }
    left_out = source.describe().partition("left out ")[2]
    for task in ("captions", "panoptic", "person_keypoints", "stuff"):
        assert f"annotations/{task}_train2017.json" in left_out
    assert "which are for other tasks" in left_out


def test_keypoints_are_read_as_boxes_and_said_to_be_left_out(tmp_path):
    files = {
        "annotations/person_keypoints_train2017.json": coco_2017("train", keypoints=[0] * 51),
        "train2017/000000000025.jpg": b"x",
        "train2017/000000000009.jpg": b"x",
    }
    root = write_tree(tmp_path / "coco", files)
    for source in (opened(root), opened(root / "annotations/person_keypoints_train2017.json")):
        assert len(listed(source).boxes["train2017/000000000025.jpg"]) == 2
        assert "note: boxes only, keypoints are left out" in source.describe()


@pytest.mark.parametrize(
    ("name", "annotation", "found"),
    [
        ("captions_train2017", {"id": 1, "image_id": 9, "caption": "a cat"}, "captions"),
        ("image_info_test2017", None, "no annotations"),
    ],
)
def test_files_of_other_tasks_are_refused_as_source(name, annotation, found, tmp_path):
    data = {"images": [{"id": 9, "file_name": "9.jpg"}], "categories": CATEGORIES}
    data |= {"annotations": [annotation]} if annotation else {}
    root = write_tree(tmp_path / "s", {f"{name}.json": json.dumps(data).encode(), "9.jpg": b"x"})
    with pytest.raises(DataError, match=f"the file has {found}, .* such as instances_train2017.json"):
        opened(root / f"{name}.json")


# https://github.com/visipedia/inat_comp: 2017 has train_val_images/<group>/<species>/, 2021 train/<number>_<taxa>/;
# test sets have no annotations.
INAT_NAMES = [{"id": 0, "name": "Lontra canadensis"}, {"id": 3, "name": "Abies alba"}, {"id": 5, "name": "Cyanistes"}]


# https://www.lvisdataset.org/dataset: an image has no file_name, but the URL of COCO's image
def test_lvis_names_its_images_by_their_urls(tmp_path):
    data = json.loads(coco_2017("train"))
    for image in data["images"]:
        image["coco_url"] = f"http://images.cocodataset.org/train2017/{image.pop('file_name')}"
    files = {f"train2017/{i:012}.jpg": b"x" for i in (9, 25)} | {"lvis_v1_train.json": json.dumps(data).encode()}
    listing = read_source(write_tree(tmp_path / "lvis", files))
    assert {path: len(found) for path, found in listing.boxes.items()} == {
        "train2017/000000000009.jpg": 0,
        "train2017/000000000025.jpg": 2,
    }


def inat(names, labels=None):
    data = {"images": [{"id": i, "file_name": name, "width": 8, "height": 8} for i, name in enumerate(names)]}
    if labels is not None:
        data["categories"] = INAT_NAMES
        data["annotations"] = [{"id": 100 + i, "image_id": i, "category_id": label} for i, label in enumerate(labels)]
    return json.dumps(data).encode()


INAT_FORMS = {
    "2017": ("train2017.json", "val2017.json", "test2017.json", "train_val_images/Plantae/Abies alba/{}.jpg"),
    "2021": ("train.json", "val.json", "public_test.json", "train/02912_Plantae_Abies_alba/{}.jpg"),
}


@pytest.mark.parametrize(("train", "val", "test", "place"), INAT_FORMS.values(), ids=INAT_FORMS.keys())
def test_inaturalist_gives_classes_and_not_background(train, val, test, place, tmp_path):
    names = [place.format(i) for i in range(4)]
    hidden = "test2017/7.jpg" if "2017" in train else "public_test/7.jpg"
    files = {train: inat(names[:3], [3, 0, 3]), val: inat(names[3:], [0]), test: inat([hidden])}
    source = opened(write_tree(tmp_path / "inat", {**files, **dict.fromkeys([*names, hidden], b"x")}))
    found = listed(source)
    assert source.layout == "COCO without boxes"
    labels = {row["key"]: (row["split"], row["label_name"]) for row in found.rows}
    alba, otter = "Abies alba", "Lontra canadensis"
    assert labels == dict(
        zip(names, [("train", alba), ("train", otter), ("train", alba), ("validation", otter)], strict=True)
    )
    assert found.classes == {0: "Lontra canadensis", 3: "Abies alba", 5: "Cyanistes"}
    assert test in source.describe()
    assert sum(found.skipped.values()) == 1


def test_a_long_outline_before_the_box_makes_no_class_of_an_annotation(tmp_path):
    data = json.loads(inat(["a.jpg"], [0]))
    data["annotations"][0] |= {"segmentation": [[1.5] * 40_000], "bbox": [0, 0, 4, 4]}
    root = write_tree(tmp_path / "s", {"train.json": json.dumps(data).encode(), "a.jpg": b"x"})
    assert read_source(root).boxes == {"a.jpg": [("Lontra canadensis", 0, 0, 4, 4)]}


def test_images_without_one_class_are_reported(tmp_path):
    names = ["a.jpg", "b.jpg", "c.jpg", "gone.jpg"]
    data = json.loads(inat(names, [0, 3, 99, 0]))
    data["annotations"].append({"id": 9, "image_id": 1, "category_id": 0})
    # The first 4 MiB of the annotations decide whether images have several classes.
    data["annotations"].insert(1, {"id": 8, "image_id": 0, "category_id": 0, "note": "x" * (4 << 20)})
    root = write_tree(tmp_path / "s", {"train.json": json.dumps(data).encode(), **dict.fromkeys(names[:3], b"x")})
    found = read_source(root)
    assert found.problems == [
        ("b.jpg", "bad_label"),
        ("c.jpg", "no_label"),
        ("gone.jpg", "missing"),
        ("train.json, annotation 102", "bad_annotation"),
    ]


def test_images_of_camera_traps_have_several_classes(tmp_path):
    names = ["a.jpg", "b.jpg", "c.jpg"]
    data = json.loads(inat(names, [0, 3, 0]))
    data["annotations"] += [{"id": 8, "image_id": 1, "category_id": 0}, {"id": 9, "image_id": 2, "category_id": 0}]
    root = write_tree(tmp_path / "s", {"train.json": json.dumps(data).encode(), **dict.fromkeys(names, b"x")})
    source = opened(root)
    otter, fir = (one["name"] for one in INAT_NAMES[:2])
    assert [row["label_names"] for row in listed(source).good] == [[otter], sorted([otter, fir]), [otter]]
    assert "images may have several classes" in source.describe()


def test_of_classes_and_boxes_of_the_same_images_the_other_is_named(tmp_path):
    with_boxes = json.loads(inat(["a.jpg"], [0]))
    with_boxes["annotations"][0]["bbox"] = [0, 0, 4, 4]
    files = {"train2017.json": inat(["a.jpg"], [0]), "train_2017_bboxes.json": json.dumps(with_boxes).encode()}
    root = write_tree(tmp_path / "s", {**files, "a.jpg": b"x"})
    source = opened(root)
    assert "left out train_2017_bboxes.json: to read the boxes, give that file as SOURCE" in source.describe()
    assert [row["label_name"] for row in listed(source).rows] == ["Lontra canadensis"]
    assert read_source(root / "train_2017_bboxes.json").boxes == {"a.jpg": [("Lontra canadensis", 0, 0, 4, 4)]}


def voc_xml(stem, label="dog"):
    return (
        f"<annotation><folder>VOC2007</folder><filename>{stem}.jpg</filename>"
        "<size><width>8</width><height>8</height><depth>3</depth></size><segmented>0</segmented>"
        f"<object><name>{label}</name><pose>Left</pose><truncated>1</truncated><difficult>0</difficult>"
        "<bndbox><xmin>2</xmin><ymin>3</ymin><xmax>7</xmax><ymax>8</ymax></bndbox></object></annotation>"
    ).encode()


def voc_files(year):
    root = f"VOCdevkit/VOC{year}"
    files = {
        f"{root}/{path}/{name}": b""
        for path, name in (("SegmentationClass", "a.png"), ("ImageSets/Layout", "train.txt"))
    }
    for stem, split in (("a", "train"), ("b", "val")):
        files |= {f"{root}/JPEGImages/{stem}.jpg": b"x", f"{root}/Annotations/{stem}.xml": voc_xml(stem)}
        files[f"{root}/ImageSets/Main/{split}.txt"] = f"{stem}\n".encode()
        files[f"{root}/ImageSets/Main/dog_{split}.txt"] = f"{stem}  1\n".encode()
    return {**files, f"{root}/ImageSets/Main/trainval.txt": b"a\nb\n"}


# http://host.robots.ox.ac.uk/pascal/VOC/: VOCtrainval_06-Nov-2007.tar and its like hold VOCdevkit/VOC2007
@pytest.mark.parametrize("as_tar", [False, True])
@pytest.mark.parametrize("years", [["2007"], ["2007", "2012"]])
def test_pascal_voc_as_downloaded(as_tar, years, tmp_path):
    files = {path: data for year in years for path, data in voc_files(year).items()}
    if as_tar:
        path = tmp_path / "VOCtrainval_06-Nov-2007.tar"
        with tarfile.open(path, "w") as tar:
            for name, data in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    else:
        path = write_tree(tmp_path / "voc", files)
    source = opened(path)
    found = listed(source)
    assert (source.layout, found.problems, len(found.rows)) == ("Pascal VOC", [], 2 * len(years))
    assert set(map(tuple, found.boxes.values())) == {(("dog", 3, 2, 8, 7),)}
    assert sorted(row["split"] for row in found.rows) == ["train"] * len(years) + ["validation"] * len(years)


# https://www.robots.ox.ac.uk/~vgg/data/pets/ and http://vision.stanford.edu/aditya86/ImageNetDogs/: class datasets
# whose XML files have one box of a head or a dog; torchvision and TFDS read their classes.
CLASSES_WITH_XML = {
    "Oxford-IIIT Pets": ["annotations/list.txt", "annotations/xmls/Abyssinian_1.xml", "images/Abyssinian_1.jpg"],
    "Stanford Dogs": [
        "Annotation/n02085620-Chihuahua/n02085620_10074",
        "Images/n02085620-Chihuahua/n02085620_10074.jpg",
    ],
    "ImageNet": ["ILSVRC/Annotations/CLS-LOC/val/a.xml", "ILSVRC/Data/CLS-LOC/val/a.JPEG"],
}


@pytest.mark.parametrize("paths", CLASSES_WITH_XML.values(), ids=CLASSES_WITH_XML.keys())
def test_class_datasets_with_xml_are_not_taken_for_detection(paths, tmp_path):
    folder = open_folder(str(write_tree(tmp_path / "s", {path: voc_xml("Abyssinian_1") for path in paths})))
    assert not is_voc(folder)
    assert not is_coco(folder)


# Exports: each tool's own names of files and folders
ROBOFLOW_COCO = {"train/_annotations.coco.json": coco_2017("train"), "README.roboflow.txt": b""}
EXPORTS = {
    "Roboflow COCO": ({**ROBOFLOW_COCO, "train/000000000009.jpg": b"x", "train/000000000025.jpg": b"x"}, "COCO"),
    "Roboflow VOC": ({"train/a.jpg": b"x", "train/a.xml": voc_xml("a"), "README.roboflow.txt": b""}, "Pascal VOC"),
    "Roboflow YOLO": (
        {
            "data.yaml": b"train: ../train/images\nval: ../valid/images\nnc: 1\nnames: ['cat']\n",
            "train/images/a.jpg": b"x",
            "train/labels/a.txt": b"0 .5 .5 .1 .1",
            "valid/images/b.jpg": b"x",
            "valid/labels/b.txt": b"0 .5 .5 .1 .1",
        },
        "YOLO",
    ),
    "CVAT COCO 1.0": (
        {
            "annotations/instances_default.json": coco_2017("default"),
            "images/default/000000000009.jpg": b"x",
            "images/default/000000000025.jpg": b"x",
        },
        "COCO",
    ),
    "CVAT Pascal VOC 1.1": (
        {
            "JPEGImages/a.jpg": b"x",
            "Annotations/a.xml": voc_xml("a"),
            "ImageSets/Main/default.txt": b"a\n",
            "labelmap.txt": b"# label:color_rgb:parts:actions\ndog:::\n",
        },
        "Pascal VOC",
    ),
    "Label Studio YOLO": (
        {
            "classes.txt": b"cat\n",
            "notes.json": b'{"categories": [{"id": 0, "name": "cat"}]}',
            "images/ab12cd34-a.jpg": b"x",
            "labels/ab12cd34-a.txt": b"0 .5 .5 .1 .1",
        },
        "YOLO",
    ),
    "Label Studio COCO": (
        {
            "result.json": coco_2017("x").replace(b'"0000', b'"images\\\\0000'),
            "images/000000000009.jpg": b"x",
            "images/000000000025.jpg": b"x",
        },
        "COCO",
    ),
    "Label Studio VOC": ({"Annotations/a.xml": voc_xml("a"), "images/a.jpg": b"x"}, "Pascal VOC"),
}


@pytest.mark.parametrize(("files", "layout"), EXPORTS.values(), ids=EXPORTS.keys())
def test_exports_of_labelling_tools_are_read_as_their_format(files, layout, tmp_path):
    source = opened(write_tree(tmp_path / "s", files))
    found = listed(source)
    assert (source.layout, found.problems) == (layout, [])
    assert sum(map(len, found.boxes.values())) > 0
