"""Adopted TFRecords in commands that convert, append, compare, export or adopt."""

import pickle
import shlex
import shutil

import pytest

import shardkit
from shardkit.comparison import diff_datasets
from shardkit.dataset.features import BOXES, CLASS_LABEL
from shardkit.dataset.manifest import read_manifest
from shardkit.dataset.stored_names import with_own_names
from shardkit.errors import CallError, DataError, RecordError
from shardkit.exporting.export import export_dataset
from shardkit.sources import SourceOptions
from shardkit.storage import LocalFolder
from shardkit.testing import append_without_beam, convert_without_beam, files_of, write_class_folders

from ..cli.calling import call
from ..dataset.foreign.records import coco, jpeg, write
from .checking import Said, problems

NAMES = {"image/filename", "image/source_id"}  # without them, records are numbered
TFRECORD = SourceOptions(layout="tfrecord")
FILE = "train-00000-of-00001"


def detected(i, *objects, **changed):
    """Return a record of objects; one without objects lacks their features, as many writers leave out empty lists."""
    record = coco(i, objects) | changed
    return {
        name: value
        for name, value in record.items()
        if name not in NAMES and (objects or not name.startswith("image/object/"))
    }


RECORDS = [detected(0, (18, "dog"), (1, "person")), detected(1), detected(2, (18, "dog"))]


def adopted(folder, records=RECORDS, **options):
    write(folder / FILE, records)
    return shardkit.adopt(folder, **options)


def test_a_record_without_lists_has_empty_ones(tmp_path):
    into, said = tmp_path / "into", Said()
    adopted(tmp_path / "old", into=into, listener=said)
    assert "1 record without image/object/class/label: images without objects" in said.text
    assert problems(into) == []
    examples = shardkit.open(str(into), "train")
    assert [one.labels for one in examples] == [[18, 1], [], [18]]
    assert examples[1].boxes.shape == (0, 4)
    assert (examples[1]["objects/area"].shape, examples[1]["height"]) == ((0,), 8)
    assert examples[1].location.shard == f"../old/{FILE}"
    assert pickle.loads(pickle.dumps(examples))[1].labels == []  # noqa: S301 - the test's own bytes


def test_a_file_in_which_no_record_has_labels_is_of_another_program(tmp_path):
    write(tmp_path / "old" / "train-00000-of-00002", RECORDS)
    write(tmp_path / "old" / "train-00001-of-00002", [detected(3)])
    with pytest.raises(DataError, match=r"train-00001-of-00002, record 0: it has no feature .* nor has any record of"):
        shardkit.adopt(tmp_path / "old")


def test_only_whole_lists_are_taken_for_empty():
    features = {"label": CLASS_LABEL, "objects/bbox": BOXES}
    names = {"objects/bbox": ("a", "b", "c", "d"), "label": ("x",)}
    assert with_own_names({}, names, features) == {"objects/bbox": []}
    with pytest.raises(RecordError, match="1 in a, 0 in b"):
        with_own_names({"a": [0.5]}, names, features)


def test_a_needed_feature_that_is_missing_is_an_error_with_the_record_once(tmp_path):
    manifest = adopted(tmp_path / "old")
    example = shardkit.open(str(tmp_path / "old"), "train")[0]
    schema = example._schema
    broken = type(example)(b"", schema, FILE, 7, 0, "key")
    with pytest.raises(DataError) as caught:
        broken["image"]
    assert str(caught.value).count("record 7") == 1
    assert manifest.root.url in str(caught.value)


def test_an_adopted_dataset_equals_its_conversion_and_another_box_is_found(tmp_path):
    one = adopted(tmp_path / "old")
    convert_without_beam(str(tmp_path / "old"), str(tmp_path / "new"), source_options=TFRECORD)
    same = read_manifest(str(tmp_path / "new"))
    found = diff_datasets(one, same)
    assert found.num_same == 3
    assert "'0'" not in found.classes.added
    assert diff_datasets(same, one).num_same == 3
    moved = RECORDS[2] | {"image/object/bbox/ymin": [0.25]}
    other = adopted(tmp_path / "other", [*RECORDS[:2], moved])
    for a in (one, same):
        (change,) = diff_datasets(a, other).annotations.first
        assert (change.key, change.features) == (f"{FILE}/00000002", ("objects/bbox",))


def test_equal_files_read_by_other_names_are_compared(tmp_path):
    records = [{"image": jpeg(i), "age": i + 0.5, "weight": i + (i > 1) + 0.5} for i in range(3)]
    write(tmp_path / "old" / FILE, records)
    a, b = (
        shardkit.adopt(tmp_path / "old", into=tmp_path / name, label_feature=name, label_type="number")
        for name in ("age", "weight")
    )
    assert [(one.key, one.before, one.after) for one in diff_datasets(a, b).label.first] == [
        (f"{FILE}/00000002", "2.5", "3.5")
    ]


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ({"labels": [1, 5]}, {"label_feature": "label"}),
        ({"objects/camera": 7, "objects/heights": [0.5, 1.5]}, {}),
        ({"segmentation_mask": "none"}, {"label_feature": "label"}),
    ],
    ids=["labels", "objects", "mask"],
)
def test_features_with_names_of_ours_are_neither_labels_nor_objects(columns, options, tmp_path):
    write(tmp_path / "old" / FILE, [{"image": jpeg(i), "label": i % 2, **columns} for i in range(4)])
    before = shardkit.adopt(tmp_path / "old", into=tmp_path / "into", **options)
    assert {f"source/{name}" for name in columns} < before.features.keys()
    assert call("verify", tmp_path / "into", "--deep", "--leaks").exit_code == 0
    assert call("extract", tmp_path / "into", tmp_path / "ex").exit_code == 0
    for source in ("ex", "into"):
        assert call("convert", tmp_path / source, tmp_path / f"{source} OUT").exit_code == 0
        assert diff_datasets(before, read_manifest(str(tmp_path / f"{source} OUT"))).equal


def test_images_are_appended_to_what_the_printed_command_converts(tmp_path, monkeypatch):
    adopted(tmp_path / "my old", into=tmp_path / "into")
    write_class_folders(tmp_path / "in", {"ant": 2, "bee": 2})
    refused = call("append", tmp_path / "into", tmp_path / "in")
    assert refused.exit_code == 2
    program, *arguments = shlex.split(refused.stderr.splitlines()[-1], comments=True)
    monkeypatch.chdir(tmp_path)
    assert (program, call(*arguments).exit_code) == ("shardkit", 0)
    assert diff_datasets(read_manifest("into"), read_manifest("OUT")).equal


@pytest.mark.parametrize("with_indexes", [True, False])
@pytest.mark.parametrize("overwrite", [True, False])
def test_no_conversion_removes_adopted_records(with_indexes, overwrite, tmp_path):
    name = f"{FILE}.tfrecord"  # as shardkit's own are called
    write(tmp_path / "old" / name, RECORDS)
    shardkit.adopt(tmp_path / "old")
    if not with_indexes:
        shutil.rmtree(tmp_path / "old" / "indexes")
    before = files_of(LocalFolder(str(tmp_path / "old")))
    write_class_folders(tmp_path / "in", {"ant": 2, "bee": 2})
    with pytest.raises(CallError, match=r"adopted TFRecords .*, which other programs wrote; .* choose another OUTPUT"):
        shardkit.convert(tmp_path / "in", tmp_path / "old", overwrite=overwrite)
    assert files_of(LocalFolder(str(tmp_path / "old"))) == before


def test_a_dataset_of_shardkit_is_adopted_elsewhere_only_in_all_its_generations(tmp_path):
    write_class_folders(tmp_path / "in", {"ant": 2, "bee": 2})
    convert_without_beam(str(tmp_path / "in"), str(tmp_path / "out"))
    for number, names in enumerate((["ant", "bee"], ["ant", "bee", "cat", "dog"])):
        with pytest.raises(CallError, match="there is nothing to adopt"):
            shardkit.adopt(tmp_path / "out")
        into = shardkit.adopt(tmp_path / "out", into=tmp_path / f"into{number}")
        found = diff_datasets(read_manifest(str(tmp_path / "out")), into)
        assert (into.classes, found.equal) == (names, True)
        if number == 0:
            write_class_folders(tmp_path / "more", {"cat": 1, "dog": 1})
            append_without_beam(str(tmp_path / "out"), str(tmp_path / "more"))
            (tmp_path / "out" / "append-0002").mkdir()  # of an append that was killed
            shutil.copy(tmp_path / "out" / "train-00000-of-00001.tfrecord", tmp_path / "out" / "append-0002")
    write(tmp_path / "old" / FILE, RECORDS)
    with pytest.raises(CallError, match="its manifest is not replaced"):
        shardkit.adopt(tmp_path / "old", into=tmp_path / "out", overwrite=True)
    assert problems(tmp_path / "out") == []


def test_an_export_describes_the_records_as_they_are(tmp_path):
    adopted(tmp_path / "old")
    manifest = read_manifest(str(tmp_path / "old"))
    for target in ("croissant", "dataset-card", "dali-index"):
        export_dataset(manifest, target, manifest.root)
    card, croissant = ((tmp_path / "old" / name).read_text() for name in ("README.md", "croissant.json"))
    assert "shardkit.open" in card
    assert "tensorflow_datasets" not in card  # which needs files that adoption does not write
    assert "written by shardkit" not in card + croissant
    assert "image/encoded (bytes, image)" in croissant
    assert problems(tmp_path / "old") == []
    elsewhere = shardkit.adopt(tmp_path / "old" / FILE, into=tmp_path / "into")
    with pytest.raises(CallError, match="its TFRecords are outside of the folder"):
        export_dataset(elsewhere, "croissant", elsewhere.root)
