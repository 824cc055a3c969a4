import pytest

from shardkit.errors import CallError
from shardkit.sources.opening import open_source
from shardkit.testing.refusals import command_text

from .tree_sources import KINDS, made, read

X = b"content"


def table(head, *rows):
    return "\n".join([head, *rows, ""]).encode()


def files(*paths):
    return dict.fromkeys(paths, X)


# https://www.kaggle.com/competitions/aptos2019-blindness-detection/data
KAGGLE = {
    "train.csv": table("id_code,diagnosis", *(f"img{i},{i % 3}" for i in range(6))),
    "test.csv": table("id_code", "t1", "t2"),
    "sample_submission.csv": table("id_code,diagnosis", "t1,0", "t2,0"),
    **files(*(f"train_images/img{i}.png" for i in range(6)), "test_images/t1.png", "test_images/t2.png"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_that_names_the_images_is_the_source(kind, tmp_path):
    layout, good, bad, skipped = read(made(tmp_path, kind, KAGGLE))
    assert layout == "table (CSV)"
    assert sorted(label for _, label in good.values()) == ["0", "0", "1", "1", "2", "2"]
    assert bad == {}
    assert skipped["images in test_images/ that train.csv does not name"] == 2
    claims = {one.path.rpartition("/")[2]: one for one in open_source(made(tmp_path, kind, KAGGLE)).claims}
    assert [name for name, one in claims.items() if one.is_used] == ["train.csv"]
    assert claims.keys() == {"train.csv", "test.csv", "sample_submission.csv"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("above", ["", "archive/"])
def test_a_table_in_a_flat_folder_or_beside_one_is_the_source(above, kind, tmp_path):
    source = {f"{above}labels.csv": table("image,label", "images/1.jpg,cat", "images/2.jpg,dog")}
    source |= files(f"{above}images/1.jpg", f"{above}images/2.jpg")
    wanted = {"images/1.jpg": (None, "cat"), "images/2.jpg": (None, "dog")}
    assert read(made(tmp_path, kind, source)) == ("table (CSV)", wanted, {}, {})


@pytest.mark.parametrize("name", ["vady.csv", "data/vady.tsv"])
def test_a_table_in_an_encoding_that_is_not_read_is_named_where_no_labels_are_found(name, tmp_path):
    rows = "".join(f"S{i};{'škrábanec' if i % 2 else 'bublina'}\n" for i in range(6))
    text = f"snímek;vada\n{rows}"  # letters of Latin alphabets, of which several encodings are possible
    images = files(*(f"snimky/S{i}.tif" for i in range(6)))
    with pytest.raises(CallError) as caught:
        open_source(made(tmp_path / "1250", "folder", {name: text.encode("cp1250"), **images}))
    said = command_text(caught.value)
    assert f"{name} is not UTF-8 (byte 0xed in line 1), so it is not read" in said
    assert "iconv -f WINDOWS-1250 -t UTF-8" in said
    layout, good, _, _ = read(made(tmp_path / "utf-8", "folder", {"vady.csv": text.encode(), **images}))
    assert layout == "table (CSV)"
    assert {label for _, label in good.values()} == {"škrábanec", "bublina"}


# Tables beside class folders that are not the source.
NOT_THE_SOURCE = {
    "a log": ("log.csv", table("epoch,loss", "1,0.5", "2,0.4")),
    "names of the classes": ("classes.csv", table("id,name", "0,cat", "1,dog")),
    "an index of the folders": (
        "index.csv",
        table("filepaths,labels,data set", "train/cat/1.jpg,CAT,train", "test/dog/3.jpg,dog,test"),
    ),
    "no table": ("notes.csv", b"\x00\x01"),
    "ages, by no usual name for labels": ("ages.csv", table("image,age", "1.jpg,4", "2.jpg,5")),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "data"), NOT_THE_SOURCE.values(), ids=NOT_THE_SOURCE.keys())
def test_a_table_that_has_nothing_to_say_does_not_stop_class_folders(name, data, kind, tmp_path):
    url = made(tmp_path, kind, {name: data, **files("train/cat/1.jpg", "train/dog/2.jpg", "test/dog/3.jpg")})
    layout, good, bad, skipped = read(url)
    assert (layout, bad, skipped) == ("split and class folders", {}, {".csv": 1})
    assert good == {
        "train/cat/1.jpg": ("train", "cat"),
        "train/dog/2.jpg": ("train", "dog"),
        "test/dog/3.jpg": ("test", "dog"),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_tables_of_splits_with_equal_columns_are_one_source(kind, tmp_path):
    source = {
        "train.csv": table("image,label", "train/1.jpg,cat", "train/2.jpg,dog"),
        "test.csv": table("image,label", "test/3.jpg,cat"),
        **files("train/1.jpg", "train/2.jpg", "test/3.jpg"),
    }
    layout, good, bad, skipped = read(made(tmp_path, kind, source))
    assert layout == "table (CSV) for each split"
    assert good == {"train/1.jpg": ("train", "cat"), "train/2.jpg": ("train", "dog"), "test/3.jpg": ("test", "cat")}
    assert (bad, skipped) == ({}, {})


def test_images_of_another_split_in_the_same_folder_are_not_counted_as_unnamed(tmp_path):
    source = {
        "train.csv": table("image,label", "images/1.jpg,cat", "images/2.jpg,dog"),
        "val.csv": table("image,label", "./images/3.jpg,cat"),
        **files("images/1.jpg", "images/2.jpg", "images/3.jpg", "images/4.jpg"),
    }
    _, good, bad, skipped = read(made(tmp_path, "folder", source))
    assert {key: split for key, (split, _) in good.items()} == {
        "images/1.jpg": "train",
        "images/2.jpg": "train",
        "images/3.jpg": "validation",
    }
    assert (bad, skipped) == ({}, {"image in images/ that no record names": 1})


def test_paths_that_begin_with_a_dot_name_images(tmp_path):
    source = {"data.csv": table("image,label", "./images/1.jpg,cat"), **files("images/1.jpg")}
    _, good, _, skipped = read(made(tmp_path, "folder", source))
    assert (good, skipped) == ({"images/1.jpg": (None, "cat")}, {})


def test_a_table_of_the_classes_is_not_one_of_images(tmp_path):
    source = {
        "data.csv": table("image,class_id", "0.jpg,0", "1.jpg,1"),
        "classes.csv": table("class_id,class_name", "0,cat", "1,dog"),
        **files("images/0.jpg", "images/1.jpg"),
    }
    assert set(read(made(tmp_path, "folder", source))[1]) == {"images/0.jpg", "images/1.jpg"}


@pytest.mark.parametrize("address", ["gs://bucket/x", "s3://bucket", "https://host/a/b"])
def test_addresses_of_images_that_are_here_are_refused_before_the_network_with_the_command(address, tmp_path):
    source = {"data.csv": table("image,label", f"{address}/1.jpg,cat"), **files("images/1.jpg")}
    url = made(tmp_path, "folder", source)
    with pytest.raises(CallError, match=r"are in .*/images, too") as caught:
        open_source(f"{url}/data.csv")
    prefix = f"{address}={url}/images"
    assert f"--path-prefix {prefix}" in command_text(caught.value)
    assert set(read(f"{url}/data.csv", path_prefix=(prefix,))[1]) == {"1.jpg"}


@pytest.mark.parametrize("kind", KINDS)
def test_roboflows_multi_label_export_is_one_source(kind, tmp_path):
    # https://roboflow.com/formats/multiclass-classification-csv: a blank after each comma.
    source = {
        "train/_classes.csv": table("filename, cat, dog", "1.jpg, 1, 0", "2.jpg, 1, 1", "9.jpg, 0, 0"),
        "valid/_classes.csv": table("filename, cat, dog", "1.jpg, 0, 1"),
        "README.roboflow.txt": X,
        **files("train/1.jpg", "train/2.jpg", "train/9.jpg", "valid/1.jpg"),
    }
    layout, good, bad, skipped = read(made(tmp_path, kind, source))
    assert layout == "table (CSV) for each split"
    assert good == {
        "train/1.jpg": ("train", ["cat"]),
        "train/2.jpg": ("train", ["cat", "dog"]),
        "train/9.jpg": ("train", []),
        "valid/1.jpg": ("validation", ["dog"]),
    }
    assert (bad, skipped) == ({}, {})


FOLDS = {
    "train.csv": table("image,label", "images/1.jpg,cat", "images/2.jpg,dog"),
    "folds.csv": table("image,label,fold", "images/1.jpg,cat,1", "images/2.jpg,dog,2"),
    **files("images/1.jpg", "images/2.jpg"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_tables_that_say_different_things_of_the_images_are_refused(kind, tmp_path):
    with pytest.raises(CallError, match=r"folds\.csv and train\.csv all name images, and differ in what they say"):
        open_source(made(tmp_path, kind, FOLDS))


@pytest.mark.parametrize("kind", KINDS)
def test_the_commands_for_tables_in_folders_read_what_they_say(kind, tmp_path):
    url = made(tmp_path, kind, FOLDS)
    wanted = {"images/1.jpg": (None, "cat"), "images/2.jpg": (None, "dog")}
    assert read(url, layout="table", ignore=("/folds.csv",)) == (
        "table (CSV)",
        wanted,
        {},
        {"ignored by /folds.csv": 1},
    )
    assert read(url, layout="class-folders")[0] == "class folders"


def test_tables_of_parts_are_one_and_tables_that_share_images_are_refused(tmp_path):
    names = [f"images/{i}.jpg" for i in range(6)]
    rows = [f"{i}.jpg,{'cat' if i % 2 else 'dog'}" for i in range(6)]
    source = {"a.csv": table("image,label", *rows[:3]), "b.csv": table("image,label", *rows[3:]), **files(*names)}
    layout, good, _, _ = read(made(tmp_path / "parts", "folder", source))
    assert layout == "table (CSV) for each part"
    assert len(good) == 6
    for other in ("b.csv", "test_a.csv"):
        source = {"a.csv": table("image,label", *rows), other: table("image,label", *rows[4:]), **files(*names)}
        with pytest.raises(CallError, match=r"name images|name the same images"):
            open_source(made(tmp_path / other, "folder", source))
