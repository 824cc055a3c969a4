"""Images with masks, as they are distributed."""

import numpy as np
from PIL import Image

from .tree import HEIGHT, WIDTH, folder


def classes(seed, count=3):
    """Class numbers in large patches, [HEIGHT, WIDTH]."""
    coarse = np.random.default_rng(seed).integers(0, count, (HEIGHT // 4, WIDTH // 4), np.uint8)
    coarse[0, : min(count, coarse.shape[1])] = range(min(count, coarse.shape[1]))
    return coarse.repeat(4, 0).repeat(4, 1)


def grey(values):
    """A mask of 0 and 1 as 0 and 255."""
    return (values * 255).astype(np.uint8)


def coloured(values):
    """A mask of 0 and 1 as black and white in colour."""
    return np.dstack([grey(values)] * 3)


@folder("images/ and masks/, class numbers")
def _(tree):
    for number in range(6):
        values = classes(number)
        tree.image(f"images/{number}.jpg", mask=values)
        tree.drawing(f"masks/{number}.png", values)


@folder("Kvasir-SEG: images/ and masks/, both JPEG, and a file of boxes")
def _(tree):
    for number in range(6):
        values = classes(number, 2)
        tree.image(f"Kvasir-SEG/images/cju0qkwl{number}.jpg", mask=values)
        tree.drawing(f"Kvasir-SEG/masks/cju0qkwl{number}.jpg", coloured(values), quality=95)
    tree.text("Kvasir-SEG/kavsir_bboxes.json", '{"cju0qkwl0": {"height": 20, "width": 24, "bbox": []}}')


@folder("Carvana: train/ and train_masks/*_mask.gif, test/ without")
def _(tree):
    for number in range(6):
        values = classes(number, 2)
        tree.image(f"train/00087a6bd4dc_{number:02}.jpg", split="train", mask=values)
        tree.drawing(f"train_masks/00087a6bd4dc_{number:02}_mask.gif", grey(values))
    for number in range(2):
        tree.unlearnt(f"test/0004d4463b50_{number:02}.jpg")
    tree.text("train_masks.csv", "img,rle_mask\n00087a6bd4dc_00.jpg,1 2\n")
    tree.text("metadata.csv", "id,year,make\n00087a6bd4dc,2009,BMW\n")


@folder("COVID-19 radiography: each class with images/ and masks/", "advised")
def _(tree):
    for name in ("COVID", "Normal"):
        for number in range(1, 5):
            tree.image(f"COVID-19_Radiography_Dataset/{name}/images/{name}-{number}.png", name)
            tree.drawing(f"COVID-19_Radiography_Dataset/{name}/masks/{name}-{number}.png", coloured(classes(number, 2)))
        rows = "".join(f"{name}-{number},PNG,256*256,x\n" for number in range(1, 5))
        tree.text(f"COVID-19_Radiography_Dataset/{name}.metadata.csv", "FILE NAME,FORMAT,SIZE,URL\n" + rows)


@folder("MMSegmentation: img_dir and ann_dir with train and val")
def _(tree):
    for split, own in (("train", "train"), ("val", "validation")):
        for number in range(4 if split == "train" else 2):
            values = classes(number + 10 * (split == "val"))
            tree.image(f"data/img_dir/{split}/{split}{number}.jpg", split=own, mask=values)
            tree.drawing(f"data/ann_dir/{split}/{split}{number}.png", values)


@folder("nnU-Net with natural images: imagesTr, labelsTr, imagesTs")
def _(tree):
    for number in range(4):
        values = classes(number)
        tree.image(f"Dataset120/imagesTr/img-{number}_0000.png", split="train", mask=values)
        tree.drawing(f"Dataset120/labelsTr/img-{number}.png", values)
    for number in range(90, 92):
        tree.unlearnt(f"Dataset120/imagesTs/img-{number}_0000.png")
    tree.text("Dataset120/dataset.json", '{"channel_names": {"0": "R"}, "labels": {"background": 0, "a": 1, "b": 2}}')


@folder("DSB2018: a folder for each image with images/ and masks/ of instances", "refused")
def _(tree):
    for number in range(4):
        name = f"{number:08x}abcd"
        tree.image(f"stage1_train/{name}/images/{name}.png")
        for instance in range(3):
            tree.drawing(f"stage1_train/{name}/masks/{name}{instance}.png", grey(classes(instance, 2)))


@folder("Penn-Fudan: PNGImages/ and PedMasks/*_mask.png with instances as numbers")
def _(tree):
    for number in range(1, 5):
        values = classes(number, 3)
        tree.image(f"PennFudanPed/PNGImages/FudanPed{number:05}.png", mask=values)
        tree.drawing(f"PennFudanPed/PedMasks/FudanPed{number:05}_mask.png", values)
        tree.text(
            f"PennFudanPed/Annotation/FudanPed{number:05}.txt", "# Compatible with PASCAL Annotation Version 1.00\n"
        )
    tree.text("PennFudanPed/readme.txt", "Penn-Fudan\n")


@folder("DeepGlobe roads: *_sat.jpg and *_mask.png in one folder, a metadata.csv")
def _(tree):
    rows = "image_id,split,sat_image_path,mask_path\n"
    for number in range(100, 106):
        values = classes(number, 2)
        tree.image(f"train/{number}_sat.jpg", split="train", mask=values)
        tree.drawing(f"train/{number}_mask.png", coloured(values))
        rows += f"{number},train,train/{number}_sat.jpg,train/{number}_mask.png\n"
    for number in range(200, 202):
        tree.unlearnt(f"test/{number}_sat.jpg")
        rows += f"{number},test,test/{number}_sat.jpg,\n"
    tree.text("metadata.csv", rows)


@folder("image and label: 0 and 255")
def _(tree):
    for split, own in (("train", "train"), ("test", "test")):
        for number in range(4 if split == "train" else 2):
            values = classes(number + 10 * (split == "test"), 2)
            tree.image(f"{split}/image/{split}{number}.png", split=own, mask=values)
            tree.drawing(f"{split}/label/{split}{number}.png", grey(values))


@folder("CamVid: pictures and *_L.png in colours with a table of them", "right")
def _(tree):
    colours = np.array([[64, 128, 64], [192, 0, 128], [0, 128, 192]], np.uint8)
    for split, own in (("train", "train"), ("val", "validation")):
        for number in range(4 if split == "train" else 2):
            values = classes(number + 10 * (split == "val"))
            tree.image(f"CamVid/{split}/0001TP_{split}{number}.png", split=own, mask=values)
            tree.drawing(f"CamVid/{split}_labels/0001TP_{split}{number}_L.png", colours[values])
    rows = "name,r,g,b\nAnimal,64,128,64\nArchway,192,0,128\nBicyclist,0,128,192\n"
    tree.text("CamVid/class_dict.csv", rows)


@folder("masks in colours in train/ and test/, each with its class_dict.csv")
def _(tree):
    colours = np.array([[64, 128, 64], [192, 0, 128], [0, 128, 192]], np.uint8)
    for split in ("train", "test"):
        for number in range(3):
            values = classes(number + 10 * (split == "test"))
            tree.image(f"{split}/images/{number}.png", split=split, mask=values)
            tree.drawing(f"{split}/masks/{number}.png", colours[values])
        tree.text(f"{split}/class_dict.csv", "name,r,g,b\nAnimal,64,128,64\nArchway,192,0,128\nBicyclist,0,128,192\n")


@folder("GlaS and MoNuSeg like: img_1.bmp and img_1_anno.bmp in one folder", "right")
def _(tree):
    for number in range(1, 6):
        values = classes(number, 3)
        tree.image(f"Warwick/train_{number}.bmp", mask=values)
        tree.drawing(f"Warwick/train_{number}_anno.bmp", values)


@folder("BSDS-like originals and gt: img/ and gt/ with *_gt.png")
def _(tree):
    for number in range(1, 6):
        values = classes(number, 2)
        tree.image(f"img/{number:03}.jpg", mask=values)
        tree.drawing(f"gt/{number:03}_gt.png", grey(values))


@folder("DUTS: DUTS-TR/DUTS-TR-Image and DUTS-TR-Mask, the same of TE")
def _(tree):
    for part, own in (("TR", "train"), ("TE", "test")):
        for number in range(4 if part == "TR" else 2):
            values = classes(number + 10 * (part == "TE"), 2)
            tree.image(f"DUTS/DUTS-{part}/DUTS-{part}-Image/{part}_{number:05}.jpg", split=own, mask=values)
            tree.drawing(f"DUTS/DUTS-{part}/DUTS-{part}-Mask/{part}_{number:05}.png", grey(values))


@folder("salt: train/images and train/masks, depths.csv and train.csv of run lengths")
def _(tree):
    rows = "id,rle_mask\n"
    for number in range(6):
        values = classes(number, 2)
        tree.image(f"train/images/{number:010x}.png", split="train", mask=values)
        tree.drawing(f"train/masks/{number:010x}.png", (values.astype(int) * 65535).astype(np.uint16))
        rows += f"{number:010x},1 2\n"
    for number in range(90, 92):
        tree.unlearnt(f"test/images/{number:010x}.png")
    tree.text("train.csv", rows)
    tree.text("depths.csv", "id,z\n" + "".join(f"{n:010x},{n}\n" for n in range(6)))


@folder("Cityscapes: leftImg8bit and gtFine with three kinds of drawings")
def _(tree):
    for split, own in (("train", "train"), ("val", "validation")):
        for number in range(3):
            values = classes(number + 10 * (split == "val"))
            stem = f"{split}/aachen/aachen_{number:06}_000019"
            tree.image(f"leftImg8bit/{stem}_leftImg8bit.png", split=own, mask=values)
            tree.drawing(f"gtFine/{stem}_gtFine_labelTrainIds.png", values)
            tree.drawing(f"gtFine/{stem}_gtFine_labelIds.png", values + 7)
            tree.drawing(f"gtFine/{stem}_gtFine_color.png", np.dstack([values * 40] * 3))
            tree.text(f"gtFine/{stem}_gtFine_polygons.json", "{}")


@folder("faces with depth maps: rgb/ and depth/, which are no masks", "refused")
def _(tree):
    for number in range(4):
        tree.image(f"rgb/{number:04}.png")
        depth = np.random.default_rng(number).integers(0, 65535, (HEIGHT, WIDTH)).astype(np.uint16)
        tree.drawing(f"depth/{number:04}.png", depth)


@folder("Supervisely person: original and mask with names of other endings")
def _(tree):
    for number in range(5):
        values = classes(number, 2)
        tree.image(f"people/original/pexels-photo-{number}.jpeg", mask=values)
        tree.drawing(f"people/mask/pexels-photo-{number}.png", grey(values))


@folder("super-resolution pairs: HR/ and LR/", "refused")
def _(tree):
    for number in range(4):
        coarse = Image.fromarray(np.random.default_rng(number).integers(0, 256, (5, 6, 3), np.uint8))
        tree.drawing(f"HR/{number:04}.png", coarse.resize((WIDTH, HEIGHT)))
        tree.drawing(f"LR/{number:04}x4.png", coarse)


@folder("VOC segmentation: JPEGImages, SegmentationClass, ImageSets/Segmentation")
def _(tree):
    lists = {"train": "", "val": ""}
    for number in range(6):
        own = "train" if number < 4 else "val"
        values = classes(number)
        tree.image(f"VOC2012/JPEGImages/2007_{number:06}.jpg", split={"val": "validation"}.get(own, own), mask=values)
        tree.drawing(f"VOC2012/SegmentationClass/2007_{number:06}.png", values)
        lists[own] += f"2007_{number:06}\n"
    for own, text in lists.items():
        tree.text(f"VOC2012/ImageSets/Segmentation/{own}.txt", text)


@folder("ADE20K challenge: images and annotations by split")
def _(tree):
    for split, own in (("training", "train"), ("validation", "validation")):
        for number in range(4 if split == "training" else 2):
            values = classes(number + 10 * (split == "validation"))
            name = f"ADE_{split[:3]}_{number:08}"
            tree.image(f"ADEChallengeData2016/images/{split}/{name}.jpg", split=own, mask=values)
            tree.drawing(f"ADEChallengeData2016/annotations/{split}/{name}.png", values)
    tree.text("ADEChallengeData2016/objectInfo150.txt", "Idx\tRatio\tTrain\tVal\tStuff\tName\n1\t0.1\t1\t1\t1\twall\n")


@folder("aerial tiles: tiles/ and their masks in masks/tiles, noisy JPEG", "right")
def _(tree):
    for number in range(5):
        values = classes(number, 2)
        tree.image(f"aerial/images/tile_{number}.jpg", mask=values)
        tree.drawing(f"aerial/gt/tile_{number}.jpg", coloured(values), quality=80)
