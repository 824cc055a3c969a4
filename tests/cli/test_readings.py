"""Readings as a user says and sees them: flags, a file, Python; the dataset remembers; a delivery that does not fit."""

import json
import re
import shlex

import pytest
import yaml

import shardkit
from shardkit.dataset.manifest import digest_of
from shardkit.errors import DataError, ShardkitError
from shardkit.testing import digests_of, picture, write_archive, write_tree

from .calling import call


def shards(folder):
    """The sha256 of the records and indexes of a dataset."""
    return {path: sha256 for path, sha256 in digests_of(folder).items() if path.endswith((".tfrecord", ".parquet"))}


def pictures(*paths):
    return {path: picture(number, width=4, height=4) for number, path in enumerate(paths)}


@pytest.fixture
def clinic(tmp_path):
    """Scans in folders of patients, whose table names them without their endings, in another case."""
    paths = [f"scans/p{patient}/IMG_{patient}{i}.PNG" for patient in range(6) for i in range(2)]
    table = "no;finding;ward\n" + "".join(
        f"img_{patient}{i};{('normal', 'fracture')[patient % 2]};{patient % 3}\n"
        for patient in range(6)
        for i in range(2)
    )
    return write_tree(tmp_path / "clinic", pictures(*paths) | {"meta/findings.csv": table.encode(), "README.md": b"x"})


SAID = ["--label", "meta/findings.csv:finding", "--feature", "ward=meta/findings.csv:ward", "--group", "path:0"]
SAID += ["--root", "scans", "--splits", "50/50"]


def test_flags_a_file_and_python_say_the_same(clinic, tmp_path):
    by_flags, config = tmp_path / "flags", tmp_path / "clinic.yaml"
    planned = call("plan", clinic, *SAID, "--write-config", config)
    assert planned.exit_code == 0, planned.output
    assert call("convert", clinic, by_flags, *SAID).exit_code == 0
    assert call("convert", clinic, tmp_path / "file", "--config", config).exit_code == 0
    reading = yaml.safe_load(config.read_text())["reading"]
    assert (reading["label"]["match"], reading["label"]["fold"], reading["label"]["key"]) == ("end", True, ["no"])
    shardkit.convert(str(clinic), str(tmp_path / "python"), reading=reading, splits="50/50")
    short = {"label": "meta/findings.csv:finding", "group": "path:0", "images": {"root": "scans"}}
    short["features"] = {"ward": "meta/findings.csv:ward"}
    shardkit.convert(str(clinic), str(tmp_path / "short"), reading=short, splits="50/50")
    others = [shards(tmp_path / name) for name in ("file", "python", "short")]
    assert others == [shards(by_flags)] * 3
    manifest = json.loads((by_flags / "manifest.json").read_text())
    assert manifest["classes"] == ["fracture", "normal"]
    assert "ward" in manifest["features"]


def test_the_dataset_remembers_its_reading_and_prints_it(clinic, tmp_path):
    out = tmp_path / "out"
    assert call("convert", clinic, out, *SAID).exit_code == 0
    printed = call("info", out, "--reading")
    assert json.loads(call("info", out, "--reading", "--json").stdout) == yaml.safe_load(printed.stdout)["reading"]
    (tmp_path / "again.yaml").write_text(printed.stdout)
    again = tmp_path / "again"
    assert call("convert", clinic, again, "--config", tmp_path / "again.yaml", "--splits", "50/50").exit_code == 0
    assert shards(again) == shards(out)
    assert call("convert", clinic, out, "--splits", "50/50").stderr.count("nothing") >= 1


def test_what_is_recognised_is_remembered_and_read_the_same_by_its_reading(tmp_path):
    source = write_tree(
        tmp_path / "pets", pictures(*(f"{s}/{c}/{i}.png" for s in ("Training", "test") for c in "ab" for i in range(2)))
    )
    assert call("convert", source, tmp_path / "out").exit_code == 0
    (tmp_path / "pets.yaml").write_text(call("info", tmp_path / "out", "--reading").stdout)
    assert call("convert", source, tmp_path / "again", "--config", tmp_path / "pets.yaml").exit_code == 0
    assert shards(tmp_path / "again") == shards(tmp_path / "out")
    same = call("convert", source, tmp_path / "out", "--config", tmp_path / "pets.yaml")
    assert (same.exit_code, "nothing to do" in same.stderr) == (0, True), same.output
    other = call("convert", source, tmp_path / "out", "--label", "=pet")
    assert (other.exit_code, "or the options that select and read them" in other.stderr) == (1, True), other.output


def test_append_reads_the_delivery_as_the_dataset_was_read(clinic, tmp_path):
    out = tmp_path / "out"
    assert call("convert", clinic, out, *SAID).exit_code == 0
    table = "ward;finding;no\n1;normal;IMG_80\n2;fracture;IMG_90\n"
    delivery = write_tree(
        tmp_path / "may", pictures("scans/p8/IMG_80.PNG", "scans/p9/IMG_90.PNG") | {"meta/findings.csv": table.encode()}
    )
    appended = call("append", out, delivery)
    assert appended.exit_code == 0, appended.output
    manifest = json.loads((out / "manifest.json").read_text())
    assert sum(split["num_examples"] for split in manifest["splits"].values()) == 14


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"scans/p8/IMG_80.PNG": None, "meta/findings.csv": b"no;finding\nIMG_80;normal\n"}, "ward"),
        ({"scans/p8/IMG_80.PNG": None, "meta/other.csv": b"no;finding;ward\nIMG_80;normal;1\n"}, "findings.csv"),
        (
            {
                "scans/p8/IMG_80.PNG": None,
                "meta/findings.csv": b"no;finding;ward\nIMG_80;normal;1\n",
                "meta/notes.dat": b"x",
            },
            "does not explain 1 file",
        ),
    ],
    ids=["a column less", "another table", "a file that nothing explains"],
)
def test_a_delivery_that_does_not_fit_is_a_question(files, words, clinic, tmp_path):
    out = tmp_path / "out"
    assert call("convert", clinic, out, *SAID).exit_code == 0
    before = digests_of(out)
    delivery = write_tree(
        tmp_path / "may",
        {path: picture(9, width=4, height=4) if data is None else data for path, data in files.items()},
    )
    refused = call("append", out, delivery)
    assert refused.exit_code == 2
    assert words in refused.stderr
    assert "remembers that its source is read by --label meta/findings.csv:finding" in " ".join(refused.stderr.split())
    assert digests_of(out) == before


def test_what_nothing_explains_stops_before_anything_is_written(clinic, tmp_path):
    (clinic / "scans/p0/raw.dat").write_bytes(b"x")
    out = tmp_path / "out"
    stopped = call("convert", clinic, out, *SAID)
    assert stopped.exit_code != 0
    assert "does not explain 1 file: scans/p0/*.dat (1); such as scans/p0/raw.dat" in " ".join(stopped.stderr.split())
    assert not (out / "manifest.json").exists()
    assert list(out.glob("*.tfrecord")) == [] if out.exists() else True
    assert call("convert", clinic, out, *SAID, "--ignore", "/scans/p0/*.dat").exit_code == 0


def test_a_table_that_names_half_of_the_images_stops(clinic, tmp_path):
    table = clinic / "meta/findings.csv"
    table.write_text("".join(table.read_text().splitlines(keepends=True)[:7]))
    stopped = call("convert", clinic, tmp_path / "out", *SAID)
    assert stopped.exit_code != 0
    assert "6 of 12" in stopped.stderr
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_columns_that_no_fact_names_are_said(clinic):
    said = [option for option in SAID if "ward" not in option and option != "--feature"]
    planned = call("plan", clinic, *said)
    assert planned.exit_code == 0, planned.output
    assert "left out 'ward'" in planned.stderr
    assert "left out" not in call("plan", clinic, *SAID).stderr


def test_a_dataset_of_an_earlier_version_says_that_it_does_not_remember(clinic, tmp_path):
    out = tmp_path / "out"
    assert call("convert", clinic, out, *SAID).exit_code == 0
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["source"].pop("reading")["label"]["kind"] == "class"
    (out / "manifest.json").write_text(json.dumps(manifest))
    said = call("info", out, "--reading")
    assert said.exit_code != 0
    assert "does not remember" in said.stderr or "digest" in said.stderr


def test_two_ways_to_say_one_fact_are_refused(clinic, tmp_path):
    refused = call("convert", clinic, tmp_path / "out", *SAID, "--label-pattern", "^([a-z]+)")
    assert refused.exit_code == 2
    assert "both say the label; give one of them" in " ".join(refused.stderr.split())
    with pytest.raises(ShardkitError, match="no effect with"):
        shardkit.convert(str(clinic), str(tmp_path / "out"), reading={"label": "path:0"}, layout="coco")


def test_a_reading_with_a_wrong_field_names_it(clinic, tmp_path):
    (tmp_path / "r.yaml").write_text("reading:\n  label: path:0\n  splitt: path:1\n")
    refused = call("convert", clinic, tmp_path / "out", "--config", tmp_path / "r.yaml")
    assert refused.exit_code == 2
    assert "'splitt' is not one of" in refused.stderr
    assert "did you mean split?" in refused.stderr
    with pytest.raises((ShardkitError, DataError), match="there is no column 'age'"):
        shardkit.plan(str(clinic), reading={"label": "meta/findings.csv:age", "images": {"root": "scans"}})


def delivered(out):
    manifest = json.loads((out / "manifest.json").read_text())
    return sum(split["num_examples"] for split in manifest["splits"].values())


def test_a_table_that_is_the_source_is_read_again_and_so_is_the_next_delivery(tmp_path):
    first = write_tree(tmp_path / "may", pictures("0.png", "1.png") | {"may.csv": b"id,kind,age\n0,a,1\n1,b,2\n"})
    second = write_tree(tmp_path / "june", pictures("5.png", "6.png") | {"june.csv": b"kind,id,age\na,5,3\nb,6,4\n"})
    out = tmp_path / "out"
    assert call("convert", first / "may.csv", out, "--label-column", "kind").exit_code == 0
    again = call("convert", first / "may.csv", out)
    assert again.exit_code == 0, again.stderr
    appended = call("append", out, second / "june.csv")
    assert appended.exit_code == 0, appended.stderr
    assert delivered(out) == 4


@pytest.mark.parametrize("where", ["pets.zip", "folder/pets.zip", "with.readme/pets.zip"])
def test_what_is_in_an_archive_is_read_again(where, tmp_path):
    files = pictures("pets/cat/0.png", "pets/cat/1.png", "pets/dog/2.png", "pets/dog/3.png")
    path = tmp_path / where
    path.parent.mkdir(exist_ok=True)
    write_archive(path, files)
    if "readme" in where:
        (path.parent / "README.md").write_text("pictures of pets")
    source, out = (path if where == "pets.zip" else path.parent), tmp_path / "out"
    assert call("convert", source, out).exit_code == 0
    again = call("convert", source, out)
    assert again.exit_code == 0, again.stderr
    assert "nothing" in again.stderr


def test_several_sources_are_not_remembered_and_a_delivery_is_recognised(tmp_path):
    for name in ("home", "work"):
        write_tree(tmp_path / name, pictures(*(f"{c}/{name}{i}.png" for c in ("cat", "dog") for i in range(2))))
    out = tmp_path / "out"
    assert call("convert", tmp_path / "home", tmp_path / "work", out).exit_code == 0
    assert call("info", out, "--reading").exit_code == 2
    write_tree(tmp_path / "new", pictures("cat/new0.png", "dog/new1.png"))
    assert call("append", out, tmp_path / "new").exit_code == 0
    assert delivered(out) == 10


def test_plan_prints_options_that_give_the_same_plan_and_accounts_for_every_file(clinic):
    said = " ".join(call("plan", clinic, *SAID).stdout.split())
    line = re.search(r"read by (--.+?)(?: and more, .*)? every file is accounted for: 12 examples", said)
    assert line, said
    one, other = (
        json.loads(call("plan", clinic, *words, "--json").stdout)["plan_digest"]
        for words in (SAID, [*shlex.split(line[1]), "--splits", "50/50"])
    )
    assert one == other


def test_plan_says_which_reading_options_cannot_say(tmp_path):
    source = write_tree(tmp_path / "s", pictures(*(f"{name}/{i}.png" for name in ("Cat", "dog") for i in range(2))))
    (tmp_path / "r.yaml").write_text("reading: {label: {path: 0, map: {Cat: cat}}}\n")
    said = " ".join(call("plan", source, "--config", tmp_path / "r.yaml").stdout.split())
    assert "read by --label path:0 and more, which `plan --write-config FILE` writes" in said


def test_plan_says_that_the_printed_options_stop_at_files_that_nothing_explains(farm):
    source, _ = farm
    (source / "README.md").write_bytes(b"pets")
    assert "stated so" not in call("plan", source).stdout
    (source / "notes.txt").write_bytes(b"The sun was out, and they all held still.")
    assert "stated so, a file that nothing explains stops; --ignore leaves it out (not read: 1 .txt)" in " ".join(
        call("plan", source).stdout.split()
    )
    assert call("plan", source, "--label", "path:0").exit_code == 1
    assert call("plan", source, "--label", "path:0", "--ignore", "/notes.txt").exit_code == 0


def folders(root, *paths, first=0):
    """A tree of folders with two pictures each, which differ from those of another `first`."""
    names = [f"{path}/{first}_{i}.png" for path in paths for i in range(2)]
    return write_tree(root, {name: picture(first + number, width=4, height=4) for number, name in enumerate(names)})


@pytest.fixture
def farm(tmp_path):
    """A dataset of two classes of folders."""
    source = folders(tmp_path / "may", "ant", "bee")
    assert call("convert", source, tmp_path / "out").exit_code == 0
    return source, tmp_path / "out"


@pytest.mark.parametrize("names", [("day1/ant", "day2/bee"), ("day1/fly", "day2/gnat")], ids=["known", "new classes"])
def test_a_delivery_with_a_level_more_is_a_question(names, farm, tmp_path):
    _, out = farm
    before = digests_of(out)
    delivery = folders(tmp_path / "june", *names, first=50)
    refused = call("append", out, delivery)
    assert refused.exit_code == 2, refused.output
    assert "--label path:" in refused.stderr
    assert digests_of(out) == before
    appended = call("append", out, delivery, "--label", "path:1")
    assert appended.exit_code == 0, appended.output
    classes = json.loads((out / "manifest.json").read_text())["classes"]
    assert classes == sorted({"ant", "bee", *(name.partition("/")[2] for name in names)})


def test_a_delivery_with_a_level_less_is_a_question(tmp_path):
    out = tmp_path / "out"
    assert call("convert", folders(tmp_path / "may", "a/ant", "b/bee"), out, "--label", "path:1").exit_code == 0
    refused = call("append", out, folders(tmp_path / "june", "ant", "bee", first=50))
    assert refused.exit_code == 2, refused.output
    assert "none of the 4 images is good" in refused.stderr
    assert "remembers that its source is read by --label path:1" in " ".join(refused.stderr.split())


def test_a_repeated_convert_goes_on_with_its_own_reading_after_an_append_by_another_one(farm, tmp_path):
    source, out = farm
    assert (
        call("append", out, folders(tmp_path / "june", "x/ant", "y/bee", first=50), "--label", "path:1").exit_code == 0
    )
    assert "nothing to do" in call("convert", source, out).stderr
    last = call("append", out, folders(tmp_path / "july", "x/ant", "y/bee", first=90))  # as the last one
    assert last.exit_code == 0, last.output


def test_an_append_to_a_dataset_that_does_not_remember_says_so(tmp_path):
    out = tmp_path / "out"
    assert call("convert", folders(tmp_path / "may", "ant", "bee"), out).exit_code == 0
    manifest = shardkit.read_manifest(str(out))
    forgetful = manifest.model_copy(update={"source": manifest.source.model_copy(update={"reading": None})})
    forgetful = forgetful.model_copy(update={"digest": digest_of(forgetful)})
    (out / "manifest.json").write_bytes(forgetful.to_bytes())
    assert call("info", out, "--reading").exit_code == 2
    appended = call("append", out, folders(tmp_path / "june", "ant", "bee", first=50))
    assert appended.exit_code == 0, appended.output
    assert "does not remember how its images were read" in " ".join(appended.stderr.split())
    assert call("info", out, "--reading").exit_code == 0  # that of the new images


def test_a_class_and_boxes_of_an_image_are_refused_until_a_dataset_stores_both(tmp_path):
    boxes = {"images": [{"id": 1, "file_name": "cat/0.png"}], "annotations": [], "categories": []}
    source = write_tree(tmp_path / "s", pictures("cat/0.png") | {"boxes.json": json.dumps(boxes).encode()})
    refused = call("plan", source, "--boxes", "coco:boxes.json", "--label", "path:0")
    assert refused.exit_code == 2
    assert (
        "the reading has boxes from coco:boxes.json and label from path:0, and a dataset stores one" in refused.stderr
    )


CLASS_FILES = {  # the classes of two boxes, and the file that names them
    "numbers and names": ("7", "8", "classes.csv", "id,name\n7,cat\n8,dog\n"),
    "lines with numbers": ("0", "1", "classes.txt", "0 cat\n1 dog\n"),
    "JSON": ("0", "1", "classes.json", '{"0": "cat", "1": "dog"}'),
    "codes": ("n1", "n2", "classes.csv", "n1,cat\nn2,dog\n"),
}


@pytest.mark.parametrize(("first", "second", "name", "text"), CLASS_FILES.values(), ids=CLASS_FILES)
def test_a_file_names_the_classes_of_a_table_of_boxes(first, second, name, text, tmp_path):
    rows = f"image,xmin,ymin,xmax,ymax,class\n0.png,1,1,3,3,{first}\n1.png,1,1,3,3,{second}\n"
    source = write_tree(tmp_path / "s", pictures("0.png", "1.png") | {"boxes.csv": rows.encode(), name: text.encode()})
    reading = {"boxes": {"format": "box-table", "files": ["boxes.csv"], "names": name}}
    (tmp_path / "r.yaml").write_text(yaml.safe_dump({"reading": reading}))
    planned = call("plan", source, "--config", tmp_path / "r.yaml")
    assert planned.exit_code == 0, planned.output
    assert "2 classes: 'cat', 'dog'" in planned.output
    (source / name).write_text("cat\ncat\n")
    refused = call("plan", source, "--config", tmp_path / "r.yaml")
    assert refused.exit_code == 1
    assert f"{name} names no classes; write the number and the name of each in a line, such as 0,cat" in refused.stderr


def test_lines_without_numbers_name_no_numbers_of_a_table(tmp_path):
    rows = "image,xmin,ymin,xmax,ymax,class\n0.png,1,1,3,3,1\n1.png,1,1,3,3,2\n"
    files = {"boxes.csv": rows.encode(), "classes.txt": b"cat\ndog\n"}
    source = write_tree(tmp_path / "s", pictures("0.png", "1.png") | files)
    reading = {"boxes": {"format": "box-table", "files": ["boxes.csv"], "names": "classes.txt"}}
    (tmp_path / "r.yaml").write_text(yaml.safe_dump({"reading": reading}))
    refused = call("plan", source, "--config", tmp_path / "r.yaml")
    assert refused.exit_code == 1
    assert (
        "classes.txt has no number before each name; write the number and the name of each in a line" in refused.stderr
    )
    (source / "classes.txt").write_text("1,cat\n2,dog\n")
    assert "2 classes: 'cat', 'dog'" in call("plan", source, "--config", tmp_path / "r.yaml").output


def test_a_number_that_json_does_not_name_keeps_it(tmp_path):
    rows = "image,xmin,ymin,xmax,ymax,class\n0.png,1,1,3,3,0\n1.png,1,1,3,3,1\n"
    names = b'{"1": "cat", "2": "dog"}'
    source = write_tree(tmp_path / "s", pictures("0.png", "1.png") | {"boxes.csv": rows.encode(), "c.json": names})
    reading = {"boxes": {"format": "box-table", "files": ["boxes.csv"], "names": "c.json"}}
    (tmp_path / "r.yaml").write_text(yaml.safe_dump({"reading": reading}))
    assert "2 classes: '0', 'cat'" in call("plan", source, "--config", tmp_path / "r.yaml").output
