"""What a refusal offers at the command line: every command runs as it is printed, and says what it costs."""

import shlex
import shutil

import pytest

import shardkit
from shardkit.errors import CallError
from shardkit.storage.remote import RemoteFolder
from shardkit.testing import picture, write_tree

from ..sources.folders.test_class_trees import REFUSED as TREES
from ..sources.tables.test_found_columns import NUM, image
from ..sources.tables.test_found_columns import REFUSED as TABLES
from .calling import call

# No command leaves out a folder of annotations, or reads these as the user means them: files have to be moved.
IF_NONE = "if it holds no labels"
TO_ARRANGE = ("give the folders of a class one name", "divide the images of every class", "_annotations.csv in train/")
ENDINGS = (".jpg", ".JPG", ".png", ".gif", ".bmp")
# name: the files of a source, and the path of SOURCE in it
SOURCES = {
    **{f"a tree: {name}": (dict.fromkeys(files), "") for name, (files, *_) in TREES.items()},
    **{
        f"a table: {name}": ({"labels.csv": content, **dict.fromkeys(map(image, range(NUM)))}, "labels.csv")
        for name, (content, *_) in TABLES.items()
    },
}


PARTS = [(i, c, j) for i, num in (("anna", 3), ("ben", 5)) for c in ("cat", "dog") for j in range(num)]


def written(root, files):
    """Write these files; those without content are pictures, all different."""
    contents = {
        path: picture(number) if text is None and path.endswith(ENDINGS) else text or ""
        for number, (path, text) in enumerate(files.items())
    }
    return write_tree(root, contents)


def commands(stderr):
    """The words of the commands that a refusal printed, without the program."""
    lines = [line for line in stderr.splitlines() if line.startswith("  shardkit ")]
    return [shlex.split(line, comments=True)[1:] for line in lines]


@pytest.mark.parametrize("name", SOURCES)
def test_every_command_of_a_refusal_runs(name, tmp_path):
    files, source = SOURCES[name]
    root = written(tmp_path / "my source", files)
    result = call("plan", root / source, "--seed", "2")
    assert result.exit_code == 2, result.output
    printed = commands(result.stderr)
    assert printed or any(words in result.stderr for words in (IF_NONE, *TO_ARRANGE)), result.stderr
    for command in printed:
        again = call(*command)
        assert again.exit_code == 0, (command, again.stderr)


@pytest.mark.parametrize("name", SOURCES)
def test_every_call_of_a_refusal_in_python_runs(name, tmp_path, monkeypatch):
    files, source = SOURCES[name]
    monkeypatch.chdir(written(tmp_path, {f"s/{path}": text for path, text in files.items()}))
    with pytest.raises(CallError) as refused:
        shardkit.plan(f"s/{source}" if source else "s", shards=shardkit.Shards(1), stored=shardkit.Stored(resize=8))
    ways = [line.partition("  #")[0].strip() for line in str(refused.value).splitlines() if line.startswith("  ")]
    assert ways or any(words in str(refused.value) for words in (IF_NONE, *TO_ARRANGE))
    for way in ways:
        moved = way.startswith("'")
        call_text = f"plan({way})" if moved else f"plan({f's/{source}' if source else 's'!r}, {way})"
        plan = eval(call_text, {name: getattr(shardkit, name) for name in shardkit.__all__})  # noqa: S307 - what a user would type
        assert plan.num_examples > 0, way


@pytest.fixture
def no_more(monkeypatch):
    """Without the readings of any tree that are offered after what a refusal itself offers."""
    monkeypatch.setattr("shardkit.sources.opening.with_offers", lambda error, _: error)


NO_CLASSES = {  # what would become classes, if each folder was one
    "one folder around everything": (["photos/1.jpg", "photos/2.jpg"], ["--unlabelled"]),
    "splits": (["train/1.jpg", "test/2.jpg"], ["--unlabelled"]),
    "numbered parts": (["Plate1/1.jpg", "Plate2/2.jpg"], ["--unlabelled", "--label path:0"]),
    "days": (["2019/1.jpg", "2020/2.jpg"], ["--unlabelled"]),
    "a copy with other files": (["cat/1.jpg", "cat (1)/2.jpg", "dog/3.jpg"], ["--ignore '/cat (1)/'"]),
    "thumbnails": (["cat/1.jpg", "cat - thumbnail/1.jpg", "dog/2.jpg"], ["--ignore '/cat - thumbnail/'"]),
    "tiles next to slides": (
        ["set_tiles_images/tumour/1.jpg", "set_tiles_images/stroma/2.jpg", "set_larger_images/3.jpg"],
        [""],
    ),
    "raw images and what was made of them": (
        [f"{part}/{c}/{c}{i}.jpg" for part in ("processed", "raw") for c in ("cat", "dog") for i in range(2)],
        ["", ""],
    ),
}


UNREAD = {  # files of labels next to images
    "a JSON for each image": {f"a/labels/{i}.json": '{"objects": [{"box": [1, 2, 3]}]}' for i in (0, 1)},
    "a text for each image": {f"a/labels/gt_{i}.txt": "1,2,9,9,5,5,cat" for i in (0, 1)},
    "a table without a header": {"a/labels/boxes.csv": "0.jpg,1,2,9,9\n1.jpg,1,2,9,9\n"},
    "a JSON of unknown form": {"a/labels/boxes.json": '{"v": {"x": ["0.jpg", 1], "y": ["1.jpg", 2]}}'},
}


def test_advice_for_local_images_asks_no_store(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(RemoteFolder, "stat", lambda folder, path: asked.append(f"{folder.url}/{path}"))
    rows = "".join(f"gs://our-bucket/{i}.jpg,{'cat' if i % 2 else 'dog'}\n" for i in range(4))
    files = {"labels.csv": f"image,label\n{rows}", **dict.fromkeys(f"photos/{i}.jpg" for i in range(4))}
    refused = call("plan", written(tmp_path, files) / "labels.csv")
    assert [command[2] for command in commands(refused.stderr)] == ["--path-prefix", "--root"], refused.stderr
    assert not asked


def test_folders_of_splits_are_not_offered_as_classes(tmp_path):
    files = [f"ISIC_{part}_Data/{i}.jpg" for part in ("Train", "Test") for i in range(2)]
    refused = call("plan", written(tmp_path, dict.fromkeys(files)))
    assert [command[2:] for command in commands(refused.stderr)] == [["--unlabelled"]]


@pytest.mark.parametrize("name", UNREAD)
def test_no_change_reads_images_without_the_files_of_their_labels(name, tmp_path):
    root = written(tmp_path, {**dict.fromkeys(["a/photos/0.jpg", "a/photos/1.jpg"]), **UNREAD[name]})
    refused = call("plan", root)
    assert refused.exit_code == 2
    assert not commands(refused.stderr), refused.stderr
    # Without them, the images are offered, and what the user forces is a finding.
    assert commands(call("plan", root, "--ignore", "/a/labels/").stderr)
    forced = call("plan", root, "--unlabelled")
    assert next(iter(UNREAD[name])) in forced.stderr + forced.stdout


@pytest.mark.usefixtures("no_more")
def test_no_change_reads_images_without_a_table_that_names_none_of_them(tmp_path):
    wells = "Well,Compound\nA01,DMSO\nA02,taxol\n"
    files = {"map.csv": wells, **dict.fromkeys(f"Plate{i}/A0{j}_s1_w{i}.png" for i in (1, 2) for j in (1, 2))}
    root = written(tmp_path, files)
    refused = call("plan", root)
    offered = [command[2:] for command in commands(refused.stderr)]
    assert offered, refused.stderr
    assert not any("--unlabelled" in words for words in offered)


def test_a_table_of_articles_is_offered_with_the_photographs_whose_names_begin_with_them(tmp_path):
    table = "SKU,Category\n4710,mug\n4711,table\n4712,mug\n4799,table\n"
    files = {
        "products.csv": table,
        **dict.fromkeys(f"photos/{sku}-{i}.jpg" for sku in (4710, 4711, 4712) for i in (1, 2)),
    }
    root = written(tmp_path / "source", files)
    [first, *_] = commands(call("plan", root).stderr)
    out = str(tmp_path / "OUT")
    done = call("convert", first[1], out, *first[2:])
    assert done.exit_code == 0, done.stderr
    labels = {one.key: one["label"] for one in shardkit.open(out, "train")}
    assert labels == {f"photos/{sku}-{i}.jpg": sku == 4711 for sku in (4710, 4711, 4712) for i in (1, 2)}
    assert "records that no image's name begins with" in done.stdout + done.stderr


def test_captions_and_what_a_camera_says_are_no_labels(tmp_path):
    texts = {f"photos/{i}.txt": f"a dog that runs, number {i}" for i in (0, 1)}
    texts |= {f"photos/{i}.json": '{"title": "0.jpg", "photoTakenTime": {}}' for i in (0, 1)}
    refused = call("plan", written(tmp_path, {**dict.fromkeys(["photos/0.jpg", "photos/1.jpg"]), **texts}))
    assert ["--unlabelled"] in [command[2:] for command in commands(refused.stderr)]


def test_where_no_change_works_the_refusal_says_why(tmp_path):
    content, says, _ = TABLES["two columns of labels"]
    lines = [f"{line},{'7' if i else 'part'}" for i, line in enumerate(content.splitlines())]
    root = written(tmp_path, {"labels.csv": "\n".join(lines), **dict.fromkeys(map(image, range(NUM)))})
    refused = call("plan", root / "labels.csv", "--split-column", "part")
    assert refused.exit_code == 2
    assert f"{says}; whichever is chosen, none of the {NUM} images is good; the first, 0.png: " in refused.stderr
    assert "a split's name is a letter followed by letters" in refused.stderr
    assert not commands(refused.stderr)


def test_every_command_of_a_refused_append_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, dict.fromkeys([f"first/{c}/{i}.jpg" for c in ("cat", "dog") for i in range(9)]))
    more = [(part, c, i) for part in ("anna", "ben") for c in ("cat", "dog") for i in (30, 31)]
    write_tree(
        tmp_path, {f"more/{part}/{c}/{i}.jpg": picture(100 + number) for number, (part, c, i) in enumerate(more)}
    )
    assert call("convert", "first", "data").exit_code == 0
    refused = call("append", "data", "more")
    printed = commands(refused.stderr)
    # Folders of a class of the dataset are no classes, so that reading is not offered.
    assert [command[3:] for command in printed] == [["--label", "path:1"], [], []]
    assert "only anna/ is read; leaves out 4 of 8 images" in refused.stderr
    for number, command in enumerate(printed):
        shutil.copytree("data", f"data{number}")
        assert call(*[f"data{number}" if word == "data" else word for word in command]).exit_code == 0, command


def test_a_refused_append_offers_no_reading_that_would_replace_images(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, dict.fromkeys([f"first/{c}/{i}.jpg" for c in ("cat", "dog") for i in range(9)]))
    assert call("convert", "first", "data").exit_code == 0
    paths = [f"more/{part}/{c}/{i}.jpg" for part in ("anna", "ben") for c in ("cat", "dog") for i in range(2)]
    write_tree(tmp_path, {path: picture(100 + number) for number, path in enumerate(paths)})
    printed = commands(call("append", "data", "more").stderr)
    assert printed == [["append", "data", "more", "--label", "path:1"]]  # more/anna has keys of the dataset
