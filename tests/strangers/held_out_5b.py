"""Tables and lists of labels, gathered by somebody who had not read the code that reads them."""

import io
import json

from .packed import zipped
from .tree import folder

SPLITS = (("train", "train"), ("val", "validation"), ("test", "test"))


def workbook(tree, path, *rows):
    """An Excel file of one sheet."""
    from openpyxl import Workbook

    book = Workbook()
    for row in rows:
        book.active.append(row)
    out = io.BytesIO()
    book.save(out)
    tree.files[path] = out.getvalue()


# --- public tables
@folder(
    "Messidor-2: a wrapper twice, id_code with endings in another case, three columns of grades",
    "advised",
)
def _(tree):
    """kaggle.com/datasets/mariaherrerot/messidor2preprocess: four images have no row; .JPG is .jpg on the disk."""
    rows = "id_code,diagnosis,adjudicated_dme,adjudicated_gradable\n"
    for number in range(9):
        stem, ending = (f"IM00480{number}", "JPG") if number > 5 else (f"20051020_4380{number}_0100_PP", "png")
        path = f"messidor-2/messidor-2/preprocess/{stem}.{ending.lower()}"
        if number == 4:
            tree.unlearnt(path)
            continue
        tree.image(path, str(number % 4))
        rows += f"{stem}.{ending},{number % 4},{number // 3 % 2},1\n"
    tree.text("messidor_data.csv", rows)


@folder("Human Protein Atlas: four images of one colour for each Id, Target of numbers", "refused")
def _(tree):
    """kaggle.com/competitions/human-protein-atlas-image-classification: the sample is the four together."""
    rows, sample = "Id,Target\n", "Id,Predicted\n"
    for number in range(6):
        part = ("train", "test")[number > 3]
        stem = f"00070df0-bbc3-11e8-b2bc-ac1f6b6435d{number}"
        for colour in ("blue", "green", "red", "yellow"):
            tree.unlearnt(f"{part}/{stem}_{colour}.png")
        rows += f"{stem},{('16 0', '7 1 2 0', '5', '1')[number % 4]}\n" if part == "train" else ""
        sample += f"{stem},0\n" if part == "test" else ""
    tree.text("train.csv", rows)
    tree.text("sample_submission.csv", sample)


@folder("leaf classification: images of train and test in one folder, a species and many features in train.csv")
def _(tree):
    """kaggle.com/competitions/leaf-classification: test.csv has the features without species."""
    features = [f"{kind}{number}" for kind in ("margin", "shape", "texture") for number in range(1, 5)]
    names = ("Acer_Opalus", "Quercus_Rubra", "Tilia_Tomentosa")
    rows, test = f"id,species,{','.join(features)}\n", f"id,{','.join(features)}\n"
    sample = f"id,{','.join(names)}\n"
    for number in range(1, 14):
        values = ",".join(f"0.0{number * place % 97:02}25" for place in range(1, 13))
        if number % 4:
            tree.image(f"images/{number}.jpg", names[number % 3], "train")
            rows += f"{number},{names[number % 3]},{values}\n"
        else:
            tree.unlearnt(f"images/{number}.jpg")
            test += f"{number},{values}\n"
            sample += f"{number},0.0101,0.0101,0.0101\n"
    for name, content in (("train", rows), ("test", test), ("sample_submission", sample)):
        tree.text(f"{name}.csv", content)


@folder(
    "VehicleID: train_list.txt and test_list_800.txt of stems and vehicles, attributes of the vehicles",
    "advised",
)
def _(tree):
    """pkuml.org/resources/pku-vehicleid: img2vid.txt has all images; the vehicles of the test are others."""
    below, lists, every = "VehicleID_V1.0", {"train_list": "", "test_list_800": ""}, ""
    for number in range(12):
        name, split = ("train_list", "train") if number < 8 else ("test_list_800", "test")
        vehicle = str(8 + number // 4)
        tree.image(f"{below}/image/00008{number:02}.jpg", vehicle, split)
        lists[name] += f"00008{number:02} {vehicle}\n"
        every += f"00008{number:02} {vehicle}\n"
    for name, lines in lists.items():
        tree.text(f"{below}/train_test_split/{name}.txt", lines)
    tree.text(f"{below}/attribute/img2vid.txt", every)
    tree.text(f"{below}/attribute/color_attr.txt", "8 2\n9 0\n10 6\n")
    tree.text(f"{below}/attribute/model_attr.txt", "8 83\n9 1\n10 107\n")


@folder("Yelp's photos: photos.json of lines with photo_id, caption and label")
def _(tree):
    """yelp.com/dataset: yelp_photos.tar; many captions are empty."""
    lines = ""
    for number in range(10):
        label = ("food", "drink", "inside", "outside", "menu")[number % 5]
        stem = f"zsvj7vloL4L5jhYyPIu{number}Rg"
        tree.image(f"photos/{stem}.jpg", label)
        caption = "" if number % 3 else f"Nice rock artwork, number {number}!"
        row = {"photo_id": stem, "business_id": f"Nk-SJhPlDBkAZvfsADt{number}w", "caption": caption}
        lines += json.dumps(row | {"label": label}) + "\n"
    tree.text("photos.json", lines)
    tree.files["Dataset_User_Agreement.pdf"] = b"%PDF-1.4\n"


@folder("MAMe: data_256, MAMe_dataset.csv of Image file, Medium, Museum and Subset, MAMe_labels.csv", "advised")
def _(tree):
    """hpai.bsc.es/MAMe-dataset; names of museums are no labels."""
    names = ("Albumen photograph", "Bronze", "Hand-colored etching")
    rows = "Image file,Medium,Museum,Museum-based instance ID,Subset,Width,Height,Product size,Aspect ratio\n"
    for number in range(12):
        part, split = SPLITS[max(0, number // 3 - 1)]
        tree.image(f"data_256/4365{number:02}.jpg", names[number % 3], split)
        museum = ("Met", "Cleveland", "LACMA")[number % 2]
        rows += f"4365{number:02}.jpg,{names[number % 3]},{museum},{4365 + number},{part},3144,3768,11846592,0.8344\n"
    tree.text("MAMe_metadata/MAMe_dataset.csv", rows)
    tree.text("MAMe_metadata/MAMe_labels.csv", "".join(f"{number},{name}\n" for number, name in enumerate(names)))


@folder("Hotel-ID: train_images by chain, train.csv of image, chain, hotel_id and timestamp", "advised")
def _(tree):
    """kaggle.com/competitions/hotel-id-2021-fgvc8: sample_submission.csv asks for hotel_id."""
    rows, sample = "image,chain,hotel_id,timestamp\n", "image,hotel_id\n"
    for number in range(12):
        name, chain, hotel = f"d020405{number:02}b0a0e.jpg", number // 6 * 4, 22408 + number // 3
        tree.image(f"train_images/{chain}/{name}", str(hotel), "train")
        rows += f"{name},{chain},{hotel},2017-06-24 16:5{number % 6}:15\n"
    for number in range(3):
        tree.unlearnt(f"test_images/99e91ad5f287{number}.jpg")
        sample += f"99e91ad5f287{number}.jpg,36363 53586\n"
    tree.text("train.csv", rows)
    tree.text("sample_submission.csv", sample)


@folder("sorghum: train_cultivar_mapping.csv with a row of .DS_Store, train_images and test")
def _(tree):
    """kaggle.com/competitions/sorghum-id-fgvc-9."""
    rows, sample = "image,cultivar\n", "filename,cultivar\n"
    for number in range(9):
        name, cultivar = f"2017-06-16__12-24-20-93{number}.png", ("PI_257599", "PI_154987", "PI_92270")[number % 3]
        tree.image(f"train_images/{name}", cultivar, "train")
        rows += f"{name},{cultivar}\n" + (".DS_Store,\n" if number == 4 else "")
    for number in range(3):
        tree.unlearnt(f"test/155159{number}21.png")
        sample += f"155159{number}21.png,PI_257599\n"
    tree.text("train_cultivar_mapping.csv", rows)
    tree.text("sample_submission.csv", sample)


@folder(
    "iWildCam 2019: train.csv of category_id, file_name, location, seq_id and more, train_images",
    "advised",
)
def _(tree):
    """kaggle.com/competitions/iwildcam-2019-fgvc6."""
    head = "date_captured,file_name,frame_num,id,location,rights_holder,seq_id,seq_num_frames,width,height\n"
    rows, test, sample = f"category_id,{head}", head, "Id,Predicted\n"
    for number in range(13):
        stem = f"5998cfa4-23d2-11e8-a6a3-ec086b02610{number:x}"
        row = f"2011-05-13 23:43:1{number % 10},{stem}.jpg,{1 + number % 3},{stem},{33 + number // 7},Justin Brown,"
        row += f"6f084ccc-5567-11e8-bc84-dca9047ef27{number // 3},3,1024,747\n"
        if number < 9:
            tree.image(f"train_images/{stem}.jpg", ("0", "13", "19")[number % 3], "train")
            rows += f"{('0', '13', '19')[number % 3]},{row}"
        else:
            tree.unlearnt(f"test_images/{stem}.jpg")
            test += row
            sample += f"{stem},0\n"
    for name, content in (("train", rows), ("test", test), ("sample_submission", sample)):
        tree.text(f"{name}.csv", content)


@folder("diabetic retinopathy resized: resized_train and resized_train_cropped twice each, a table of each", "advised")
def _(tree):
    """kaggle.com/datasets/tanlikesmath/diabetic-retinopathy-resized: a few of the cropped ones are missing."""
    rows, cropped = "image,level\n", ",Unnamed: 0,image,level\n"
    for number in range(10):
        stem, level = f"{10 + number // 2}_{('left', 'right')[number % 2]}", number // 2 % 4
        tree.unlearnt(f"resized_train/resized_train/{stem}.jpeg")
        rows += f"{stem},{level}\n"
        if number != 6:
            tree.image(f"resized_train_cropped/resized_train_cropped/{stem}.jpeg", str(level))
            cropped += f"{number},{number},{stem},{level}\n"
    tree.text("trainLabels.csv", rows)
    tree.text("trainLabels_cropped.csv", cropped)


@folder("invasive species: train/1.jpg and test/1.jpg, train_labels.csv of numbers for train only")
def _(tree):
    """kaggle.com/competitions/invasive-species-monitoring."""
    rows = "name,invasive\n"
    for number in range(1, 9):
        tree.image(f"train/{number}.jpg", str(number % 2), "train")
        rows += f"{number},{number % 2}\n"
    for number in range(1, 5):
        tree.unlearnt(f"test/{number}.jpg")
    tree.text("train_labels.csv", rows)
    tree.text("sample_submission.csv", "name,invasive\n" + "".join(f"{number},0.5\n" for number in range(1, 5)))


@folder("aerial cactus: train/train and test/test, train.csv of id and has_cactus, a sample submission of 0.5")
def _(tree):
    """kaggle.com/competitions/aerial-cactus-identification."""
    rows, sample = "id,has_cactus\n", "id,has_cactus\n"
    for number in range(8):
        name = f"0004be2cfeaba1c0361d39e2b000257{number}.jpg"
        tree.image(f"train/train/{name}", str(number % 3 and 1), "train")
        rows += f"{name},{number % 3 and 1}\n"
    for number in range(3):
        tree.unlearnt(f"test/test/000940378805c44108d287872b2f04c{number}.jpg")
        sample += f"000940378805c44108d287872b2f04c{number}.jpg,0.5\n"
    tree.text("train.csv", rows)
    tree.text("sample_submission.csv", sample)


# --- labelling tools
@folder("Label Studio's JSON_MIN: choice and /data/local-files/?d=photos/IMG_0001.jpg")
def _(tree):
    """labelstud.io/guide/export, JSON_MIN of a classification; labelstud.io/guide/storage, local files."""
    tasks = []
    for number in range(1, 9):
        choice = ("Ripe", "Unripe")[number % 2]
        path = tree.image(f"photos/IMG_000{number}.jpg", choice)
        task = {"image": f"/data/local-files/?d={path}", "id": number, "choice": choice, "annotator": 1}
        times = dict.fromkeys(("created_at", "updated_at"), "2024-05-06T10:11:12.013412Z")
        tasks.append(task | {"annotation_id": 100 + number} | times | {"lead_time": 3.5 + number})
    tree.text("project-3-at-2024-05-06-10-12-abcdef01.json", json.dumps(tasks))


@folder("ML.NET's tutorial: images with tags.tsv and test-tags.tsv without headers, a model of Inception")
def _(tree):
    """github.com/dotnet/samples, machine-learning/tutorials/TransferLearningTF; toaster3.jpg is for a prediction."""
    lists = {"tags": "", "test-tags": ""}
    for number, name in enumerate(("broccoli", "pizza", "teddy2", "toaster", "canoe", "cat", "teddy3", "pizza2")):
        label = "toy" if "teddy" in name else "appliance" if name == "toaster" else "food"
        part = "test-tags" if number > 5 else "tags"
        tree.image(f"assets/images/{name}.jpg", label, "test" if number > 5 else None)
        lists[part] += f"{name}.jpg\t{label}\n"
    tree.unlearnt("assets/images/toaster3.jpg")
    tree.text("assets/images/wikimedia.md", "# Attributions\n- broccoli.jpg: By Jonathunder\n")
    for part, lines in lists.items():
        tree.text(f"assets/images/{part}.tsv", lines)
    tree.files["assets/inception/tensorflow_inception_graph.pb"] = b"\x0a\x1b" + bytes(32)
    tree.text("assets/inception/imagenet_comp_graph_label_strings.txt", "dummy\nkit fox\nEnglish setter\n")
    tree.text("assets/inception/LICENSE", "Apache License\n")


@folder("Prodigy: JSON lines of image, options, accept and answer; some are ignored", "advised")
def _(tree):
    """prodi.gy/docs/api-interfaces#choice: db-out of an image task."""
    options, lines = [{"id": "CAT", "text": "cat"}, {"id": "DOG", "text": "dog"}], ""
    for number in range(9):
        name, answer = ("CAT", "DOG")[number % 2], "ignore" if number == 4 else "accept"
        path = f"images/{number:03}.jpg"
        tree.image(path, name) if answer == "accept" else tree.unlearnt(path)
        row = {"image": path, "_input_hash": 170 + number, "_task_hash": -92 - number, "options": options}
        row |= {"_session_id": None, "_view_id": "choice", "accept": [name] if answer == "accept" else []}
        lines += json.dumps(row | {"config": {"choice_style": "single"}, "answer": answer}) + "\n"
    tree.text("annotations.jsonl", lines)


# --- people's own tables
@folder(
    "a drone's 100MEDIA and 101MEDIA of the same names, an Excel table of folder, photo, crop",
    "advised",
)
def _(tree):
    """Flights over fields: the camera begins with DJI_0001.JPG in each folder."""
    rows = [("Folder", "Photo", "Crop", "Height (m)")]
    for part in ("100MEDIA", "101MEDIA"):
        for number in range(1, 6):
            crop = ("maize", "wheat", "fallow")[(number + len(rows)) % 3]
            tree.image(f"DCIM/{part}/DJI_000{number}.JPG", crop)
            rows.append((part, f"DJI_000{number}.JPG", crop, 80 + number))
    workbook(tree, "crops.xlsx", *rows)


@folder(
    "a shop: several photographs of an article, whose names begin with its SKU, products.xlsx",
    "advised",
)
def _(tree):
    """4711-2.jpg shows the article 4711; the category is what a shop asks for."""
    rows = [("SKU", "Name", "Category", "Price")]
    for place, name in enumerate(("Blue mug", "Red mug", "Oak table", "Pine table")):
        category = ("Kitchen", "Furniture")[place // 2]
        for number in range(1, 4):
            tree.image(f"photos/471{place}-{number}.jpg", category)
        rows.append((4710 + place, name, category, 9.9 + place))
    workbook(tree, "products.xlsx", *rows)


@folder("a half-finished table: the label of the last rows is empty", "advised")
def _(tree):
    """Somebody has labelled two thirds of the photographs so far."""
    rows = "file;label;who\n"
    for number in range(12):
        name, done = f"part_{number:03}.jpg", number < 8
        tree.image(f"photos/{name}", ("ok", "scratch")[number % 2]) if done else tree.unlearnt(f"photos/{name}")
        rows += f"{name};{('ok', 'scratch')[number % 2]};mk\n" if done else f"{name};;\n"
    tree.text("labels.csv", rows)


@folder("LibreOffice: labels.ods beside the photographs")
def _(tree):
    """OpenDocument 1.2, a table of two columns."""
    rows = [("photo", "species")]
    for number in range(8):
        name = ("oak", "beech")[number % 2]
        tree.image(f"photos/tree{number}.jpg", name)
        rows.append((f"tree{number}.jpg", name))
    cell = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    body = "".join(f"<table:table-row>{''.join(map(cell.format, row))}</table:table-row>" for row in rows)
    names = "urn:oasis:names:tc:opendocument:xmlns:"
    spaces = "".join(f' xmlns:{name}="{names}{name}:1.0"' for name in ("office", "table", "text"))
    content = f'<?xml version="1.0" encoding="UTF-8"?><office:document-content{spaces} office:version="1.2">'
    content += f'<office:body><office:spreadsheet><table:table table:name="Sheet1">{body}</table:table>'
    content += "</office:spreadsheet></office:body></office:document-content>"
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    entry = '<manifest:file-entry manifest:full-path="{}" manifest:media-type="{}"/>'
    manifest = f'<manifest:manifest xmlns:manifest="{names}manifest:1.0">{entry.format("/", kind)}'
    manifest += f"{entry.format('content.xml', 'text/xml')}</manifest:manifest>"
    files = {"mimetype": kind, "content.xml": content, "META-INF/manifest.xml": manifest}
    tree.files["labels.ods"] = zipped({name: text.encode() for name, text in files.items()})
