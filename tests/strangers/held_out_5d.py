"""Masks, exports of programs and people's own disks, gathered by somebody who had not read the code that reads them."""

import json

import numpy as np

from .masks import classes, grey
from .packed import packed, tarred
from .tree import HEIGHT, WIDTH, folder

SPLITS = (("train", "train"), ("val", "validation"), ("test", "test"))


# --- masks
@folder("NuInsSeg: organs with tissue images, mask binary, label masks, distance maps and overlay", "advised")
def _(tree):
    """github.com/masih4/NuInsSeg; kaggle.com/datasets/ipateam/nuinsseg."""
    for organ in ("human bladder", "mouse liver"):
        for number in range(1, 4):
            stem, values = f"{organ.replace(' ', '_')}_0{number}", classes(number, 2)
            tree.image(f"{organ}/tissue images/{stem}.png", mask=values)
            tree.drawing(f"{organ}/mask binary/{stem}.png", grey(values))
            tree.drawing(f"{organ}/label masks/{stem}.tif", (values * classes(number + 20, 9)).astype(np.uint16))
            depth = np.linspace(0, 255, WIDTH).astype(np.uint8)[None].repeat(HEIGHT, 0)
            tree.drawing(f"{organ}/distance maps/{stem}.png", depth * values)
            tree.unlearnt(f"{organ}/overlay/{stem}.png")


@folder("NYU depth: 1.jpg and 1.png of depth in a folder for each scene, tables of pairs", "refused")
def _(tree):
    """kaggle.com/datasets/soumikrakshit/nyu-depth-v2: a depth is no class."""
    slope = np.add.outer(7 * np.arange(HEIGHT), 5 * np.arange(WIDTH)).astype(np.uint8)
    tables = {"train": "", "test": ""}
    for scene in ("basement_0001a_out", "study_0004_out"):
        for number in range(1, 4):
            path = f"data/nyu2_train/{scene}/{number}"
            tree.unlearnt(f"nyu_data/{path}.jpg")
            tree.drawing(f"nyu_data/{path}.png", slope + np.uint8(number))
            tables["train"] += f"{path}.jpg,{path}.png\n"
    for number in range(2):
        path = f"data/nyu2_test/0000{number}"
        tree.unlearnt(f"nyu_data/{path}_colors.png")
        tree.drawing(f"nyu_data/{path}_depth.png", slope[::-1] + np.uint8(number))
        tables["test"] += f"{path}_colors.png,{path}_depth.png\n"
    for part, rows in tables.items():
        tree.text(f"nyu_data/data/nyu2_{part}.csv", rows)


@folder("CVAT's CamVid: default, defaultannot in colours, default.txt of pairs, label_colors.txt")
def _(tree):
    """docs.cvat.ai, CamVid 1.0: a path in default.txt begins with a slash."""
    colours, lines = np.array([[0, 0, 0], [250, 50, 83], [51, 221, 255]], np.uint8), ""
    for number in range(6):
        values = classes(number)
        tree.image(f"default/frame_00000{number}.png", mask=values)
        tree.drawing(f"defaultannot/frame_00000{number}.png", colours[values])
        lines += f"/default/frame_00000{number}.png /defaultannot/frame_00000{number}.png\n"
    tree.text("default.txt", lines)
    tree.text("label_colors.txt", "0 0 0 background\n250 50 83 road\n51 221 255 sky\n")


@folder("QuPath's tiles: slide [x=0,y=0,w=512,h=512].jpg and the same with -labelled.png")
def _(tree):
    """qupath.readthedocs.io, Exporting annotations: labeled images by TileExporter."""
    for slide in ("A12-3456", "A12-3457"):
        for number in range(3):
            stem, values = f"tiles/{slide} [x={512 * number},y=0,w=512,h=512]", classes(number + len(tree.truth))
            tree.image(f"{stem}.jpg", mask=values)
            tree.drawing(f"{stem}-labelled.png", values)


@folder("Label Studio's brush: task-1-annotation-1-by-1-tag-Crack-0.png beside the photographs", "refused")
def _(tree):
    """labelstud.io/guide/export, Brush labels to PNG: the name of the image is only in the JSON, which is not here."""
    for number in range(1, 6):
        tree.unlearnt(f"photos/wall_{number:03}.jpg")
        for tag in ("Crack", "Stain"):
            name = f"task-{40 + number}-annotation-{10 + number}-by-1-tag-{tag}-0.png"
            tree.drawing(f"project-4-at-2024-05-06-10-12-abcdef01/{name}", grey(classes(number, 2)))


@folder("ilastik: img_001.png and img_001_Simple Segmentation.png of labels from 1 on")
def _(tree):
    """ilastik.org/documentation/pixelclassification: export of Simple Segmentation."""
    for number in range(1, 7):
        values = classes(number, 2) + 1
        tree.image(f"img_{number:03}.png", mask=values)
        tree.drawing(f"img_{number:03}_Simple Segmentation.png", values)
    tree.files["MyProject.ilp"] = b"\x89HDF\r\n\x1a\n" + bytes(64)


@folder("Cellpose: 001_img.png, 001_img_cp_masks.png that number the cells, 001_img_seg.npy", "advised")
def _(tree):
    """cellpose.readthedocs.io/en/latest/outputs: 0 is no cell."""
    for number in range(5):
        values = classes(number, 6)
        tree.image(f"{number:03}_img.png", mask=values)
        tree.drawing(f"{number:03}_img_cp_masks.png", values.astype(np.uint16))
        tree.files[f"{number:03}_img_seg.npy"] = b"\x93NUMPY\x01\x00v\x00" + bytes(64)


# --- classes of programs
@folder("WebDataset: train-0000.tar, train-0001.tar and val-0000.tar of 000000.jpg, .cls and .json")
def _(tree):
    """github.com/webdataset/webdataset; huggingface.co/datasets/timm/imagenet-1k-wds."""
    for shard, split, start in (("train-0000", "train", 0), ("train-0001", "train", 4), ("val-0000", "validation", 8)):
        for number in range(start, start + 4):
            tree.image(f"{shard}/{number:06}.jpg", str(number % 3), split)
            tree.text(f"{shard}/{number:06}.cls", str(number % 3))
            notes = {"filename": f"n01440764_{number}.JPEG", "width": WIDTH, "height": HEIGHT, "label": number % 3}
            tree.text(f"{shard}/{number:06}.json", json.dumps(notes))
        tree.files[f"{shard}.tar"] = packed(tree, f"{shard}/", lambda files: tarred(files, "w"), len(shard) + 1)


@folder("Create ML: Training Data and Testing Data of class folders beside the project")
def _(tree):
    """developer.apple.com/documentation/createml/creating-an-image-classifier-model."""
    for part, split, count in (("Training Data", "train", 4), ("Testing Data", "test", 2)):
        for name in ("Cheetah", "Elephant", "Giraffe"):
            tree.images(f"{part}/{name}/{name} {{}}.jpg", count, name, split)
    tree.text("Animals.mlproj/project.json", '{"schema": 1, "type": "imageClassifier"}\n')


@folder("V7's tags: annotations of a name and a tag without a place, in releases/latest")
def _(tree):
    """docs.v7labs.com/reference/darwin-json, version 2.0: {"name": "cat", "tag": {}}."""
    for number in range(8):
        name, label = f"image-{number}.jpg", ("cat", "dog")[number % 2]
        tree.image(f"images/{name}", label)
        size = {"width": WIDTH, "height": HEIGHT, "source_files": [{"file_name": name}]}
        tag = {"id": f"a{number}", "name": label, "tag": {}, "properties": [], "slot_names": ["0"]}
        item = {"name": name, "path": "/", "slots": [{"type": "image", "slot_name": "0"} | size]}
        notes = {"version": "2.0", "schema_ref": "https://darwin-public.s3.eu-west-1.amazonaws.com/darwin_json/2.0"}
        tree.text(
            f"releases/latest/annotations/image-{number}.json", json.dumps(notes | {"item": item, "annotations": [tag]})
        )


@folder("CVAT for images: annotations.xml of a tag for each image, images/")
def _(tree):
    """docs.cvat.ai, CVAT for images 1.1: <tag label="ripe" source="manual">."""
    labels = "".join(f"<label><name>{name}</name><type>tag</type></label>" for name in ("ripe", "unripe"))
    items = ""
    for number in range(8):
        label, name = ("ripe", "unripe")[number % 2], f"fruit_{number}.jpg"
        tree.image(f"images/{name}", label)
        items += f'  <image id="{number}" name="{name}" width="{WIDTH}" height="{HEIGHT}">\n'
        items += f'    <tag label="{label}" source="manual">\n    </tag>\n  </image>\n'
    head = f"<version>1.1</version>\n<meta><job><id>3</id><size>8</size><labels>{labels}</labels></job></meta>\n"
    tree.text(
        "annotations.xml", f'<?xml version="1.0" encoding="utf-8"?>\n<annotations>\n{head}{items}</annotations>\n'
    )


# --- people's own disks
@folder("an office's scanner: folders of kinds of letters, a PDF beside some pictures", "advised")
def _(tree):
    """Scans of a German office, sorted by hand."""
    for name in ("Angebote", "Lieferscheine", "Rechnungen"):
        for number in range(1, 5):
            tree.image(f"Scans/{name}/Scan_20240506 ({number}).jpg", name)
        tree.files[f"Scans/{name}/Scan_20240507.pdf"] = b"%PDF-1.4\n"


@folder("an intern's folders: ok_batch1, ok_batch2, crack_batch1, crack_batch2")
def _(tree):
    """Each week another folder; a batch is no kind of part."""
    for name in ("crack", "ok"):
        for batch in (1, 2, 3):
            tree.images(f"parts/{name}_batch{batch}/IMG_{batch}{{}}.jpg", 3, name)


@folder("two labellers: anna/ok, anna/defect, ben/ok, ben/defect", "advised")
def _(tree):
    """Each had half of the photographs."""
    for person, start in (("anna", 0), ("ben", 4)):
        for place, name in enumerate(("defect", "ok")):
            for number in range(start, start + 4):
                tree.image(f"labelled/{person}/{name}/{2 * number + place:04}.jpg", name)


@folder("a webcam's script: train and val without folders, ok_… and crack_… in the names", "advised")
def _(tree):
    """cv2.imwrite(f"{part}/{label}_{time}.png", frame)."""
    for part, split, count in (("train", "train", 4), ("val", "validation", 2)):
        for name in ("crack", "ok"):
            tree.images(f"{part}/{name}_2024-05-06_10-1{{}}-{len(part)}2.png", count, name, split)


@folder("Russian: Обучение, Проверка, Тест")
def _(tree):
    """Training, check, test."""
    for part, split, count in (("Обучение", "train", 4), ("Проверка", "validation", 2), ("Тест", "test", 2)):
        for name in ("Кошки", "Собаки"):
            tree.images(f"Животные/{part}/{name}/фото {{}}.jpg", count, name, split)


@folder("Korean: 학습, 검증, 테스트")
def _(tree):
    """Training, validation, test; Mac and Windows write the syllables whole here."""
    for part, split, count in (("학습", "train", 4), ("검증", "validation", 2), ("테스트", "test", 2)):
        for name in ("고양이", "개"):
            tree.images(f"{part}/{name}/사진_{{}}.jpg", count, name, split)


@folder("dataset_v1 and dataset_v2 of the same classes: the second has the first and more", "advised")
def _(tree):
    """A folder was copied before more was put into it; the newer one is what is used."""
    for name in ("nok", "ok"):
        for number, path in enumerate(tree.images(f"dataset_v2/{name}/img_{{:03}}.png", 5, name)):
            if number < 3:
                tree.files[path.replace("_v2", "_v1")] = tree.files[path]


@folder("a microscope's days: 2024-05-06/alive, 2024-05-06/dead, 2024-05-07/alive, one day without dead")
def _(tree):
    """A day for each session; its number is in no name."""
    for day in ("2024-05-06", "2024-05-07", "2024-05-08"):
        for place, name in enumerate(("alive", "dead")):
            if (day, name) != ("2024-05-08", "dead"):  # a well is in one of the two
                tree.images(f"microscope/{day}/{name}/well_{place}{{}}.tif", 3, name)


@folder("bing-image-downloader: dataset/red panda/Image_1.jpg, one of them is a page of HTML")
def _(tree):
    """github.com/gurugaurav/bing_image_downloader: of a hundred of each, some sites answer with a page."""
    for name in ("brown bear", "red panda"):
        for number, ending in enumerate(("jpg", "png", "jpeg", "webp") * 3, 1):
            tree.image(f"dataset/{name}/Image_{number}.{ending}", name)
    tree.text(
        "dataset/red panda/Image_13.jpg", "<!DOCTYPE html>\n<html><head><title>403 Forbidden</title></head></html>\n"
    )


@folder("an iPhone's photographs: class folders of .HEIC", "refused")
def _(tree):
    """AirDrop copies HEIC as it is; the files here are only the beginnings of such files."""
    for name in ("front door", "garden"):
        for number in range(1, 4):
            tree.files[f"Photos/{name}/IMG_{number}.HEIC"] = (
                b"\x00\x00\x00\x24ftypheic\x00\x00\x00\x00mif1heic" + bytes(32)
            )


@folder("views of each part: good/part_0001/top.jpg and side.jpg, scratched/part_0003/…")
def _(tree):
    """A folder for each part, below what was found."""
    for place, name in enumerate(("good", "scratched", "bent")):
        for part in range(3):
            for view in ("side", "top"):
                tree.image(f"inspection/{name}/part_{10 * place + part:04}/{view}.jpg", name)


@folder("a Japanese table in Shift-JIS: ファイル名,分類")
def _(tree):
    """Excel on a Japanese Windows saves CSV in cp932."""
    rows = "ファイル名,分類,備考\n"
    for number in range(8):
        name = ("良品", "不良品")[number % 2]
        tree.image(f"画像/部品{number:03}.jpg", name)
        rows += f"部品{number:03}.jpg,{name},{'再検査' if number == 3 else ''}\n"
    tree.text("検査結果.csv", rows, "cp932")


@folder("Excel's Unicode text: UTF-16 with tabs beside the photographs")
def _(tree):
    """Save as, Unicode Text (*.txt)."""
    rows = "Image\tType of café\r\n"
    for number in range(8):
        name = ("bistro", "brûlerie")[number % 2]
        tree.image(f"photos/café {number}.jpg", name)
        rows += f"café {number}.jpg\t{name}\r\n"
    tree.text("Cafés.txt", rows, "utf-16")


@folder("Caffe's lists: train.txt and val.txt of paths with blanks and a number")
def _(tree):
    """caffe's convert_imageset: the label is what follows the last blank."""
    for part, split, start, count in (("train", "train", 0, 8), ("val", "validation", 8, 4)):
        lines = ""
        for number in range(start, start + count):
            path = tree.image(f"images/my photo {number}.jpg", str(number % 2), split)
            lines += f"{path} {number % 2}\n"
        tree.text(f"{part}.txt", lines)
