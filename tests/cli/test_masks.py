"""Masks as a user converts them: by what shardkit finds and by a template, again, and a second delivery."""

import json
import shlex

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from shardkit.refusals import AS_RECOGNISED
from shardkit.testing import digests_of, encoded, write_tree

from .calling import answered, call


def photograph(seed):
    return encoded(Image.fromarray(np.random.default_rng(seed).integers(0, 256, (20, 24, 3), np.uint8)), "JPEG")


def drawing(seed, values=(1, 2)):
    pixels = np.zeros((20, 24), np.uint8)
    pixels[5:12, 6 : 10 + seed % 9], pixels[12:, 6:] = values
    return encoded(Image.fromarray(pixels))


# form: paths of the image and of the mask of a name, the options that say so, and the template that is remembered
FORMS = {
    "folder": ("images/{}.jpg", "masks/{}.png", ["--mask", "masks/{stem}.png"], "masks/{dir}/{stem}"),
    "end": ("all/{}.jpg", "all/{}_m.png", ["--mask", "{dir}/{stem}_m.png"], "all/{dir}/{stem}_m"),
    "ending": ("{}.jpg", "{}.png", ["--mask", "{dir}/{stem}.png"], "{dir}/{stem}.png"),
    "splits": (
        *("train/images/{}.jpg", "train/masks/{}_mask.png"),
        ["--mask", "{0}/masks/{stem}_mask.png", "--split", "path:0"],
        "train/masks/{dir}/{stem}_mask",
    ),
}


@pytest.fixture(params=FORMS)
def delivery(request, tmp_path):
    """Return a function that writes a source: images of some names, and some without a mask or without the image."""
    image, mask, options, template = FORMS[request.param]

    def write_form(name, names, *, bare="", lost="", values=(1, 2), **more):
        images = {image.format(one): photograph(ord(one)) for one in names + bare}
        masks = {mask.format(one): drawing(ord(one), values) for one in names + lost}
        return write_tree(tmp_path / name, images | masks | more)

    write_form.options, write_form.template = options, template
    write_form.image, write_form.mask = image, mask
    return write_form


def counts(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    return sum(split["num_examples"] for split in manifest["splits"].values())


def shards(folder):
    return {path: sha256 for path, sha256 in digests_of(folder).items() if path.endswith((".tfrecord", ".parquet"))}


def keys(folder):
    return sorted(key for path in folder.glob("*.index.parquet") for key in pq.read_table(path)["key"].to_pylist())


def said(result):
    return " ".join(result.output.split())


def run_printed(result, words):
    command = next(line for line in result.stderr.splitlines() if line.startswith("  shardkit") and words in line)
    return call(*shlex.split(command, comments=True)[1:])


def test_masks_are_found_or_said_remembered_and_read_so_in_a_second_delivery(delivery, tmp_path):
    source, out = delivery("s", "abcd"), tmp_path / "out"
    converted = call("convert", source, out)
    assert converted.exit_code == 0, converted.output
    assert keys(out) == sorted(delivery.image.format(one) for one in "abcd")
    stated = call("convert", source, tmp_path / "stated", *delivery.options)
    assert stated.exit_code == 0, stated.output
    assert shards(tmp_path / "stated") == shards(out)
    printed = call("info", out, "--reading").stdout
    assert delivery.template in printed
    planned = call("plan", source).stdout
    said_by = next(line for line in planned.splitlines() if line.startswith("read by "))
    printed_options = shlex.split(said_by.removeprefix("read by "))
    assert call("convert", source, tmp_path / "said", *printed_options).exit_code == 0
    assert shards(tmp_path / "said") == shards(out)
    (tmp_path / "r.yaml").write_text(printed)
    assert call("convert", source, tmp_path / "again", "--config", tmp_path / "r.yaml").exit_code == 0
    assert shards(tmp_path / "again") == shards(out)
    assert "nothing" in call("convert", source, out).stderr
    for dataset in (out, tmp_path / "stated"):
        appended = call("append", dataset, delivery("may", "xyz"))
        assert appended.exit_code == 0, appended.output
        assert counts(dataset) == 7


def test_an_image_without_mask_and_a_mask_without_image_are_rejected(delivery, tmp_path):
    source, out = delivery("s", "abcd", bare="e", lost="f"), tmp_path / "out"
    for options in ([], delivery.options):
        stopped = call("convert", source, out, *options)
        assert stopped.exit_code == 1, stopped.output
        assert "(1 no_label, 1 missing)" in said(stopped), said(stopped)
        assert delivery.mask.format("f") in said(stopped)
        assert not (out / "manifest.json").exists()
    converted = run_printed(stopped, "--max-rejected 2")
    assert converted.exit_code == 0, converted.output
    assert keys(out) == sorted(delivery.image.format(one) for one in "abcd")
    ignored = call("convert", source, tmp_path / "i", *delivery.options, "--without-annotation", "ignore")
    assert "1 missing" in said(ignored)
    assert "no_label" not in said(ignored)
    refused = call("convert", source, tmp_path / "r", *delivery.options, "--without-annotation", "negative")
    assert refused.exit_code == 2
    assert "an image without a mask can only be rejected, or ignored" in said(refused)


def test_a_source_without_a_single_mask_stops(delivery, tmp_path):
    out = tmp_path / "out"
    assert call("convert", delivery("s", "abcd"), out, *delivery.options).exit_code == 0
    before = digests_of(out)
    for refused in (
        call("append", out, delivery("may", "", bare="xyz")),
        call("convert", tmp_path / "may", tmp_path / "new", *delivery.options),
    ):
        assert refused.exit_code != 0
        assert "without a single mask, no image has one" in said(refused)
    assert digests_of(out) == before


def test_black_and_white_masks_stay_so_in_a_delivery_of_one_class(delivery, tmp_path):
    out = tmp_path / "out"
    assert call("convert", delivery("s", "abcd", values=(255, 0)), out, *delivery.options).exit_code == 0
    assert "palette: black-and-white" in call("info", out, "--reading").stdout
    appended = call("append", out, delivery("may", "x", values=(0, 0)))
    assert appended.exit_code == 0, appended.output
    assert counts(out) == 5


def test_a_template_that_is_the_image_itself_is_refused(tmp_path):
    source = write_tree(tmp_path / "s", {"a.jpg": photograph(1), "a.png": drawing(1)})
    refused = call("convert", source, tmp_path / "out", "--mask", "{dir}/{stem}")
    assert refused.exit_code == 2
    assert "stands for the image itself" in said(refused)


LINES = "background\nrose\nlily\ntulip\n"
NAMES = ["background", "rose", "lily", "tulip"]
BY_NUMBER = {  # file: its text
    "classes.json": '{"1": "rose", "2": "lily", "3": "tulip"}',
    "label_map.json": '{"background": 0, "rose": 1, "lily": 2, "tulip": 3}',
    "masks/classes.txt": "0 background\n1 rose\n2 lily\n3 tulip\n",
    "names.csv": "name,id\nbackground,0\nrose,1\nlily,2\ntulip,3\n",
    "images/_classes.csv": "Pixel Value, Class\n0, background\n1, rose\n2, lily\n3, tulip\n",  # Roboflow
}


def with_names(folder, file, text, values=(1, 3), names="abcd"):
    images = {f"images/{one}.jpg": photograph(ord(one)) for one in names}
    masks = {f"masks/{one}.png": drawing(ord(one), values) for one in names}
    return write_tree(folder, images | masks | {file: text.encode()})


def class_names(folder):
    return json.loads((folder / "manifest.json").read_text())["classes"]


@pytest.mark.parametrize("file", BY_NUMBER)
def test_a_file_that_names_the_numbers_of_masks_is_used_and_remembered(file, tmp_path):
    source, out = with_names(tmp_path / "s", file, BY_NUMBER[file]), tmp_path / "out"
    converted = call("convert", source, out)
    assert converted.exit_code == 0, converted.output
    assert f"class names by {file}" in said(converted)
    names = ["0", *NAMES[1:]] if file == "classes.json" else NAMES
    assert class_names(out) == names
    assert f"palette: {file}" in call("info", out, "--reading").stdout
    appended = call("append", out, with_names(tmp_path / "may", file, BY_NUMBER[file], (2, 0), "xyz"))
    assert appended.exit_code == 0, appended.output
    assert class_names(out) == names


def test_a_list_of_names_for_masks_is_named_as_unused_and_used_by_the_printed_option_or_a_reading(tmp_path):
    source, out = with_names(tmp_path / "s", "classes.txt", LINES), tmp_path / "out"
    asked, converted = answered("convert", source, out)
    assert converted.exit_code == 0, converted.output
    assert class_names(out) == ["0", "1", "2", "3"]
    note = "classes.txt names classes, and is not used: its lines have no numbers; "
    assert note in asked
    option = asked.partition(note)[2].partition(" takes them for classes 0 to 3")[0]
    named = call("convert", source, tmp_path / "named", *shlex.split(option))
    assert named.exit_code == 0, named.output
    assert "is not used" not in said(named)
    (tmp_path / "r.yaml").write_text("reading:\n  mask: {pair: 'masks/{stem}.png', palette: classes.txt}\n")
    stated = call("convert", source, tmp_path / "stated", "--config", tmp_path / "r.yaml")
    assert stated.exit_code == 0, stated.output
    assert class_names(tmp_path / "named") == class_names(tmp_path / "stated") == NAMES
    assert shards(tmp_path / "named") == shards(tmp_path / "stated")


@pytest.mark.parametrize(
    ("file", "text", "values", "why"),
    [
        ("codes.txt", "rose\nlily\ntulip\n", (1, 3), "it does not say which number each of its 3 names has"),
        ("colour_classes.csv", "name,r,g,b\nbg,0,0,0\nrose,9,9,9\n", (1, 3), "it names colours, and the masks have"),
        ("classes.json", '{"1": "rose", "2": "lily"}', (1, 3), "it names the numbers up to 2, and the masks have 3"),
        ("classes.txt", "0 none\n1 rose\n", (255, 0), "the masks are black and white; --classes FILE names"),
    ],
)
def test_names_that_do_not_fit_the_numbers_of_masks_are_named_as_unused(file, text, values, why, tmp_path):
    source, out = with_names(tmp_path / "s", file, text, values), tmp_path / "out"
    asked, converted = answered("convert", source, out)
    assert converted.exit_code == 0, converted.output
    assert f"because {file} names classes, and is not used: {why}" in asked
    assert "rose" not in class_names(out)


def test_two_files_that_name_other_classes_are_named_as_unused(tmp_path):
    source = with_names(tmp_path / "s", "images/_classes.csv", BY_NUMBER["images/_classes.csv"])
    write_tree(source, {"masks/_classes.csv": b"0, none\n1, oak\n2, elm\n3, fir\n"})
    asked, converted = answered("convert", source, tmp_path / "out")
    assert converted.exit_code == 0, converted.output
    why = "masks/_classes.csv names others; correct one, or move it away"
    assert f"because images/_classes.csv names classes, and is not used: {why}" in asked
    assert class_names(tmp_path / "out") == ["0", "1", "2", "3"]


def test_a_mask_with_a_number_that_a_reading_does_not_name_is_refused(tmp_path):
    source, out = with_names(tmp_path / "s", "classes.txt", "rose\nlily\ntulip\n"), tmp_path / "out"
    (tmp_path / "r.yaml").write_text("reading:\n  mask: {pair: 'masks/{stem}.png', palette: classes.txt}\n")
    refused = call("convert", source, out, "--config", tmp_path / "r.yaml")
    assert refused.exit_code == 1, refused.output
    assert "classes.txt: it names classes 0 to 2, and the masks have number 3; write the number before" in said(refused)
    assert not (out / "manifest.json").exists()


def test_masks_in_folders_below_their_own_are_found_by_one_folder_of_the_image(tmp_path):
    images = {f"photos/{one}/{i}.jpg": photograph(i) for one in "ab" for i in range(2)}
    masks = {f"seg/{one}/{i}.png": drawing(i) for one in "ab" for i in range(2)}
    source = write_tree(tmp_path / "s", images | masks)
    refused = call("convert", source, tmp_path / "out", "--mask", "seg/{dir}/{stem}.png")
    assert refused.exit_code == 1
    assert "there is no seg/photos/a/0.png (another mask is seg/a/0.png)" in said(refused)
    assert call("convert", source, tmp_path / "out", "--mask", "seg/{-1}/{stem}.png").exit_code == 0
    assert keys(tmp_path / "out") == sorted(images)


def test_a_class_and_a_mask_of_one_image_are_listed_and_refused_until_a_dataset_stores_both(tmp_path):
    pictures = {f"{one}/{one}{i}.jpg": photograph(i) for one in "ab" for i in range(3)}
    masks = {f"{one}/{one}{i}_m.png": drawing(i) for one in "ab" for i in range(3)}
    source = write_tree(tmp_path / "s", pictures | masks)
    facts = ["--label", "path:0", "--mask", "{dir}/{stem}_m.png"]
    refused = call("convert", source, tmp_path / "out", *facts)
    assert refused.exit_code == 2, refused.output
    assert "label from path:0" in said(refused)
    assert "mask from {dir}/{stem}_m.png" in said(refused)
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_masks_count_among_the_images_that_a_printed_command_keeps(tmp_path):
    paths = [f"{label}/{{}}/{label}{number}.png" for label in "xy" for number in range(3)]
    files = {path.format("images"): photograph(number) for number, path in enumerate(paths)}
    red = np.zeros((20, 24, 3), np.uint8)
    red[5:12, 6:12] = 255, 0, 0
    files |= {path.format("masks"): encoded(Image.fromarray(np.roll(red, i, 1))) for i, path in enumerate(paths)}
    files |= {f"{label}.csv": f"name,size\n{label}0,9\n{label}1,9\n{label}2,9\n".encode() for label in "xy"}
    asked = call("convert", write_tree(tmp_path / "source", files), tmp_path / "out")
    [said] = [line for line in asked.stderr.splitlines() if f"  # {AS_RECOGNISED}" in line]
    assert "leaves out" not in said
