"""Columns of images and labels that are found without an option, or refused with the commands that name them."""

import pytest

from shardkit import Table, convert
from shardkit.errors import CallError, DataError
from shardkit.sources.formats.column_names import named_like
from shardkit.testing import listed, opened, picture, read_source, write_tree
from shardkit.testing.refusals import command_text, offered

from ..table_reading import write

NUM = 30
NAMES = ["cat", "dog", "owl"]


def csv(header, *columns):
    """A CSV file of NUM records; each column is a function of the record's number."""
    lines = [",".join(str(column(i)) for column in columns) for i in range(NUM)]
    return "\n".join([header, *lines]) + "\n"


def image(i):
    return f"{i}.png"


def stem(i):
    return f"{i}"


def label(i):
    return NAMES[i % 3]


# name: a table, and the columns of its images and labels
FOUND = {
    "Kaggle": (csv("id_code,diagnosis", stem, lambda i: i % 5), "id_code", "diagnosis"),
    "an identifier": (csv("id,label", stem, label), "id", "label"),
    "in any spelling": (csv("Image ID,Class-Name", stem, label), "Image ID", "Class-Name"),
    "a plural": (csv("filepaths,labels", image, label), "filepaths", "labels"),
    "species": (csv("img,species", image, label), "img", "species"),
    "a number to regress on": (csv("file,y", image, lambda i: i / 7), "file", "y"),
    "a row's number is no image": (csv("id,image,label", lambda i: i + 100, image, label), "image", "label"),
    "the usual name first": (csv("id,image,label", lambda i: (i + 1) % NUM, image, label), "image", "label"),
    "two columns of the same files": (csv("img,id,label", image, stem, label), "img", "label"),
    "a usual name without files": (csv("path,id,label", lambda i: f"x/{i}.tif", stem, label), "id", "label"),
    "a number for each name": (csv("file,class_id,class", image, lambda i: i % 3, label), "file", "class"),
    "the same twice": (csv("file,label,category", image, label, label), "file", "label"),
    "a name for each image is no class": (csv("file,tag,breed", image, stem, label), "file", "breed"),
    "an empty column": (csv("file,label,class", image, lambda _: "", label), "file", "class"),
    "a fold is no label": (csv("file,fold,target", image, lambda i: i % 5, label), "file", "target"),
    "the only column of classes": (
        csv("Time,file,Result", lambda i: f"0{i % 9 + 1}.05.2024 08:1{i % 10}", image, label),
        "file",
        "Result",
    ),
    "an attachment with its link": (
        csv("Photo,Kind", lambda i: f"{i}.png (https://dl.example.com/{i}/a.b)", label),
        "Photo",
        "Kind",
    ),
    "an unusual column of images": (csv("foo,label", image, label), "foo", "label"),
    "few records": ("img,breed\n0.png,cat\n1.png,dog\n", "img", "breed"),
}


@pytest.mark.parametrize(("content", "image_column", "label_column"), FOUND.values(), ids=FOUND.keys())
def test_columns_are_found_if_their_values_agree(content, image_column, label_column, tmp_path):
    write_tree(tmp_path, {image(i): b"" for i in range(NUM)})
    source = opened(write(tmp_path, content))
    said = source.describe()
    assert f"the image from column {image_column!r}" in said
    assert f"from column {label_column!r}" in said.split("; ")[1]
    rows = listed(source).table
    assert set(rows["reason"].to_pylist()) == {None}
    assert all((tmp_path / key).is_file() for key in rows["key"].to_pylist())


def test_a_long_number_names_its_file_in_a_column_of_any_title(tmp_path):
    numbers = [587720 + 3 * i for i in range(8)]
    write_tree(tmp_path, {f"img/{number}.png": b"" for number in numbers})
    (tmp_path / "t.csv").write_text(
        "galaxy,kind\n" + "".join(f"{one},{'spiral' if one % 2 else 'ring'}\n" for one in numbers)
    )
    assert "the image from column 'galaxy'; the class from column 'kind'" in opened(tmp_path).describe()


# name: a table, what the refusal says, and what its commands name
REFUSED = {
    "two columns of labels": (
        csv("file,label,category", image, label, lambda i: i % 2),
        "the labels may be in column 'label' or 'category'",
        ["--label-column label ", "--label-column category "],
    ),
    "two numberings": (
        csv("file,label,target", image, lambda i: i % 3, lambda i: 2 - i % 3),
        "the labels may be in column 'label' or 'target'",
        ["--label-column label ", "--label-column target "],
    ),
    "a class and a coarser one": (
        csv("file,species,breed", image, lambda i: i % 2, lambda i: f"b{i % 4}"),
        "the labels may be in column 'species' or 'breed'",
        ["--label-column species ", "--label-column breed "],
    ),
    "two columns of images": (
        csv("image,path,label", image, lambda i: image((i + 1) % NUM), label),
        "'image' or 'path' may be the image column",
        ["--image-column image ", "--image-column path "],
    ),
    "several names in one": (
        csv("file,label", image, lambda i: ["cat", "dog", "cat dog", "dog cat owl"][i % 4]),
        "column 'label' holds labels such as 'cat dog': one class, or several",
        ["--label-column label --label-separator ' ' ", "--label-column label --label-type class "],
    ),
}


@pytest.mark.parametrize(("content", "problem", "options"), REFUSED.values(), ids=REFUSED.keys())
def test_where_two_columns_are_possible_the_refusal_has_the_commands(content, problem, options, tmp_path):
    write_tree(tmp_path, {image(i): b"" for i in range(NUM)})
    path = write(tmp_path, content)
    with pytest.raises(CallError) as caught:
        opened(path)
    first, *commands = command_text(caught.value).splitlines()
    assert first.startswith(f"{path}: {problem}; ")
    assert [f"{command.split('OUT ')[1].split('#')[0].strip()} " for command in commands] == options


def test_a_command_repeats_the_options_that_the_user_gave(tmp_path):
    write_tree(tmp_path, {image(i): picture(i) for i in range(NUM)})
    path = write(tmp_path, csv("file,label,category,fold", image, label, lambda i: i % 2, lambda i: f"f{i % 5}"))
    with pytest.raises(CallError) as refused:
        convert(str(path), str(tmp_path / "out"), table=Table(split_column="fold"), root=str(tmp_path))
    command = f"convert {path} {tmp_path}/out --root {tmp_path} --split-column fold --label-column label"
    assert command in command_text(refused.value)


def test_labels_that_all_differ_are_refused_as_classes(tmp_path):
    path = write(tmp_path, "image,label,kind\n" + "".join(f"{i}.png,caption {i},{i % 3}\n" for i in range(60)))
    with pytest.raises(CallError, match="a different label in each of the first 60 records") as refused:
        opened(path)
    assert offered(refused.value)[0] == {"label_columns": ("kind",)}
    assert read_source(path, label_type="class").table["label_name"].to_pylist()[7] == "caption 7"


def test_likely_names_without_files_are_named_in_the_refusal(tmp_path):
    path = write(tmp_path, csv("id,label", stem, label))
    with pytest.raises(DataError, match=r"values of 'id' name no files in .* image_column, .* root"):
        opened(path)


def test_a_split_column_of_a_less_usual_name_counts_only_if_it_holds_splits(tmp_path):
    path = write(tmp_path, csv("image,label,data set", image, label, lambda i: ["train", "valid"][i % 2]))
    assert set(read_source(path).table["split"].to_pylist()) == {"train", "validation"}
    path = write(tmp_path, csv("image,label,dataset", image, label, lambda i: ["train", "coco"][i % 2]))
    assert set(read_source(path).table["split"].to_pylist()) == {None}


def test_the_exact_name_comes_before_another_case():
    assert named_like(("Label", "LABEL", "label", "class"), ("label", "class")) == [2, 0, 1, 3]


def test_captions_are_no_classes(tmp_path):
    rows = "".join(f"images/{i}.jpg,A dog runs over field {i % 7} of {i // 2}.\n" for i in range(20))
    write_tree(tmp_path, {f"images/{i}.jpg": b"x" for i in range(20)} | {"t.csv": f"image,caption\n{rows}".encode()})
    with pytest.raises(CallError, match="is no class, as in column 'caption'") as error:
        opened(f"{tmp_path}/t.csv")
    assert "--unlabelled" in command_text(error.value)
    assert "--label-column" not in command_text(error.value)


TIMELAPSE = "File,RelativePath,Species\n1.jpg,A\\Check,deer\n1.jpg,B\\Check,fox\n2.jpg,B\\Check,deer\n3.jpg,,fox\n"
STATIONS = dict.fromkeys(("A/Check/1.jpg", "B/Check/1.jpg", "B/Check/2.jpg", "3.jpg"), b"x")


def test_timelapses_two_columns_are_the_path_of_an_image(tmp_path):
    root = write_tree(tmp_path / "s", {"data.csv": TIMELAPSE.encode(), **STATIONS})
    rows = read_source(root / "data.csv").rows
    found = {row["key"]: row["label_name"] for row in rows}
    assert found == {"A/Check/1.jpg": "deer", "B/Check/1.jpg": "fox", "B/Check/2.jpg": "deer", "3.jpg": "fox"}


def test_two_columns_that_name_the_images_only_together_are_joined(tmp_path):
    rows = "".join(f"{slide},{region},{'ab'[region % 2]}\n" for slide in (7, 8) for region in (1, 2, 3))
    images = {f"train/{slide}_{region}.tif": b"x" for slide in (7, 8) for region in (1, 2, 3)}
    root = write_tree(tmp_path / "s", {"t.csv": f"slide,rid,y\n{rows}".encode(), **images})
    found = read_source(root / "t.csv").rows
    assert {row["key"]: row["label_name"] for row in found}["train/8_2.tif"] == "a"
    assert sorted(row["key"] for row in found) == sorted(images)
    assert "'image' is 'slide' and 'rid' with '_' between" in opened(f"{root}/t.csv").describe()


def test_columns_that_name_some_images_twice_are_not_joined(tmp_path):
    images = {f"{folder}/{slide}_1.tif": b"x" for folder in "ab" for slide in (7, 8)}
    root = write_tree(tmp_path / "s", {"t.csv": b"slide,rid,y\n7,1,a\n8,1,b\n", **images})
    with pytest.raises(DataError, match="has a usual name for image paths"):
        opened(f"{root}/t.csv")


def test_a_path_that_leads_nowhere_is_not_put_before_the_names_of_images(tmp_path):
    text = "File,RelativePath,Species\n1.jpg,2024\\May,deer\n2.jpg,../..,fox\n3.jpg,2024\\June,deer\n"
    images = {f"{number}.jpg": b"x" for number in (1, 2, 3)}
    root = write_tree(tmp_path / "s", {"data.csv": text.encode(), **images})
    assert [row["key"] for row in read_source(root / "data.csv").rows] == ["1.jpg", "2.jpg", "3.jpg"]
    with_one = TIMELAPSE.replace("2.jpg,B\\Check", "2.jpg,..\\..\\B")
    rows = read_source(write_tree(tmp_path / "t", {"data.csv": with_one.encode(), **STATIONS}) / "data.csv").rows
    assert {row["key"] for row in rows if row["reason"] is None} == {"A/Check/1.jpg", "B/Check/1.jpg", "3.jpg"}
    assert [row["reason"] for row in rows if row["reason"]] == ["bad_path"]


def test_a_column_gives_splits_only_if_all_of_its_values_do(tmp_path):
    lines = [f"{i}.png,{NAMES[i % 3]},{('train', 'test')[i % 2]}" for i in range(1200)]
    path = write(tmp_path, "\n".join(["image,label,phase", *lines]) + "\n")
    assert opened(path).reading.split.column == ("phase",)
    path = write(tmp_path, "\n".join(["image,label,phase", *lines, "x.png,cat,night"]) + "\n")
    assert opened(path).reading.split is None


def test_numbers_are_splits_only_if_all_three_are_there(tmp_path):
    lines = [f"{i}.png,{NAMES[i % 3]},{i % 2}" for i in range(1200)]
    three = write(tmp_path, "\n".join(["image,label,split", *lines, "x.png,cat,2"]) + "\n")
    assert {row["split"] for row in read_source(three).rows} == {"train", "validation", "test"}
    two = write(tmp_path, "\n".join(["image,label,split", *lines]) + "\n")
    assert {row["reason"] for row in read_source(two).rows} == {"bad_split"}
