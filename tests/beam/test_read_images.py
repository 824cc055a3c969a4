"""`ReadImages`, `ReadAllImages` and `CheckImages`: every layout as a PCollection, and what becomes of it."""

import json
from pathlib import Path

import apache_beam as beam
import numpy as np
import pyarrow.parquet as pq
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from PIL import Image

import shardkit
from shardkit import images
from shardkit.beam import CheckImages, Example, ReadAllImages, ReadImages, WriteDataset
from shardkit.conversion.staging.staged_conversion import StagedConversion
from shardkit.conversion.staging.stager import Stager
from shardkit.errors import CallError
from shardkit.options.groups import Stored
from shardkit.testing import digests_of, encoded, picture, write_class_folders, write_tree

from ..cli.calling import SAMPLE_DATA
from .transforms import RUNNER, collected

SLOW = ("voc", "yolo", "metadata", "hf", "list.txt", "attributes.tsv", "boxes.csv", "labels.csv", "automl.csv")
QUICK = ("coco", "masks", "folders.zip", "webdataset", "multilabel.jsonl", "regression.parquet", "coco_broken")


def records_of(output):
    return {path.name: path.read_bytes() for end in ("tfrecord", "parquet") for path in output.glob(f"*-of-*.{end}")}


def read(source, **options):
    """The examples, the rejects and the source, by name; and the counters."""
    return collected(lambda pipeline: pipeline | ReadImages(source, **options).with_rejects())


def write(source, output, reading=None, **options):
    """Read and write a source as `convert` does, with all that is known of it."""
    with beam.Pipeline(RUNNER) as pipeline:
        read = pipeline | ReadImages(source, temp_location=output.parent / "temp", reading=reading).with_rejects()
        options |= {"source": read.source, "rejects": read.rejects}
        _ = read.examples | WriteDataset(output, **options)


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_what_is_read_and_written_has_every_byte_of_convert(name, tmp_path):
    options = {"shards": 2, "max_rejected": "100%", "name": "photos"}
    shardkit.convert(SAMPLE_DATA / name, tmp_path / "converted", **options)
    write(SAMPLE_DATA / name, tmp_path / "written", **options)
    assert digests_of(tmp_path / "written") == digests_of(tmp_path / "converted")


@pytest.mark.parametrize("name", ["masks", "folders.zip"])
def test_an_image_with_a_uri_is_not_stored_before_its_shard_is_written(name, tmp_path, monkeypatch):
    monkeypatch.setattr(Stager, "_write_images", lambda *_: pytest.fail("stored"))
    options = {"shards": 2, "name": "photos", "stored": Stored(resize=16)}
    write(SAMPLE_DATA / name, tmp_path / "written", **options)
    shardkit.convert(SAMPLE_DATA / name, tmp_path / "converted", **options)
    assert digests_of(tmp_path / "written") == digests_of(tmp_path / "converted")


def test_a_run_that_failed_is_continued_without_decoding_again(tmp_path, monkeypatch):
    root = write_class_folders(tmp_path / "photos", {"ant": 6, "bee": 6})
    publish, check, checked = StagedConversion.publish, images.check_fully, []
    monkeypatch.setattr(images, "check_fully", lambda data: checked.append(data) or check(data))
    monkeypatch.setattr(StagedConversion, "publish", lambda *_: pytest.fail("the network failed"))
    with pytest.raises(BaseException, match="the network failed"):
        write(root, tmp_path / "out", shards=3)
    monkeypatch.setattr(StagedConversion, "publish", publish)
    write(root, tmp_path / "out", shards=3)
    assert len(checked) == 12
    shardkit.convert(root, tmp_path / "converted", shards=3)
    assert records_of(tmp_path / "out") == records_of(tmp_path / "converted")


def test_an_image_that_changes_after_it_is_checked_fails_by_its_name(tmp_path, monkeypatch):
    root, plan = write_class_folders(tmp_path / "photos", {"ant": 3, "bee": 3}), StagedConversion.plan
    changed = min((root / "bee").iterdir())

    def planned(*given):
        changed.write_bytes(picture(99))
        return plan(*given)

    monkeypatch.setattr(StagedConversion, "plan", planned)
    with pytest.raises(Exception, match=f"{changed}: the file has changed since it was checked"):
        write(root, tmp_path / "out")
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_rejects_and_near_duplicates_are_those_of_convert(tmp_path):
    write_class_folders(tmp_path / "photos", {"ant": 6, "bee": 6})
    one = min((tmp_path / "photos" / "ant").iterdir())
    (tmp_path / "photos" / "ant" / "copy.jpg").write_bytes(one.read_bytes())
    (tmp_path / "photos" / "ant" / "cut.jpg").write_bytes(one.read_bytes()[:-40])
    rows = [f"photos/{path.parent.name}/{path.name},{path.parent.name}" for path in (tmp_path / "photos").rglob("*.*")]
    lines = ["image,label", *sorted(rows), "photos/none.jpg,ant", "photos/2.jpg,"]
    (tmp_path / "labels.csv").write_text("\n".join(lines))
    options = {"splits": "50/50", "dedupe": "drop", "max_rejected": "100%", "name": "photos"}
    done = shardkit.convert(tmp_path / "labels.csv", tmp_path / "converted", **options)
    assert {"duplicate", "missing", "truncated"} <= done.manifest.rejected.by_reason.keys()
    write(tmp_path / "labels.csv", tmp_path / "written", **options)
    assert digests_of(tmp_path / "written") == digests_of(tmp_path / "converted")


@pytest.mark.parametrize("name", ["coco", "masks"])
def test_a_dataset_is_a_source(name, tmp_path):
    shardkit.convert(SAMPLE_DATA / name, tmp_path / name)
    shardkit.convert(tmp_path / name, tmp_path / "converted", shards=1, name=name)
    write(tmp_path / name, tmp_path / "written", shards=1, name=name)
    found, wanted = digests_of(tmp_path / "written"), digests_of(tmp_path / "converted")
    differing = {path for path in wanted if found.get(path) != wanted[path]}
    # One of the images with masks was turned by the first conversion, and only a record knows its raw file's hash.
    assert not {path for path in differing if path.endswith(".tfrecord")}
    assert not differing or name == "masks"


ONE_LABEL = {"label": {"path": 0}, "images": {"unlabelled": ["pool/"]}}
TAGS = {
    "label": {"column": "tags", "files": ["tags.jsonl"], "key": ["file_name"]},
    "images": {"unlabelled": ["pool/"]},
}


@pytest.mark.parametrize("reading", [ONE_LABEL, TAGS], ids=["one", "several"])
def test_images_without_a_label_on_purpose_have_the_number_minus_one(reading, tmp_path):
    root = write_class_folders(tmp_path / "photos", {"ant": 6, "bee": 6, "pool": 3})
    if reading is TAGS:
        names = sorted(str(path.relative_to(root)) for path in root.rglob("*.*"))
        lines = [{"file_name": name, "tags": [name[:3]]} for name in names if name[0] != "p"]
        (root / "tags.jsonl").write_text("\n".join(map(json.dumps, lines)))
    shardkit.convert(root, tmp_path / "converted", shards=2, reading=reading)
    found, _ = read(root, reading=reading)
    assert sorted(one.key for one in found["examples"] if one.number == -1) == [f"pool/{i:03d}.png" for i in range(3)]
    write(root, tmp_path / "written", reading, shards=2)
    assert shardkit.read_manifest(tmp_path / "written").splits["train"].num_unlabelled == 3
    assert digests_of(tmp_path / "written") == digests_of(tmp_path / "converted")


def test_without_the_source_the_shards_are_those_of_convert_for_the_same_classes(tmp_path):
    wanted = shardkit.convert(SAMPLE_DATA / "coco", tmp_path / "converted", shards=2)
    with beam.Pipeline(RUNNER) as pipeline:
        options = {"shards": 2, "classes": wanted.manifest.classes}
        _ = pipeline | ReadImages(SAMPLE_DATA / "coco") | WriteDataset(tmp_path / "written", **options)
    assert records_of(tmp_path / "written") == records_of(tmp_path / "converted")


def test_examples_say_where_images_are_and_what_the_source_knows_of_them(tmp_path):
    found, counters = read(SAMPLE_DATA / "coco")
    one = min(found["examples"], key=lambda one: one.key)
    assert Path(one.uri) == SAMPLE_DATA / "coco" / one.key
    assert (one.boxes_width, one.boxes_height) > (0, 0)
    assert one.boxes[0].xmax > 1  # pixels
    assert {"area", "iscrowd"} & json.loads(one.boxes[0].features).keys()
    assert counters["images_listed"] == len(found["examples"])
    [source] = found["source"]
    assert sorted(source.totals.classes.values()) == sorted(
        {box.label for one in found["examples"] for box in one.boxes}
    )


def test_members_of_archives_and_ranges_of_files_have_a_uri_that_leads_to_their_bytes(tmp_path):
    for name, beginning in (("folders.zip", "zip://"), ("webdataset", f"{SAMPLE_DATA}/webdataset/")):
        found, _ = read(SAMPLE_DATA / name)
        assert all(one.uri.startswith(beginning) for one in found["examples"])
        checked, _ = collected(
            lambda pipeline, some=tuple(found["examples"][:3]): {"out": pipeline | beam.Create(some) | CheckImages()}
        )
        assert [one.num_bytes for one in checked["out"]] == [one.num_bytes for one in found["examples"][:3]]
        assert all(one.format in {"JPEG", "PNG"} and len(one.sha256) == 64 for one in checked["out"])


def test_what_listing_rejects_is_what_convert_rejects_before_it_decodes(tmp_path):
    shardkit.convert(SAMPLE_DATA / "coco_broken", tmp_path / "out", max_rejected="100%")
    wanted = {tuple(row.values()) for row in pq.read_table(tmp_path / "out" / "rejected.parquet").to_pylist()}
    found, counters = read(SAMPLE_DATA / "coco_broken")
    assert len(found["rejects"]) >= 5
    assert {tuple(one)[:4] for one in found["rejects"]} < wanted
    assert sum(count for name, count in counters.items() if name.startswith("rejected_")) == len(found["rejects"])


def test_nothing_leaves_before_every_file_is_accounted_for(tmp_path):
    write_class_folders(tmp_path / "photos", {"ant": 2, "bee": 2})
    (tmp_path / "photos" / "ant" / "notes.csv").write_text("what,is,this\n")
    seen = []
    pipeline = beam.Pipeline(RUNNER)
    _ = pipeline | ReadImages(tmp_path / "photos", label="path:0") | beam.Map(seen.append)
    with pytest.raises(Exception, match=r"notes\.csv"):
        pipeline.run()
    assert not seen


def test_a_source_that_is_not_recognised_fails_the_pipeline_with_the_options_that_help(tmp_path):
    (tmp_path / "1.png").write_bytes(picture(1))
    with pytest.raises(
        CallError, match=r"there are no label folders, .* pass:\n.*unlabelled=True  # images without lab"
    ):
        read(tmp_path)


def test_options_of_writing_and_unknown_ones_are_refused_when_the_transform_is_made(tmp_path):
    for options, said in (({"shards": 2}, "shards does not say how"), ({"lable": "path:0"}, "did you mean")):
        with pytest.raises(CallError, match=said):
            ReadImages(tmp_path, **options)


def test_the_range_of_16_bits_is_found_as_by_convert(tmp_path):
    arrays = [np.random.default_rng(i).integers(0, 4096, (16, 16)).astype(np.uint16) for i in range(6)]
    files = {f"{'ab'[i % 2]}/{i}.png": encoded(Image.fromarray(one)) for i, one in enumerate(arrays)}
    source, options = write_tree(tmp_path / "photos", files), {"stored": Stored(bit_depth="scale=auto")}
    with pytest.raises(Exception, match="would keep 16 levels of 256") as stopped:
        write(source, tmp_path / "written")
    assert "bit_depth='scale=auto'" in str(stopped.value)
    write(source, tmp_path / "written", check="decode", **options)
    shardkit.convert(source, tmp_path / "converted", **options)
    assert digests_of(tmp_path / "written") == digests_of(tmp_path / "converted")


def test_several_folders_are_read_in_one_way_and_keys_begin_with_their_names(tmp_path):
    for day in ("monday", "tuesday"):
        write_class_folders(tmp_path / day, {"ant": 2, "bee": 2})
    found, _ = collected(
        lambda pipeline: {
            "out": (
                pipeline
                | beam.Create([str(tmp_path / "monday"), str(tmp_path / "tuesday")])
                | ReadAllImages(label="path:0")
            ).examples
        }
    )
    assert sorted({one.key.partition("/")[0] for one in found["out"]}) == ["monday", "tuesday"]
    assert len(found["out"]) == 8


def test_a_pipeline_filters_by_what_checking_finds_and_no_image_is_decoded_twice(tmp_path, monkeypatch):
    write_class_folders(tmp_path / "photos", {"ant": 3, "bee": 3})
    (tmp_path / "photos" / "bee" / "broken.jpg").write_bytes(b"\xff\xd8 no picture")

    decoded = []
    check = images.check_fully
    monkeypatch.setattr(images, "check_fully", lambda data: decoded.append(1) or check(data))
    with beam.Pipeline(RUNNER) as pipeline:
        checked = pipeline | ReadImages(tmp_path / "photos", label="path:0") | CheckImages().with_rejects()
        _ = checked.examples | beam.Filter(lambda one: one.width >= 1) | WriteDataset(tmp_path / "out", shards=1)
    assert len(decoded) == 7
    assert shardkit.read_manifest(tmp_path / "out").split("train").num_examples == 6


def test_a_pipeline_is_built_without_a_look_at_the_source(tmp_path):
    transform = ReadImages(tmp_path / "not_there", label="path:0")
    pipeline = beam.Pipeline(RUNNER)
    _ = pipeline | "Once" >> transform
    _ = pipeline | "Twice" >> transform
    assert "Example" in str(pipeline.to_runner_api())


def test_every_bundle_may_be_done_again(tmp_path):
    wanted = shardkit.convert(SAMPLE_DATA / "coco", tmp_path / "converted", shards=1)
    options = PipelineOptions([f"--runner={RUNNER}", "--direct_runner_bundle_repeat=1"])
    with beam.Pipeline(options=options) as pipeline:
        read_again = pipeline | ReadImages(SAMPLE_DATA / "coco")
        _ = read_again | WriteDataset(tmp_path / "written", shards=1, classes=wanted.manifest.classes)
    assert records_of(tmp_path / "written") == records_of(tmp_path / "converted")


def _process(example):
    import os
    import time

    time.sleep(0.002)
    return os.getpid(), isinstance(example, tuple) and example._fields == Example._fields


@pytest.mark.slow  # 9 s, for two processes of Beam
@pytest.mark.usefixtures("real_pickles")
def test_one_folder_keeps_two_processes_busy(tmp_path):
    write_class_folders(tmp_path / "photos", {"ant": 200, "bee": 200})
    places = [f"--runner={RUNNER}", "--direct_num_workers=2", "--direct_running_mode=multi_processing"]
    with beam.Pipeline(options=PipelineOptions(places)) as pipeline:
        _ = (
            pipeline
            | ReadImages(tmp_path / "photos", label="path:0")
            | beam.Map(_process)
            | beam.combiners.Count.PerElement()
            | beam.Map(json.dumps)
            | beam.io.WriteToText(str(tmp_path / "counts"))
        )
    lines = [json.loads(line) for path in tmp_path.glob("counts*") for line in path.read_text().splitlines()]
    assert sum(count for _, count in lines) == 400
    assert len(lines) == 2
    assert all(is_one for (_, is_one), _ in lines)
