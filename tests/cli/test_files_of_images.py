"""VOC and YOLO as a user converts them: images without a file, negatives, a second delivery, names of classes."""

import json
import re
import shlex
import shutil

import pyarrow.parquet as pq
import pytest

from shardkit.testing import picture, write_tree

from .calling import answered, call

XML = "<annotation><filename>{}.jpg</filename>{}</annotation>"
BOX = "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>7</xmax><ymax>7</ymax></bndbox>"


def voc(name, label):
    """The path and the text of a file; no object for ''."""
    object_ = f"<object><name>{label}</name>{BOX}</object>" if label else ""
    return f"Annotations/{name}.xml", XML.format(name, object_)


def yolo(name, label):
    return f"labels/{name}.txt", f"{['dog', 'cat'].index(label)} .5 .5 .4 .4\n" if label else ""


FORMATS = {"voc": ("JPEGImages", voc, {}), "yolo": ("images", yolo, {"classes.txt": b"dog\ncat\n"})}
LABELS = {"a": "cat", "b": "dog", "c": "cat", "d": "dog", "e": ""}


@pytest.fixture(params=FORMATS)
def delivery(request, tmp_path):
    """Return a function that writes a source: an image without boxes, and some without a file."""
    images, file_of, more = FORMATS[request.param]

    def write(name, *, start="", without=(), lost=(), files=more):
        names = [*LABELS, *without]
        tree = {f"{images}/{start}{one}.jpg": picture(ord(one) + len(start), kind="JPEG") for one in names}
        labels = {**LABELS, **dict.fromkeys(lost, "cat")}
        texts = dict(file_of(start + one, label) for one, label in labels.items())
        return write_tree(tmp_path / name, tree | {path: text.encode() for path, text in texts.items()} | files)

    write.format, write.images = request.param, images
    return write


def counts(folder):
    """The number of examples, and the class names."""
    manifest = json.loads((folder / "manifest.json").read_text())
    return sum(split["num_examples"] for split in manifest["splits"].values()), manifest["classes"]


def keys(folder):
    return [key for path in folder.glob("*.index.parquet") for key in pq.read_table(path)["key"].to_pylist()]


def said(result):
    return " ".join(result.output.split())


def run_printed(result, words):
    """Run the printed command that has some words, without its comment."""
    command = next(line for line in result.stderr.splitlines() if line.startswith("  shardkit") and words in line)
    return call(*shlex.split(command, comments=True)[1:])


def test_an_image_without_its_file_is_rejected_and_one_with_an_empty_file_is_a_negative(delivery, tmp_path):
    out = tmp_path / "out"
    source = delivery("s", without="xy")
    asked, answer = answered("convert", source, tmp_path / "asked")
    assert "2 of 7 images have no label; choose one of:" in asked
    assert answer.exit_code == 0, answer.output
    stopped = call("convert", source, out, "--layout", delivery.format)
    assert stopped.exit_code == 1
    assert "(2 no_label)" in stopped.stderr
    assert re.search("--max-rejected 2 +# without 2 images\n", stopped.stderr)
    assert not (out / "manifest.json").exists()
    negatives = run_printed(stopped, "# with 2 images without annotation as negatives")
    assert negatives.exit_code == 0, negatives.output
    assert "3 of 7 images have no box, 2 of them without annotation" in said(negatives)
    shutil.rmtree(out)
    converted = run_printed(stopped, "--max-rejected 2")
    assert converted.exit_code == 0, converted.output
    assert counts(out)[0] == 5
    assert "1 of 5 images has no box" in said(converted)
    assert "rejected: 2" in said(converted)
    assert sorted(keys(out)) == [f"{delivery.images}/{name}.jpg" for name in LABELS]
    assert (sorted(keys(tmp_path / "asked")), counts(tmp_path / "asked")) == (sorted(keys(out)), counts(out))


def test_negatives_are_asked_for_converted_again_and_remembered_by_a_second_delivery(delivery, tmp_path):
    out = tmp_path / "out"
    source = delivery("s", without="x")
    converted = call("convert", source, out, "--without-annotation", "negative")
    assert converted.exit_code == 0, converted.output
    assert "2 of 6 images have no box, 1 of them without annotation" in said(converted)
    assert counts(out)[0] == 6
    classes = counts(out)[1]
    again = call("convert", source, out)
    assert again.exit_code == 0, again.output
    assert "nothing" in again.stderr
    appended = call("append", out, delivery("may", start="2", without="x", files={}))  # YOLO's names are remembered
    assert appended.exit_code == 0, appended.output
    assert "2 of 6 images have no box, 1 of them without annotation" in said(appended)
    assert counts(out) == (12, classes)
    assert sorted(classes) == ["cat", "dog"]


def test_a_file_without_its_image_is_a_record_and_no_image_is_left_out(delivery, tmp_path):
    out = tmp_path / "out"
    stopped = call("convert", delivery("s", lost="xyz"), out)
    assert "(3 missing)" in stopped.stderr
    assert "--max-rejected 3  # without 3 records" in stopped.stderr
    converted = run_printed(stopped, "--max-rejected 3")
    assert converted.exit_code == 0, converted.output
    assert counts(out)[0] == len(LABELS)


def test_a_source_without_a_single_file_stops(delivery, tmp_path):
    source, out = delivery("s"), tmp_path / "out"
    assert call("convert", source, out).exit_code == 0
    for path in [*source.glob("*/*.xml"), *source.glob("*/*.txt")]:
        path.unlink()
    stopped = call("append", out, source)
    assert stopped.exit_code == 2
    assert "no image has an annotation" in said(stopped)
    assert call("convert", source, tmp_path / "new", "--layout", delivery.format).exit_code != 0


def test_flags_say_the_files_and_the_rest_is_found_and_stored(delivery, tmp_path):
    place, ending = {"voc": ("Annotations", "xml"), "yolo": ("labels", "txt")}[delivery.format]
    said_out, found_out = tmp_path / "said", tmp_path / "found"
    source = delivery("s")
    converted = call("convert", source, said_out, "--boxes", f"{delivery.format}:{place}/*.{ending}")
    assert converted.exit_code == 0, converted.output
    assert call("convert", source, found_out).exit_code == 0
    assert counts(said_out) == counts(found_out)
    printed = call("info", said_out, "--reading").stdout
    assert f"images: {delivery.images}" in printed
    (tmp_path / "r.yaml").write_text(printed)
    assert call("convert", source, tmp_path / "again", "--config", tmp_path / "r.yaml").exit_code == 0
    assert counts(tmp_path / "again") == counts(found_out)


def yolo_source(folder, names, **more):
    files = {f"images/{one}.jpg": picture(ord(one), kind="JPEG") for one in "abc"}
    files |= {f"labels/{one}.txt": f"{i % 2} .5 .5 .4 .4\n".encode() for i, one in enumerate("abc")}
    return write_tree(folder, files | {names: more.pop("text")} | more)


def test_yolos_path_may_be_the_folder_itself_and_other_names_in_a_delivery_stop(tmp_path):
    out = tmp_path / "out"
    yaml = b"path: .\ntrain: images\nnames: [dog, cat]\n"
    assert call("convert", yolo_source(tmp_path / "s", "data.yaml", text=yaml), out).exit_code == 0
    assert counts(out) == (3, ["dog", "cat"])
    other = yolo_source(tmp_path / "may", "data.yaml", text=yaml.replace(b"[dog, cat]", b"[cat, dog]"))
    refused = call("append", out, other)
    assert refused.exit_code == 2
    assert "it names other classes (cat, dog) than the reading (dog, cat)" in said(refused)
    assert counts(out)[0] == 3


@pytest.mark.parametrize("names", ["classes.txt", "labels/classes.txt"])
def test_names_of_classes_beside_the_files_are_used(names, tmp_path):
    out = tmp_path / "out"
    source = yolo_source(tmp_path / "s", names, text=b"dog\ncat\n")
    converted = call("convert", source, out, "--boxes", "yolo:labels/*.txt")
    assert converted.exit_code == 0, converted.output
    assert counts(out) == (3, ["dog", "cat"])
    assert f"classes of {names}" in said(converted)


def test_names_that_are_not_used_are_named(tmp_path):
    source = yolo_source(tmp_path / "s", "my_names.txt", text=b"dog\ncat\n")
    stopped = call("convert", source, tmp_path / "out", "--boxes", "yolo:labels/*.txt")
    assert stopped.exit_code != 0
    assert "my_names.txt" in said(stopped)


def table_of(start=""):
    rows = [
        f"{start}{name}.jpg,{label},1,1,7,7\n" if label else f"{start}{name}.jpg,,,,,\n"
        for name, label in LABELS.items()
    ]
    return ("filename,class,xmin,ymin,xmax,ymax\n" + "".join(rows)).encode()


def test_a_table_of_boxes_is_remembered_and_read_again(tmp_path):
    def write(name, start="", **more):
        images = {f"images/{start}{one}.jpg": picture(ord(one) + len(start), kind="JPEG") for one in LABELS}
        return write_tree(tmp_path / name, images | {"boxes.csv": table_of(start)} | more)

    out = tmp_path / "out"
    assert call("convert", write("s"), out).exit_code == 0
    assert counts(out) == (5, ["cat", "dog"])
    assert "nothing" in call("convert", write("s"), out).stderr
    said_out = tmp_path / "said"
    converted = call("convert", tmp_path / "s", said_out, "--boxes", "box-table:boxes.csv")
    assert converted.exit_code == 0, converted.output
    assert counts(said_out) == (5, ["cat", "dog"])
    other = table_of("june").replace(b"xmin,ymin,xmax,ymax", b"left,top,right,bottom")
    refused = call("append", out, write("june", "june", **{"boxes.csv": other}))
    assert refused.exit_code == 2
    assert "there is no column 'xmin'" in said(refused)
    more = {"images/may.jpg": picture(77, kind="JPEG")}
    stopped = call("append", out, write("may", "may", **more))
    assert "(1 no_label)" in stopped.stderr
    appended = run_printed(stopped, "--max-rejected 1")
    assert appended.exit_code == 0, appended.output
    assert counts(out) == (10, ["cat", "dog"])


def records_source(folder, *, label="what"):
    """A folder whose boxes are in records of JSON with a class that no usual name says."""
    records = [{"file": f"{one}.jpg", label: name, "x1": 1, "y1": 1, "x2": 7, "y2": 7} for one, name in LABELS.items()]
    images = {f"images/{one}.jpg": picture(ord(one), kind="JPEG") for one in LABELS}
    return write_tree(folder, images | {"boxes.json": json.dumps([one for one in records if one[label]]).encode()})


def test_records_of_boxes_are_read_by_what_the_refusal_adds_and_an_option_names_their_class(tmp_path):
    source, out = records_source(tmp_path / "s"), tmp_path / "out"
    refused = call("convert", source, out)
    assert refused.exit_code == 1
    assert "to read them, add --boxes box-table:boxes.json" in said(refused)
    boxes = ("--boxes", "box-table:boxes.json", "--without-annotation", "negative")
    assert call("convert", source, out, *boxes).exit_code == 0
    assert counts(out) == (5, ["object"])
    named = tmp_path / "named"
    converted = call("convert", source, named, *boxes, "--label-column", "what")
    assert converted.exit_code == 0, converted.output
    assert counts(named) == (5, ["cat", "dog"])
    assert "there is no column 'wat'" in said(call("convert", source, named, *boxes, "--label-column", "wat"))


def in_yaml(folder, origin):
    path = folder / "reading.yaml"
    path.write_text(f"reading:\n  version: 1\n  without_annotation: negative\n  boxes: {origin}\n")
    return path


def test_a_reading_may_name_only_the_class_of_a_table_of_boxes(tmp_path):
    source, out = records_source(tmp_path / "s"), tmp_path / "out"
    config = in_yaml(tmp_path, "{format: box-table, files: [boxes.json], options: {label: what}}")
    converted = call("convert", source, out, "--config", config)
    assert converted.exit_code == 0, converted.output
    assert counts(out) == (5, ["cat", "dog"])


@pytest.mark.parametrize(
    ("format_", "options", "message"),
    [
        ("box-table", "labl: what", "there is no option 'labl'; the format has drop, each, ending, field, flags, "),
        ("box-table", "form: odd", "do not say its columns; leave form out to find them"),
        ("box-table", "form: corners, image: file, x: '['", "do not say its columns; leave form out to find them"),
        ("box-table", "drop: one", "the option drop of the reading must be a whole number; found 'one'"),
        ("box-table", "each: '['", "has options for 0 files of box-table, and names 1"),
        ("box-table", "each: '[3]'", "has options for 0 files of box-table, and names 1"),
        ("boxes", "", "the reading names the format boxes; readings have coco, "),
        (
            "yolo",
            "keypoint: '3'",
            "yolo: there is no option 'keypoint'; the format has boxed, field, keypoints,",
        ),
    ],
)
def test_options_of_a_reading_that_a_format_cannot_use_are_named(format_, options, message, tmp_path):
    config = in_yaml(tmp_path, f"{{format: {format_}, files: ['*.json'], options: {{{options}}}}}")
    stopped = call("convert", records_source(tmp_path / "s"), tmp_path / "out", "--config", config)
    assert stopped.exit_code in {1, 2}
    assert message in said(stopped)
    assert "Traceback" not in stopped.output
    assert "failed" not in stopped.output


def test_options_name_the_columns_of_a_table_of_boxes_that_flags_state(tmp_path):
    rows = [
        f"{'train' if one < 'd' else 'test'},{label},x,{one}.jpg,1,1,7,7\n" for one, label in LABELS.items() if label
    ]
    table = "fold,what,name,photo,xmin,ymin,xmax,ymax\n" + "".join(rows)
    images = {f"{one}.jpg": picture(ord(one), kind="JPEG") for one, label in LABELS.items() if label}
    source, out = write_tree(tmp_path / "s", images | {"t.csv": table.encode()}), tmp_path / "out"
    columns = ("--image-column", "photo", "--label-column", "what", "--split-column", "fold")
    converted = call("convert", source, out, "--boxes", "box-table:t.csv", *columns)
    assert converted.exit_code == 0, converted.output
    assert counts(out) == (4, ["cat", "dog"])
    assert {*json.loads((out / "manifest.json").read_text())["splits"]} == {"train", "test"}
    refused = call("convert", source, out, "--boxes", "box-table:t.csv", *columns, "--label-column", "name")
    assert "--label-column has no effect: the boxes come from box-table:t.csv; leave it out" in said(refused)


@pytest.mark.parametrize(("name", "glob"), [("voc", "*/*.xml"), ("yolo", "labels*/*.txt")])
def test_an_image_that_two_label_files_are_about_is_stored_by_none(name, glob, tmp_path):
    images, file_of, more = FORMATS[name]
    path, text = file_of("a", "cat")
    files = dict(file_of(one, "dog") for one in "bc") | {path: text, f"labels_2/{path.split('/')[1]}": text}
    tree = {f"{images}/{one}.jpg": picture(ord(one), kind="JPEG") for one in "abc"}
    source = write_tree(tmp_path / "s", tree | more | {path: text.encode() for path, text in files.items()})
    result = call("convert", source, tmp_path / "out", "--boxes", f"{name}:{glob}", "--max-rejected", "100%")
    assert result.exit_code == 0, result.output
    assert sorted(keys(tmp_path / "out")) == [f"{images}/{one}.jpg" for one in "bc"]
    assert "rejected: 2 duplicate_key" in said(result)
