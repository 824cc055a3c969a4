"""What cameras, scripts and clouds leave on disks, gathered by somebody who had not read the code that reads it."""

import io
import sqlite3

from .packed import packed, zipped
from .tree import folder

SPLITS = (("train", "train"), ("val", "validation"), ("test", "test"))
PETS = ("cat", "dog")


@folder("a camera's DCIM and labels.xlsx: a title above the header, a sheet for each month")
def _(tree):
    """Two months of a repair shop's photographs, labelled by hand in Excel."""
    from openpyxl import Workbook

    book = Workbook()
    for place, month in enumerate(("January", "February")):
        sheet = book.create_sheet(month) if place else book.active
        sheet.title = month
        sheet.append([f"Inspection {month} 2024"])
        sheet.append([])
        sheet.append(["Photo", "Finding", "Remarks"])
        for number in range(4):
            finding = ("ok", "crack", "rust")[(number + place) % 3]
            tree.image(f"DCIM/10{place}CANON/IMG_{place}00{number}.JPG", finding)
            sheet.append([f"IMG_{place}00{number}", finding, "see invoice" if number == 2 else None])
    out = io.BytesIO()
    book.save(out)
    tree.files["labels.xlsx"] = out.getvalue()


@folder("split-folders: its output in train, val and test beside the input")
def _(tree):
    """github.com/jfilter/split-folders: splitfolders.ratio("shoes", output="output"), which copies."""
    for name in ("boot", "sandal", "sneaker"):
        for number in range(5):
            part, split = SPLITS[max(0, number - 2)]
            path = tree.image(f"output/{part}/{name}/{name}{number}.jpg", name, split)
            tree.files[f"shoes/{name}/{name}{number}.jpg"] = tree.files[path]


@folder(
    "Timelapse: File and RelativePath with backslashes, the same names at each station, its databases",
)
def _(tree):
    """timelapse.ucalgary.ca: the CSV of all data; a .tdb and a .ddb are SQLite."""
    rows = "File,RelativePath,DateTime,DeleteFlag,Species,Count\n"
    for place, station in enumerate(("StationA", "StationB")):
        for number in range(1, 5):
            species = ("deer", "fox", "empty")[(number + place) % 3]
            tree.image(f"{station}/Check1/IMG_000{number}.JPG", species)
            rows += f"IMG_000{number}.JPG,{station}\\Check1,2024-03-0{number} 06:10:12,false,{species},1\n"
    tree.text("TimelapseData.csv", rows)
    with sqlite3.connect(":memory:") as database:
        database.execute("create table DataTable (Id integer, File text, RelativePath text, Species text)")
        tree.files["TimelapseData.ddb"] = tree.files["TimelapseTemplate.tdb"] = database.serialize()


@folder("two people's labels: two rows for each image, which differ for two images", "refused")
def _(tree):
    """Nobody knows the label of the two images; the table says who said what."""
    rows = "image,annotator,label\n"
    for number in range(8):
        name, other = PETS[number % 2], PETS[(number + (number > 5)) % 2]
        path = f"images/{number:04}.jpg"
        tree.image(path, name) if name == other else tree.unlearnt(path)
        rows += f"{number:04}.jpg,anna,{name}\n{number:04}.jpg,ben,{other}\n"
    tree.text("labels.csv", rows)


@folder("google_images_download: downloads/<words> and downloads/<words> - thumbnail", "advised")
def _(tree):
    """google-images-download.readthedocs.io: --thumbnail keeps a small picture of each."""
    for name in ("golden retriever", "siamese cat"):
        for number in range(1, 5):
            tree.image(f"downloads/{name}/{number}. 640px-{number}.jpg", name)
            tree.unlearnt(f"downloads/{name} - thumbnail/{number}. 640px-{number}.jpg")


@folder("a clone without Git LFS: texts of three lines with the names of images", "refused")
def _(tree):
    """github.com/git-lfs/git-lfs, docs/spec.md: git lfs pull gets the images."""
    for name in PETS:
        for number in range(3):
            pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{number:064x}\nsize {12345 + number}\n"
            tree.text(f"data/{name}/{number}.jpg", pointer)
    tree.text(".gitattributes", "*.jpg filter=lfs diff=lfs merge=lfs -text\n")
    tree.text("README.md", "# Pets\n")


@folder("OneDrive's zip: class folders, a Word document and Thumbs.db in a wrapper")
def _(tree):
    """support.microsoft.com: a folder that is downloaded is OneDrive_1_ and the date."""
    for name in ("Good parts", "Bad parts"):
        tree.images(f"zip/Line 3/{name}/Photo {{}}.jpeg", 4, name)
        tree.text(f"zip/Line 3/{name}/Thumbs.db", "\xd0\xcf\x11\xe0", "latin-1")
    tree.text("zip/Line 3/How we take photos.docx", "PK\x03\x04")
    tree.files["OneDrive_1_5-6-2024.zip"] = packed(tree, "zip/", zipped, len("zip/"))


@folder("a microscope's plates: A01_s1_w1.TIF, and platemap.csv of compounds by well", "refused")
def _(tree):
    """bbbc.broadinstitute.org's plates: a table of wells names no image, and w1 and w2 are channels of one."""
    rows = "Plate,Well,Compound,Concentration\n"
    for plate in ("Plate1", "Plate2"):
        for place, well in enumerate(("A01", "A02", "B01")):
            for channel in (1, 2):
                tree.image(f"{plate}/{well}_s1_w{channel}.TIF", ("DMSO", "taxol")[place % 2])
            rows += f"{plate},{well},{('DMSO', 'taxol')[place % 2]},{0.1 * place:.1f}\n"
    tree.text("platemap.csv", rows)
