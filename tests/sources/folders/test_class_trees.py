import re
import time

import pytest

from shardkit.errors import CallError, DataError
from shardkit.sources.opening import open_source
from shardkit.sources.recognising.folders.class_folders import ClassFolders
from shardkit.sources.recognising.folders.class_tree import read_tree
from shardkit.sources.recognising.folders.split_folders import splits_of
from shardkit.storage import Entry, WrappedFolder, open_folder
from shardkit.testing import upload, write_tree
from shardkit.testing.refusals import command_text

from .tree_sources import KINDS, commands_in, made, read

CLASS_FOLDERS, SPLITS, NAMES = "class folders", "split and class folders", "file names"
DOGS = [f"{word}.{i}.jpg" for word in ("cat", "dog") for i in range(2)]
VERDICTS = ["OK-20230101-0815.bmp", "NG-20230101-0816.bmp", "OK-20230101-0817.bmp"]

# The paths of a source; its layout, (split, label) by key, and what is skipped.
READ = {
    "words next to the split": (
        ["Train_set/cat/1.jpg", "Train_set/dog/2.jpg", "Test_set/cat/3.jpg"],
        SPLITS,
        {
            "Train_set/cat/1.jpg": ("train", "cat"),
            "Train_set/dog/2.jpg": ("train", "dog"),
            "Test_set/cat/3.jpg": ("test", "cat"),
        },
        {},
    ),
    "folders of a network disk": (
        ["cat/1.jpg", "cat/@eaDir/1.jpg/SYNOPHOTO_THUMB_XL.jpg", "dog/2.jpg", "#recycle/3.jpg", "$RECYCLE.BIN/4.jpg"],
        "class folders",
        {"cat/1.jpg": (None, "cat"), "dog/2.jpg": (None, "dog")},
        {},
    ),
    "a split in a folder of the same split": (
        ["train/training_split/cat/1.jpg", "train/training_split/dog/2.jpg", "test/cat/3.jpg"],
        SPLITS,
        {
            "train/training_split/cat/1.jpg": ("train", "cat"),
            "train/training_split/dog/2.jpg": ("train", "dog"),
            "test/cat/3.jpg": ("test", "cat"),
        },
        {},
    ),
    "one split": (
        ["training_data/cat/1.jpg", "training_data/dog/2.jpg"],
        SPLITS,
        {"training_data/cat/1.jpg": ("train", "cat"), "training_data/dog/2.jpg": ("train", "dog")},
        {},
    ),
    "an unlabelled folder beside splits": (
        ["train/cat/1.jpg", "train/dog/1.jpg", "test/cat/2.jpg", "predict/3.jpg", "predict/deep/4.jpg"],
        SPLITS,
        {
            "train/cat/1.jpg": ("train", "cat"),
            "train/dog/1.jpg": ("train", "dog"),
            "test/cat/2.jpg": ("test", "cat"),
        },
        {"excluded by /predict/": 2},
    ),
    # https://www.kaggle.com/datasets/puneet6060/intel-image-classification
    "Intel images": (
        ["seg_train/seg_train/sea/1.jpg", "seg_test/seg_test/sea/2.jpg", "seg_pred/seg_pred/3.jpg"],
        SPLITS,
        {"seg_train/seg_train/sea/1.jpg": ("train", "sea"), "seg_test/seg_test/sea/2.jpg": ("test", "sea")},
        {"excluded by /seg_pred/": 1},
    ),
    "samples of each material": (
        [f"{name}/sample_{sample}/{name}.jpg" for name in ("cork", "wool") for sample in "ab"],
        CLASS_FOLDERS,
        {f"{name}/sample_{sample}/{name}.jpg": (None, name) for name in ("cork", "wool") for sample in "ab"},
        {},
    ),
    "folders around classes": (
        ["a/b/c/cat/1.jpg", "a/b/c/dog/2.jpg", "a/README.md"],
        CLASS_FOLDERS,
        {"cat/1.jpg": (None, "cat"), "dog/2.jpg": (None, "dog")},
        {},
    ),
    "a folder around splits": (
        ["dataset/train/cat/1.jpg", "dataset/train/dog/1.jpg", "dataset/valid/cat/2.jpg"],
        SPLITS,
        {
            "train/cat/1.jpg": ("train", "cat"),
            "train/dog/1.jpg": ("train", "dog"),
            "valid/cat/2.jpg": ("validation", "cat"),
        },
        {},
    ),
    "a folder of images around classes": (
        ["images/cat/1.jpg", "images/dog/2.jpg"],
        CLASS_FOLDERS,
        {"cat/1.jpg": (None, "cat"), "dog/2.jpg": (None, "dog")},
        {},
    ),
    # https://www.kaggle.com/competitions/imagenet-object-localization-challenge/data, without annotations
    "ImageNet's pictures": (
        [f"ILSVRC/Data/CLS-LOC/{path}.JPEG" for path in ("train/n01/1", "train/n02/2", "val/3", "test/4")],
        SPLITS,
        {"train/n01/1.JPEG": ("train", "n01"), "train/n02/2.JPEG": ("train", "n02")},
        {"excluded by /val/": 1, "excluded by /test/": 1},
    ),
    "classes whose names begin like splits": (
        ["train_station/1.jpg", "test_tube/2.jpg", "trainers/3.jpg", "bus/4.jpg"],
        CLASS_FOLDERS,
        {
            "train_station/1.jpg": (None, "train_station"),
            "test_tube/2.jpg": (None, "test_tube"),
            "trainers/3.jpg": (None, "trainers"),
            "bus/4.jpg": (None, "bus"),
        },
        {},
    ),
    "a class called train": (
        ["train/1.jpg", "bus/2.jpg", "car/3.jpg"],
        CLASS_FOLDERS,
        {"train/1.jpg": (None, "train"), "bus/2.jpg": (None, "bus"), "car/3.jpg": (None, "car")},
        {},
    ),
    "test images of a stage": (
        ["train/cat/1.jpg", "train/dog/2.jpg", "test_stg1/3.jpg"],
        SPLITS,
        {"train/cat/1.jpg": ("train", "cat"), "train/dog/2.jpg": ("train", "dog")},
        {"excluded by /test_stg1/": 1},
    ),
    "test images without labels": (
        ["train/cat/1.jpg", "train/dog/2.jpg", "test/3.jpg"],
        SPLITS,
        {"train/cat/1.jpg": ("train", "cat"), "train/dog/2.jpg": ("train", "dog")},
        {"excluded by /test/": 1},
    ),
    "test images in a folder for Keras": (
        ["train/cat/1.jpg", "train/dog/2.jpg", "test/unknown/3.jpg"],
        SPLITS,
        {"train/cat/1.jpg": ("train", "cat"), "train/dog/2.jpg": ("train", "dog")},
        {"excluded by /test/unknown/": 1},
    ),
    # https://cs.stanford.edu/~acoates/stl10/, as PNG files
    "STL-10": (
        ["train_images/a/1.png", "train_images/b/1.png", "test_images/a/1.png", "unlabeled_images/1.png"],
        SPLITS,
        {
            "train_images/a/1.png": ("train", "a"),
            "train_images/b/1.png": ("train", "b"),
            "test_images/a/1.png": ("test", "a"),
        },
        {"excluded by /unlabeled_images/": 1},
    ),
    "a folder without images beside splits": (
        ["train/cat/1.jpg", "train/dog/2.jpg", "docs/readme.txt"],
        SPLITS,
        {"train/cat/1.jpg": ("train", "cat"), "train/dog/2.jpg": ("train", "dog")},
        {".txt": 1},
    ),
    "splits in classes": (
        ["cat/train/1.jpg", "cat/test/2.jpg", "dog/train/3.jpg", "dog/test/4.jpg"],
        SPLITS,
        {
            "cat/train/1.jpg": ("train", "cat"),
            "cat/test/2.jpg": ("test", "cat"),
            "dog/train/3.jpg": ("train", "dog"),
            "dog/test/4.jpg": ("test", "dog"),
        },
        {},
    ),
    "data in a project": (
        ["data/cat/1.jpg", "data/dog/2.jpg", "docs/figure.png"],
        CLASS_FOLDERS,
        {"cat/1.jpg": (None, "cat"), "dog/2.jpg": (None, "dog")},
        {},
    ),
    "charts next to classes": (
        ["cat/1.jpg", "cat/2.jpg", "dog/3.jpg", "confusion.png", "loss.png"],
        CLASS_FOLDERS,
        {"cat/1.jpg": (None, "cat"), "cat/2.jpg": (None, "cat"), "dog/3.jpg": (None, "dog")},
        {"ignored by /confusion.png": 1, "ignored by /loss.png": 1},
    ),
    # https://www.kaggle.com/datasets/andradaolteanu/gtzan-dataset-music-genre-classification
    "sounds next to their spectra": (
        [
            f"{above}/{name}/1.{kind}"
            for above, kind in (("images", "png"), ("sounds", "wav"))
            for name in ("jazz", "pop")
        ],
        CLASS_FOLDERS,
        {"jazz/1.png": (None, "jazz"), "pop/1.png": (None, "pop")},
        {},
    ),
    "splits in a folder called train": (
        ["train/train/cat/1.jpg", "train/test/cat/2.jpg"],
        SPLITS,
        {"train/cat/1.jpg": ("train", "cat"), "test/cat/2.jpg": ("test", "cat")},
        {},
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("files", "layout", "wanted", "skipped"), READ.values(), ids=READ.keys())
def test_a_tree_is_read_as_its_owner_means_it(files, layout, wanted, skipped, kind, tmp_path):
    found = read(made(tmp_path, kind, files))
    assert found == (layout, wanted, {}, skipped)


UNLABELLED, FORCED = "SOURCE OUT --unlabelled", "SOURCE OUT --layout class-folders"
# The paths of a source, what the refusal says about it, and its commands.
REFUSED = {
    "images without labels": (["1.jpg", "2.jpg"], "only images such as 1.jpg and 2.jpg", [UNLABELLED]),
    "numbered photographs": (["IMG.1.jpg", "IMG.2.jpg", "DSC.1.jpg", "DSC.2.jpg"], "DSC.1.jpg", [UNLABELLED]),
    "one class": (["cats/1.jpg", "cats/2.jpg"], "in cats/", [UNLABELLED, FORCED]),
    "one class with folders": (["cats/1.jpg", "cats/more/2.jpg"], "in cats/", [UNLABELLED, FORCED]),
    "splits without labels": (["train/1.jpg", "test/2.jpg"], "in test/ and train/", [UNLABELLED]),
    "images beside one class": (
        ["1.jpg", "cats/2.jpg"],
        "only images such as 1.jpg and 2.jpg in the top folder and cats/",
        [UNLABELLED],
    ),
    "splits in a split, and other images": (
        ["train/train/cat/1.jpg", "train/train/dog/2.jpg", "train/test/cat/3.jpg", "predict/4.jpg"],
        "train/ itself contains split folders: test/, train/",
        [],
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("files", "sentence", "commands"), REFUSED.values(), ids=REFUSED.keys())
def test_what_can_be_read_in_two_ways_is_refused_with_the_commands(files, sentence, commands, kind, tmp_path):
    url = made(tmp_path, kind, files)
    with pytest.raises(CallError, match=re.escape(sentence)) as caught:
        open_source(url)
    assert commands_in(command_text(caught.value).replace(url, "SOURCE")) == commands


OF_NESTED = "".join(f'{{"file_name": "img/{n}.jpg", "meta": {{"label": "cat"}}}}\n' for n in range(4))
UNREAD = {
    "a text for each image": {f"img/{n}.txt": "cat" for n in range(4)},
    "a table of nested fields": {"ann.jsonl": OF_NESTED},
    "a JSON file of another form": {"ann.json": '{"a": {"b": [' + ",".join(OF_NESTED.splitlines()) + "]}}"},
}


@pytest.mark.parametrize("files", UNREAD.values(), ids=UNREAD)
def test_a_file_that_names_the_images_and_is_not_read_is_said(files, tmp_path):
    images = {f"img/{n}.jpg": b"x" for n in range(4)}
    url = str(write_tree(tmp_path, images | files))
    with pytest.raises(CallError, match=r"(names 4 of 4 images by|has the name of an image).*, in a form .* not read"):
        open_source(url)


@pytest.mark.parametrize(
    "names",
    [
        ("class1", "class2"),
        ("type_1", "type_2"),
        ("c0", "c1"),
        ("stage1", "stage2"),
        ("cat", "cat small"),  # with other images
        ("cat", "cat wild", "dog", "dog wild"),
    ],
)
def test_numbered_classes_and_classes_of_classes_are_read(names, tmp_path):
    files = {f"{name}/{i}{name.count('small')}.jpg": b"x" for name in names for i in range(3)}
    assert {label for _, label in read(made(tmp_path, "folder", files))[1].values()} == {*names}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("files", "labels"),
    [
        (["cats/1.jpg", "cats/more/2.jpg"], {"cats"}),
        (["train/1.jpg", "test/2.jpg"], {"train", "test"}),
        (["part1/cat/1.jpg", "part2/cat/2.jpg"], {"part1", "part2"}),
        (["cat/1.jpg", "unlabelled/2.jpg"], {"cat", "unlabelled"}),
        (["flowers/rose/1.jpg", "flowers/tulip/2.jpg"], {"flowers"}),
    ],
)
def test_forced_class_folders_are_what_the_command_says(files, labels, kind, tmp_path):
    layout, good, bad, _ = read(made(tmp_path, kind, files), layout="class-folders")
    if kind == "zip" and labels == {"flowers"}:  # the only top folder of an archive is no class
        labels = {"rose", "tulip"}
    assert (layout, {label for _, label in good.values()}, bad) == (CLASS_FOLDERS, labels, {})


def test_an_object_store_is_read_the_same(s3_bucket):
    paths = ["data/Train_set/cat/1.jpg", "data/Train_set/dog/2.jpg", "data/Test_set/cat/3.jpg", "data/predict/4.jpg"]
    upload(f"{s3_bucket}/source", [*paths, "data/extra/5.jpg", "data/Train_set/cat/6.webp"])
    layout, good, bad, skipped = read(f"{s3_bucket}/source", ignore=("/data/extra", "*.webp"))
    assert (layout, bad) == (SPLITS, {})
    assert good == {
        "Train_set/cat/1.jpg": ("train", "cat"),
        "Train_set/dog/2.jpg": ("train", "dog"),
        "Test_set/cat/3.jpg": ("test", "cat"),
    }
    assert skipped == {
        "excluded by /predict/": 1,
        "ignored by /data/extra": 1,
        "ignored by *.webp": 1,
    }


def test_a_tree_without_images_is_refused(tmp_path):
    (tmp_path / "source").mkdir()
    with pytest.raises(DataError, match="no images found, "):
        open_source(str(tmp_path / "source"))


def test_pictures_in_other_formats_count_as_rejected_among_labelled_images(tmp_path):
    files = ["cat/1.jpg", "cat/2.CR2", "dog/3.mp4", "dog/4.heic", "dog/5.svg", "dog/Thumbs.db", "dog/a.txt", "a.pdf"]
    _, good, bad, skipped = read(made(tmp_path, "folder", files))
    assert good.keys() == {"cat/1.jpg", "dog/4.heic"}
    assert bad == dict.fromkeys(("cat/2.CR2", "dog/5.svg"), "unsupported_format")
    assert skipped == {".mp4": 1, ".txt": 1, ".pdf": 1}


def test_videos_are_skipped_next_to_as_many_images_and_rejected_next_to_fewer(tmp_path):
    files = ["cat/0.mp4", "cat/1.jpg", "cat/2.jpg", "cat/old/3.avi", "dog/1.jpg", "dog/2.MP4", "dog/3.mp4", "fox/1.mov"]
    _, good, bad, skipped = read(made(tmp_path, "folder", files))
    assert good.keys() == {"cat/1.jpg", "cat/2.jpg", "dog/1.jpg"}
    assert bad == dict.fromkeys(("dog/2.MP4", "dog/3.mp4", "fox/1.mov"), "unsupported_format")
    assert skipped == {".avi": 1, ".mp4": 1}


def test_files_that_an_image_was_made_from_are_counted(tmp_path):
    files = ["cat/1.CR2", "cat/1.jpg", "cat/1.psd", "cat/10.CR2", "cat/2.jpg", "dog/3.MOV", "dog/3.heic", "dog/3.pdf"]
    _, good, bad, skipped = read(made(tmp_path, "folder", [*files, "cat/1.gpx"]))  # which is between the first two
    assert skipped.pop(".gpx") == 1
    assert good.keys() == {"cat/1.jpg", "cat/2.jpg", "dog/3.heic"}
    assert bad == {"cat/10.CR2": "unsupported_format"}
    assert sum(skipped.values()) == 4
    assert all("of the same name as an image" in kind for kind in skipped)


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (["Train", "VAL"], {"Train": "train", "VAL": "validation"}),
        (["trainset", "valset"], {"trainset": "train", "valset": "validation"}),
        (["TrainSet_224x224", "Val-224"], {"TrainSet_224x224": "train", "Val-224": "validation"}),
        (["cars_train", "cars_test"], {"cars_train": "train", "cars_test": "test"}),
        (["cars_train", "dogs_test"], {}),  # they differ by more than the split
        (["cars_train"], {}),
        (["box_train", "box_test", "query"], {"box_train": "train", "box_test": "test", "query": "test"}),
        (["train", "train_station"], {"train": "train"}),
        (["train_test"], {}),  # two splits
        (["constrain", "contest", "valley"], {}),  # words in words
        (
            ["Trainingsdaten", "Validierungsdaten", "Testdaten"],
            {"Trainingsdaten": "train", "Validierungsdaten": "validation", "Testdaten": "test"},
        ),
        (["apprentissage", "essai"], {"apprentissage": "train", "essai": "test"}),
        (["Stadtbilder", "Testament"], {}),
    ],
)
def test_names_mean_splits_by_their_words_and_by_the_names_beside_them(names, wanted):
    assert splits_of(names) == wanted


class ManyClasses(WrappedFolder):
    """A folder of 20,000 classes of an image, which is nowhere on the disk."""

    def scan(self, path=""):
        if path:
            return [Entry("1.jpg", is_folder=False, num_bytes=1, mtime_ns=1)]
        return [Entry(f"class_{i:05}", is_folder=True, num_bytes=0, mtime_ns=1) for i in range(20_000)]

    def stat(self, path):
        return Entry(path, is_folder=True, num_bytes=0, mtime_ns=1) if "/" not in path else None


def test_the_time_to_recognise_classes_grows_with_their_number_and_not_with_its_square():
    started = time.process_time()
    found = read_tree(ManyClasses(open_folder("nowhere")), None, "nowhere")
    assert isinstance(found, ClassFolders)
    assert time.process_time() - started < 4  # 0.3 s; the square took 12 s
