"""Public folders of lists, boxes and masks, gathered by somebody who had not read the code that reads them."""

import io
import json
import struct

import numpy as np

from shardkit.dataset.tfrecord import frame

from .boxes import coco, some, voc, yolo
from .held_out import rle
from .held_out_boxes import named
from .masks import classes, grey
from .tree import HEIGHT, WIDTH, folder, pixels_of

SPLITS = (("train", "train"), ("val", "validation"), ("test", "test"))


# --- lists
@folder("VireoFood-172: ready_chinese_food of numbers; TR.txt, VAL.txt, TE.txt of /1/1_1.jpg")
def _(tree):
    """vireo.cs.cityu.edu.hk/VireoFood172."""
    lists, ingredients = {"TR": "", "VAL": "", "TE": ""}, ""
    for label in (1, 2, 3):
        for number in range(6):
            part, split = (("TR", "train"), ("VAL", "validation"), ("TE", "test"))[max(0, number - 3)]
            path = f"/{label}/{label}_{number}.jpg"
            tree.image(f"ready_chinese_food{path}", str(label), split)
            lists[part] += f"{path}\n"
            ingredients += f"{path} {' '.join(('1', '-1')[(label + place) % 2] for place in range(6))}\n"
    for name, lines in lists.items():
        tree.text(f"SplitAndIngreLabel/{name}.txt", lines)
    tree.text("SplitAndIngreLabel/IngreLabel.txt", ingredients)
    tree.text("SplitAndIngreLabel/FoodList.txt", "Braised Pork\nSauteed Spicy Pork\nSteam Pork with Rice Powder\n")


@folder(
    "VeRi-776: vehicle and camera in the names, image_train, image_query, image_test, train_label.xml",
    "advised",
)
def _(tree):
    """github.com/JDAI-CV/VeRidataset: vehicles of the test are others; the label is the name's first part."""
    items = ""
    for part, vehicles in (
        ("train", ("0001", "0003", "0004")),
        ("query", ("0002", "0005")),
        ("test", ("0002", "0005")),
    ):
        names = ""
        for vehicle in vehicles:
            for number in range(2):
                name = f"{vehicle}_c00{number + 1}_000{len(tree.truth):02}450_0.jpg"
                tree.image(f"VeRi/image_{part}/{name}", vehicle)
                names += f"{name}\n"
                if part == "train":
                    items += f'<Item imageName="{name}" vehicleID="{vehicle}" cameraID="{name[5:9]}" typeID="4" />\n'
        tree.text(f"VeRi/name_{part}.txt", names)
    items = f'<TrainingImages Version="1.0">\n<Items number="6">\n{items}</Items>\n</TrainingImages>\n'
    tree.text("VeRi/train_label.xml", f'<?xml version="1.0" encoding="gb2312"?>\n{items}')


@folder("PaddleOCR: rec_gt_train.txt and rec_gt_test.txt of paths from a folder above, a tab and the text")
def _(tree):
    """paddlepaddle.github.io/PaddleOCR, text recognition: train_data/rec/train/word_001.jpg and its text."""
    for part, count in (("train", 6), ("test", 3)):
        lines = ""
        for number in range(count):
            text = ("Genaxis Theatre", "[06]", "简单可依赖")[number % 3]
            path = tree.image(f"train_data/rec/{part}/word_00{number}.jpg", text, part)
            lines += f"{path}\t{text}\n"
        tree.text(f"train_data/rec/rec_gt_{part}.txt", lines)


# --- boxes
@folder("face masks: images of maksssksksss0.png and annotations of .xml with three classes")
def _(tree):
    """kaggle.com/datasets/andrewmvd/face-mask-detection."""
    for number in range(6):
        boxes = named(number, "with_mask", "mask_weared_incorrect")
        tree.image(f"images/maksssksksss{number}.png", boxes=boxes)
        tree.text(f"annotations/maksssksksss{number}.xml", voc(f"maksssksksss{number}.png", boxes))


@folder("LVIS: lvis_v1_train.json of coco_url without file_name, some of val in train2017")
def _(tree):
    """detectron2.readthedocs.io/tutorials/builtin_datasets; lvisdataset.org."""
    for part, split, start, count in (("train", "train", 0, 5), ("val", "validation", 5, 4)):
        images = []
        for number in range(start, start + count):
            path = f"{'train' if number == 5 else part}2017/0000000{number:05}.jpg"
            boxes = named(number, "aerosol_can", "alligator")
            tree.image(f"coco/{path}", split=split, boxes=boxes)
            images.append((path, boxes))
        notes = json.loads(coco(images, ("aerosol_can", "alligator")))
        for image in notes["images"]:
            image["coco_url"] = f"http://images.cocodataset.org/{image.pop('file_name')}"
            image |= {"neg_category_ids": [2], "not_exhaustive_category_ids": [], "flickr_url": "", "license": 1}
        for category in notes["categories"]:
            category |= {"synset": f"{category['name']}.n.01", "synonyms": [category["name"]], "frequency": "c"}
        tree.text(f"lvis/lvis_v1_{part}.json", json.dumps(notes))


@folder("Objects365: zhiyuan_objv2_train.json of images/v1/patch8/…, the images in train/patch8")
def _(tree):
    """mmdetection.readthedocs.io, dataset_prepare: data/Objects365/Obj365_v2."""
    for part, split, start, count in (("train", "train", 0, 5), ("val", "validation", 5, 3)):
        images = []
        for number in range(start, start + count):
            version = 1 + number % 2
            below = f"patch{8 * version}/objects365_v{version}_0042091{number}.jpg"
            boxes = named(number, "Person", "Sneakers")
            tree.image(f"Obj365_v2/{part}/{below}", split=split, boxes=boxes)
            images.append((f"images/v{version}/{below}", boxes))
        tree.text(f"Obj365_v2/annotations/zhiyuan_objv2_{part}.json", coco(images, ("Person", "Sneakers")))


@folder("HRSC2016: AllImages of .bmp, Annotations of HRSC_Object with box_xmin, ImageSets of stems")
def _(tree):
    """mmrotate.readthedocs.io, HRSC2016: Class_ID is the class; sysdata.xml has its name."""
    lists = {"train": "", "val": "", "test": ""}
    for number in range(9):
        (part, split), stem = SPLITS[max(0, number // 2 - 2)], f"10000000{number}"
        boxes, objects = named(number, "100000006", "100000013"), ""
        tree.image(f"FullDataSet/AllImages/{stem}.bmp", split=split, boxes=boxes)
        lists[part] += f"{stem}\n"
        for a, b, c, d, label in boxes:
            box = f"<box_xmin>{a}</box_xmin><box_ymin>{b}</box_ymin><box_xmax>{c}</box_xmax><box_ymax>{d}</box_ymax>"
            turned = f"<mbox_cx>{(a + c) / 2}</mbox_cx><mbox_cy>{(b + d) / 2}</mbox_cy><mbox_ang>0.1</mbox_ang>"
            objects += f"<HRSC_Object><Class_ID>{label}</Class_ID><difficult>0</difficult>{box}{turned}</HRSC_Object>"
        size = f"<Img_SizeWidth>{WIDTH}</Img_SizeWidth><Img_SizeHeight>{HEIGHT}</Img_SizeHeight>"
        name = f"<Img_FileName>{stem}</Img_FileName><Img_FileFmt>bmp</Img_FileFmt>"
        objects = f"<HRSC_Image>{name}{size}<HRSC_Objects>{objects}</HRSC_Objects></HRSC_Image>"
        tree.text(f"FullDataSet/Annotations/{stem}.xml", objects)
    for part, lines in lists.items():
        tree.text(f"ImageSets/{part}.txt", lines)


@folder(
    "VinBigData in 512 pixels: boxes in the pixels of the original, whose width and height are columns",
)
def _(tree):
    """kaggle.com/datasets/awsaf49/vinbigdata-512-image-dataset: boxes are to be divided by width and height."""
    rows = "image_id,class_name,class_id,rad_id,x_min,y_min,x_max,y_max,width,height\n"
    for number in range(8):
        stem = f"50a418190bc3fb1ef1633bf967892{number:03}"
        boxes = named(number, "Aortic enlargement", "Cardiomegaly") if number < 6 else ()
        tree.image(f"vinbigdata/train/{stem}.png", split="train", boxes=boxes)
        for a, b, c, d, label in boxes:
            box = f"{a * 100}.0,{b * 100}.0,{c * 100}.0,{d * 100}.0"
            rows += f"{stem},{label},{3 * (label == 'Cardiomegaly')},R9,{box},{WIDTH * 100},{HEIGHT * 100}\n"
        if not boxes:
            rows += f"{stem},No finding,14,R11,,,,,{WIDTH * 100},{HEIGHT * 100}\n"
    tree.text("vinbigdata/train.csv", rows)
    for number in range(2):
        tree.unlearnt(f"vinbigdata/test/8dec5497ecc246766acfba5a4be4e6{number:02}.png")
    tree.text("vinbigdata/test.csv", "image_id,width,height\n8dec5497ecc246766acfba5a4be4e600,2400,2000\n")


@folder("Ultralytics VOC: images/train2012, val2012, train2007, val2007, test2007, and lists of them in VOC.yaml")
def _(tree):
    """docs.ultralytics.com/datasets/detect/voc: val and test are both test2007."""
    for part, count in (("train2012", 4), ("val2012", 2), ("train2007", 3), ("val2007", 2), ("test2007", 3)):
        for _ in range(count):
            number = len(tree.truth)
            stem = f"2008_0000{number:02}" if "2012" in part else f"0000{number:02}"
            split = None if part == "test2007" else "train"
            tree.image(f"VOC/images/{part}/{stem}.jpg", split=split, boxes=named(number, "aeroplane", "bicycle"))
            tree.text(f"VOC/labels/{part}/{stem}.txt", yolo(some(number)))
    trains = "".join(f"  - images/{part}{year}\n" for year in (2012, 2007) for part in ("train", "val"))
    tests = "val:\n  - images/test2007\ntest:\n  - images/test2007\n"
    tree.text("VOC/VOC.yaml", f"path: VOC\ntrain:\n{trains}{tests}\nnames:\n  0: aeroplane\n  1: bicycle\n")


# --- masks
@folder(
    "CVC-ClinicDB: Original and Ground Truth as PNG and again as TIF, metadata.csv of all four",
    "advised",
)
def _(tree):
    """kaggle.com/datasets/balraj98/cvcclinicdb."""
    rows = "frame_id,sequence_id,png_image_path,png_mask_path,tif_image_path,tif_mask_path\n"
    for number in range(1, 7):
        values = classes(number, 2)
        path = tree.image(f"PNG/Original/{number}.png", mask=values)
        tree.drawing(f"PNG/Ground Truth/{number}.png", grey(values))
        tree.drawing(f"TIF/Original/{number}.tif", pixels_of(tree.files[path]))
        tree.drawing(f"TIF/Ground Truth/{number}.tif", grey(values))
        rows += f"{number},{1 + number // 4},{path},PNG/Ground Truth/{number}.png,"
        rows += f"TIF/Original/{number}.tif,TIF/Ground Truth/{number}.tif\n"
    tree.text("metadata.csv", rows)


@folder("ultrasound nerves: train of 1_1.tif and 1_1_mask.tif, run lengths in train_masks.csv, test")
def _(tree):
    """kaggle.com/competitions/ultrasound-nerve-segmentation."""
    rows, sample = "subject,img,pixels\n", "img,pixels\n"
    for subject in (1, 2, 3):
        for number in (1, 2):
            values = classes(subject + number, 2) * np.uint8(number == 1)
            tree.image(f"train/{subject}_{number}.tif", split="train", mask=values)
            tree.drawing(f"train/{subject}_{number}_mask.tif", grey(values))
            rows += f"{subject},{number},{rle(values)}\n"
        tree.unlearnt(f"test/{subject}.tif")
        sample += f"{subject},1 1\n"
    tree.text("train_masks.csv", rows)
    tree.text("sample_submission.csv", sample)


@folder(
    "clothing segmentation: png_images/IMAGES/img_0001.png, png_masks/MASKS/seg_0001.png, both as JPEG too, labels.csv",
    "advised",
)
def _(tree):
    """kaggle.com/datasets/rajkumarl/people-clothing-segmentation: JPEG masks are of no use."""
    for number in range(1, 7):
        values = classes(number)
        tree.image(f"png_images/IMAGES/img_000{number}.png", mask=values)
        tree.drawing(f"png_masks/MASKS/seg_000{number}.png", values)
        tree.unlearnt(f"jpeg_images/IMAGES/img_000{number}.jpeg")
        tree.drawing(f"jpeg_masks/MASKS/seg_000{number}.jpeg", values)
    tree.text("labels.csv", ",label_list\n0,\n1,accessories\n2,bag\n")


@folder("COCO-Stuff: images/train2017 of .jpg, annotations/train2017 of .png, 255 for nothing")
def _(tree):
    """mmsegmentation.readthedocs.io, dataset_prepare: coco_stuff164k."""
    for part, split, start, count in (("train", "train", 0, 4), ("val", "validation", 4, 3)):
        for number in range(start, start + count):
            values = classes(number)
            values[-4:, -4:] = 255
            below = f"{part}2017/00000000{number:04}"
            tree.image(f"coco_stuff164k/images/{below}.jpg", split=split, mask=values)
            tree.drawing(f"coco_stuff164k/annotations/{below}.png", values)


# --- images in other files
def _field(number, data):  # of a protobuf message, below 16 KiB
    low, high = len(data) % 128, len(data) // 128
    return bytes([number << 3 | 2, *([low | 128, high] if high else [low])]) + data


@folder("flowers for TPUs: tfrecords-jpeg-224x224 of train, val and test")
def _(tree):
    """kaggle.com/competitions/flower-classification-with-tpus."""
    for part, split in SPLITS[:2]:
        for number in range(3):
            path = tree.image(f"{part}{number}.jpeg", str(number), split)
            tree.hidden[path] = tree.files.pop(path)
            values = {
                b"image": _field(1, _field(1, tree.hidden[path])),
                b"class": _field(3, _field(1, bytes([number]))),
            }
            features = b"".join(_field(1, _field(1, key) + _field(2, value)) for key, value in values.items())
            name = f"tfrecords-jpeg-224x224/{part}/0{number}-224x224-798.tfrec"
            tree.files[name] = b"".join(frame(_field(1, features)))
    tree.text("sample_submission.csv", "id,label\na762df180,0\n")


@folder("Fashion-MNIST on Kaggle: a label and 784 pixels in each row, and the idx files", "refused")
def _(tree):
    """kaggle.com/datasets/zalando-research/fashionmnist."""
    for part, name in (("train", "train"), ("test", "t10k")):
        rows = "label," + ",".join(f"pixel{number}" for number in range(1, 785)) + "\n"
        for number in range(4):
            rows += f"{number}," + ",".join(str((number * place) % 256) for place in range(784)) + "\n"
        tree.text(f"fashion-mnist_{part}.csv", rows)
        tree.files[f"{name}-images-idx3-ubyte"] = struct.pack(">4I", 2051, 4, 28, 28) + bytes(4 * 784)
        tree.files[f"{name}-labels-idx1-ubyte"] = struct.pack(">2I", 2049, 4) + bytes(range(4))


@folder("a Hugging Face repository: data/train-00000-of-00001.parquet of images and numbers")
def _(tree):
    """huggingface.co/docs/hub/datasets-image: the images are in the tables."""
    import pyarrow as pa
    from pyarrow import parquet

    features = {"image": {"_type": "Image"}, "label": {"names": ["cat", "dog"], "_type": "ClassLabel"}}
    notes = {"huggingface": json.dumps({"info": {"features": features}})}
    for part, split, count in (("train", "train", 4), ("test", "test", 2)):
        records = []
        for number in range(count):
            path = tree.image(f"{part}{number}.jpg", ("cat", "dog")[number % 2], split)
            tree.hidden[path] = tree.files.pop(path)
            records.append({"image": {"bytes": tree.hidden[path], "path": path}, "label": number % 2})
        table = pa.Table.from_pylist(records).replace_schema_metadata(notes)
        out = io.BytesIO()
        parquet.write_table(table, out)
        tree.files[f"data/{part}-00000-of-00001.parquet"] = out.getvalue()
    tree.text("README.md", "---\ndataset_info:\n  features:\n  - name: image\n    dtype: image\n---\n")
    tree.text(".gitattributes", "*.parquet filter=lfs diff=lfs merge=lfs -text\n")
