"""`WriteDataset` on Beam's runner for one process: the bytes of `convert`, and what is refused."""

import contextlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import apache_beam as beam
import numpy as np
import pyarrow.parquet as pq
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner.execution import GroupingBuffer
from apache_beam.transforms.error_handling import ErrorHandler
from apache_beam.transforms.periodicsequence import PeriodicImpulse
from PIL import Image

import shardkit
from shardkit import images, testing
from shardkit.beam import Box, ConvertImages, Example, PublishedDataset, WriteDataset, WrittenShard, arguments
from shardkit.conversion.staging.rows import RowReader
from shardkit.conversion.staging.staged_conversion import StagedConversion
from shardkit.conversion.staging.stager import STAGED, Stager, begin_staging
from shardkit.dataset import tfrecord
from shardkit.dataset.foreign.inferring import LayoutOverrides
from shardkit.errors import CallError, DataError
from shardkit.options.definition import OPTIONS as OPTIONS_OF_CONVERT
from shardkit.options.groups import Shards, Splits, Stored, Table
from shardkit.sources.opening import open_source
from shardkit.storage import TEMPORARY, open_folder
from shardkit.testing import digests_of, picture, write_tree

from ..cli.calling import SAMPLE_DATA, environment
from ..copies import COPIES, encoded, page
from .transforms import RUNNER, collected, noting

NUM_ROWS, SIDE = 24, 60
OPTIONS = {"splits": {"train": 0.75, "validation": 0.25}, "shards": 2}


def box_of(box, height, width):
    """A box in pixels as fractions of the image's sides."""
    ymin, xmin, ymax, xmax = box["bbox"]
    return Box(box["label_name"], ymin / height, xmin / width, ymax / height, xmax / width)


def rows_of(source_url):
    """The rows that a user would make of a source: its listing, with the bytes of the files."""
    source, rows = open_source(str(source_url)), []
    for part in source.parts():
        for listing in source.list_part(part, 100):
            for one in listing.table().to_pylist():
                if one["reason"]:  # a bad line of a label file
                    continue
                row = {"key": one["key"], "image": source.folder.read(one.get("path") or one["key"])}
                row |= {"split": one["split"], "label": one["label_name"], "labels": one.get("label_names")}
                if "objects" in one:
                    row["boxes"] = [
                        box_of(box, one["annotated_height"], one["annotated_width"]) for box in one["objects"]
                    ]
                if one.get("target"):
                    [row["target"]] = one["target"]
                if one.get("mask_path"):
                    row["mask"] = source.folder.read(one["mask_path"])
                rows.append(Example(**row))
    return rows


def given(pipeline, *bundles):
    """A PCollection of rows that come as in a bundle each, without a shuffle before."""
    several = [
        pipeline | f"Bundle{i}" >> beam.Create(rows, reshuffle=False).with_output_types(Example)
        for i, rows in enumerate(bundles)
    ]
    return several | "Bundles" >> beam.Flatten()


def write(output, *bundles, **options):
    """Write rows; the elements that come out and the counters."""

    def made(pipeline):
        return given(pipeline, *bundles) | WriteDataset(output, **options)

    return collected(made)


def shards_of(output):
    """Bytes of the shards and of their indexes."""
    return {path.name: path.read_bytes() for end in ("tfrecord", "parquet") for path in output.glob(f"*-of-*.{end}")}


def manifest_of(output):
    return json.loads((output / "manifest.json").read_bytes())


@pytest.fixture(scope="module")
def rows():
    return [
        Example(
            key=f"{i:02d}.jpg",
            image=picture(i, width=SIDE, height=SIDE, kind="JPEG"),
            label="ab"[i % 2],
            group=f"patient {i // 2}",
        )
        for i in range(NUM_ROWS)
    ]


@pytest.fixture(scope="module")
def written(rows, tmp_path_factory):
    """A dataset of the rows, in one bundle, and what came out."""
    output = tmp_path_factory.mktemp("written") / "out"
    return output, write(output, rows, **OPTIONS)


@pytest.mark.parametrize(
    ("source", "options"),
    [
        ("shapes", {**OPTIONS, "stored": Stored(resize=20)}),
        pytest.param("multilabel.jsonl", {"splits": Splits("80/20", split_by="stratified")}, marks=pytest.mark.slow),
        pytest.param(
            "boxes.csv",
            {"shards": Shards(shard_size="10MiB"), "stored": Stored(size="40x40"), "max_rejected": "100%"},
            marks=pytest.mark.slow,
        ),
        pytest.param("masks", {"stored": Stored(size="40x30", fit="pad", mask_padding=255)}, marks=pytest.mark.slow),
    ],
)
def test_the_files_are_those_of_convert_but_for_the_layout_in_the_manifest(source, options, tmp_path):
    converted, written = tmp_path / "converted", tmp_path / "written"
    shardkit.convert(str(SAMPLE_DATA / source), converted, **options)
    rows = rows_of(SAMPLE_DATA / source)
    write(written, rows[::2], rows[1::2], **options)
    found, wanted = digests_of(written), digests_of(converted)
    assert {name for name in found | wanted if found.get(name) != wanted.get(name)} == {"manifest.json"}
    manifest = manifest_of(written)
    assert manifest["source"].pop("layout") == "Beam PCollection"
    wanted = manifest_of(converted)
    layout = wanted["source"].pop("layout")
    wanted["source"].pop("reading", None)  # which a PCollection has not
    assert manifest.pop("digest") != wanted.pop("digest")
    assert manifest == wanted
    with pytest.raises(Exception, match=f"differently: the layout was {re.escape(layout)} and is Beam PCollection; "):
        write(converted, rows, **options)


@pytest.mark.parametrize("columns", [["age"], ["age", "mass"]])
def test_numbers_are_stored_as_convert_stores_those_of_a_table(columns, tmp_path):
    files = {f"{i}.png": picture(i, width=8, height=8) for i in range(12)}
    rows = [
        {"key": f"{i}.png", "image": files[f"{i}.png"], "targets": [i / 3, i * i][: len(columns)]} for i in range(12)
    ]
    lines = [["image", *columns], *([row["key"], *map(str, row["targets"])] for row in rows)]
    source = write_tree(tmp_path / "source", {**files, "table.csv": "\n".join(map(",".join, lines))})
    table = Table(label_columns=columns, label_type="number")
    shardkit.convert(source / "table.csv", tmp_path / "converted", table=table, **OPTIONS)
    rows.append({"key": "nan", "image": picture(99), "targets": [float("nan")] * len(columns)})
    if len(columns) == 1:
        rows = [{**{name: row[name] for name in ("key", "image")}, "target": row["targets"][0]} for row in rows]

    def made(pipeline):
        return (
            pipeline
            | beam.Create(rows, reshuffle=False)
            | WriteDataset(tmp_path / "written", max_rejected=1, **OPTIONS)
        )

    found, _ = collected(made)
    assert [(one.key, one.reason) for one in found["rejects"]] == [("nan", "bad_label")]
    assert shards_of(tmp_path / "written") == shards_of(tmp_path / "converted")


def test_shards_and_indexes_are_those_of_convert_whatever_is_rejected(tmp_path):
    source = write_tree(
        tmp_path / "source",
        {"1.png": picture(1, width=8, height=8), "2.png": picture(2, width=8, height=8), "3.png": b"no image"},
    )
    boxes = ["1.png,0,0,4,4,ant", "1.png,8,8,9,9,ant", "2.png,1,1,3,8,bee", "3.png,0,0,4,4,ant", "4.png,0,0,4,4,ant"]
    (source / "boxes.csv").write_text("\n".join(["image,xmin,ymin,xmax,ymax,label", *boxes]))
    shardkit.convert(source / "boxes.csv", tmp_path / "converted", max_rejected="100%")
    near, far = Box("ant", 0, 0, 0.5, 0.5), Box("ant", 1, 1, 9 / 8, 9 / 8)
    of_images = {"1.png": [near, far], "2.png": [Box("bee", 1 / 8, 1 / 8, 1, 3 / 8)], "3.png": [near]}
    rows = [Example(key, (source / key).read_bytes(), boxes=boxes) for key, boxes in of_images.items()]
    write(tmp_path / "written", rows, max_rejected="100%")
    assert shards_of(tmp_path / "written") == shards_of(tmp_path / "converted")
    rejected = [manifest_of(tmp_path / name)["rejected"]["num_examples"] for name in ("written", "converted")]
    assert rejected == [2, 3], "the row without a file is only in the table"


def test_convert_does_not_go_on_with_the_shards_of_rows(rows, tmp_path, monkeypatch):
    source = write_tree(tmp_path / "source", {f"{row.label}/{row.key}": row.image for row in rows})
    rows = [Example(f"{row.label}/{row.key}", row.image, label=row.label) for row in rows]
    with monkeypatch.context() as patched:
        patched.setattr(StagedConversion, "publish", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write(tmp_path / "out", rows, **OPTIONS)
    with pytest.raises(DataError, match="differs: the layout was Beam PCollection and is class folders"):
        shardkit.convert(source, tmp_path / "out", **OPTIONS)


def test_a_run_whose_staged_images_another_one_has_removed_says_so(rows, tmp_path, monkeypatch):
    plan = StagedConversion.plan

    def planning(task):
        shards = plan(task)
        open_folder(task.output_url).remove_tree(STAGED)
        return shards

    monkeypatch.setattr(StagedConversion, "plan", planning)
    with pytest.raises(Exception, match="the folder of staged images was removed, so another run has published or"):
        write(tmp_path / "out", rows, **OPTIONS)


def test_any_bundles_any_order_and_repeated_rows_give_the_same_files(rows, written, tmp_path):
    shuffled = [rows[i] for i in np.random.default_rng(0).permutation(len(rows))]
    write(tmp_path / "out", shuffled[:5], shuffled[5:6], shuffled[6:] + shuffled[:8], **OPTIONS)
    assert digests_of(tmp_path / "out") == digests_of(written[0])


def test_what_comes_out_is_the_manifest_the_shards_and_the_counters(written, rows):
    output, (found, counters) = written
    manifest = shardkit.read_manifest(str(output))
    assert found["manifest"] == [PublishedDataset(f"{output}/manifest.json", manifest.digest, NUM_ROWS, num_rejected=0)]
    assert sorted(found["shards"]) == sorted(
        WrittenShard(split, one.path, one.num_examples, one.num_bytes) for split, one in manifest.shards()
    )
    assert found["rejects"] == []
    assert (counters["images_checked"], counters["shards_written"]) == (NUM_ROWS, 4)
    assert counters["image_bytes_stored"] == sum(len(row.image) for row in rows)


def test_what_an_attempt_staged_that_was_discarded_is_not_in_the_dataset(rows, written, tmp_path):
    # Upstream gives other keys each time, and its bundle failed after some rows were staged.
    output = open_folder(str(tmp_path / "out"))
    begin_staging(output)
    stager = Stager(output, RowReader(1 << 20), LayoutOverrides())
    assert [one for row in rows for one in stager.add(row._replace(key=f"{row.key}-of-another-attempt"))] == []
    stager.flush()
    write(tmp_path / "out", rows, **OPTIONS)
    assert digests_of(tmp_path / "out") == digests_of(written[0])


def test_no_image_bytes_pass_a_shuffle(rows, tmp_path, monkeypatch):
    sizes = []
    monkeypatch.setattr(GroupingBuffer, "append", noting(GroupingBuffer.append, sizes))
    write(tmp_path / "out", rows, **OPTIONS)
    assert len(sizes) >= 2, "names of parts and of shards pass by"
    assert sum(sizes) < sum(len(row.image) for row in rows) / 10


def test_staging_runs_in_the_stage_of_the_step_before(rows, tmp_path):
    # Engines in Java begin a stage at every step with a side input, and send all elements to it.
    pipeline = beam.Pipeline(RUNNER)
    given(pipeline, rows) | WriteDataset(tmp_path / "out")
    steps = pipeline.to_runner_api().components.transforms.values()
    staging = [one for one in steps if "/StageImages" in one.unique_name and one.spec.urn == "beam:transform:pardo:v1"]
    assert [len(one.inputs) for one in staging] == [1]


def test_a_run_that_failed_is_continued(rows, written, tmp_path, monkeypatch):
    output = tmp_path / "out"
    bad = rows[-1]._replace(image=b"no image")
    with pytest.raises(Exception, match=r"1 of 24 images and records are bad, more than max_rejected='0' allows"):
        write(output, rows[:-1], [bad], **OPTIONS, max_rejected=0)
    assert not list(output.glob("*.tfrecord"))
    inventory = output / ".shardkit" / "inventory"
    (inventory / f"{TEMPORARY}1-0").write_bytes(b"")  # of a worker that was killed
    check, checked = images.check_fully, []
    monkeypatch.setattr(images, "check_fully", lambda data: checked.append(data) or check(data))
    write(output, rows[::-1], **OPTIONS)
    assert checked == [rows[-1].image], "the others were staged before"
    assert digests_of(output) == digests_of(written[0])


def test_a_pipeline_that_is_run_again_after_a_failure_plans_the_rows_that_it_has_then(rows, tmp_path, monkeypatch):
    (tmp_path / "label").write_text("a")

    def labelled(row):
        return row._replace(label=(tmp_path / "label").read_text() if row.key == "00.jpg" else row.label)

    pipeline = beam.Pipeline(RUNNER)
    given(pipeline, rows) | beam.Map(labelled) | WriteDataset(tmp_path / "out", **OPTIONS)
    with monkeypatch.context() as patched:
        patched.setattr(StagedConversion, "publish", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            pipeline.run().wait_until_finish()
    (tmp_path / "label").write_text("b")
    with pytest.raises(Exception, match=r"holds an interrupted conversion that differs: the source's files, or the op"):
        pipeline.run().wait_until_finish()
    (tmp_path / "label").write_text("a")
    pipeline.run().wait_until_finish()
    write(tmp_path / "wanted", rows, **OPTIONS)
    assert digests_of(tmp_path / "out") == digests_of(tmp_path / "wanted")


def test_the_same_rows_again_change_nothing_and_others_are_refused(rows, written):
    output, (first, _) = written
    before = digests_of(output)
    found, counters = write(output, rows, **OPTIONS)
    assert (found["manifest"], "shards_written" in counters) == (first["manifest"], False)
    with pytest.raises(Exception, match=r"holds a dataset converted differently: .*overwrite=True"):
        write(output, rows[1:], **OPTIONS)
    assert digests_of(output) == before


@pytest.mark.parametrize("transform", [WriteDataset("out"), ConvertImages("photos", "out")])
def test_nothing_comes_out_before_the_dataset_is_published(transform):
    # By the graph: a runner for one process may happen to run a step late.
    pipeline = beam.Pipeline(RUNNER)
    is_source = isinstance(transform, ConvertImages)
    written = (pipeline if is_source else given(pipeline, [Example("1.png")])) | transform
    for output in written.values():
        before, left = set(), [output.producer]
        while left:
            step = left.pop()
            before.add(step.full_label.rpartition("/")[2])
            if not step.full_label.endswith("/Publish"):
                left += [one.producer for one in step.inputs if isinstance(one, beam.PCollection)]
        assert "Publish" in before
        assert not {"StageImages", "WriteShards", "Create", "Start"} & before, before


def test_bad_rows_are_dead_letters_with_key_and_reason(rows, tmp_path):
    bad = [
        rows[0]._replace(key="damaged.jpg", image=rows[0].image[:-100]),
        rows[0]._replace(key="unlabelled.jpg", label=None),
        rows[0]._replace(key="copy.jpg"),
    ]

    def made(pipeline):
        with ErrorHandler(beam.Map(lambda one: one)) as handler:
            transform = WriteDataset(tmp_path / "out", dedupe="drop", max_rejected="10%", **OPTIONS)
            given(pipeline, rows, bad) | transform.with_error_handler(handler)
        return {"rejects": handler.output()}

    found, counters = collected(made)
    wanted = [("copy.jpg", "duplicate"), ("damaged.jpg", "truncated"), ("unlabelled.jpg", "no_label")]
    assert sorted((one.key, one.reason) for one in found["rejects"]) == wanted
    table = pq.read_table(tmp_path / "out" / "rejected.parquet").to_pylist()
    assert {tuple(row.values()) for row in table} == {tuple(one)[:4] for one in found["rejects"]}
    assert {name: counters[f"rejected_{name}"] for _, name in wanted} == {name: 1 for _, name in wanted}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"image": picture(99)}, "two rows with different images have the key '00.jpg'; give each image a key"),
        ({"label": "b"}, "two rows with different labels have the key '00.jpg'"),
        ({"group": "another"}, "two rows with different groups have the key '00.jpg'"),
        ({"key": "other", "label": None, "labels": ["a"]}, "the row '00.jpg' has label, and 'other' has labels"),
        ({"key": "other", "label": None, "target": 1.5}, "the row '00.jpg' has label, and 'other' has target"),
        ({"label": None, "target": "1.5"}, "00.jpg: target must be a number; found '1.5'"),
        ({"label": 0.5}, "00.jpg: label must be text or a whole number; found 0.5"),
    ],
)
def test_rows_that_contradict_each_other_are_refused(changed, said, rows, tmp_path):
    def made(pipeline):
        several = pipeline | beam.Create([rows, [rows[0]._replace(**changed)]], reshuffle=False)
        return {"manifest": (several | beam.FlatMap(iter) | WriteDataset(tmp_path / "out")).manifest}

    with pytest.raises(Exception, match=said):
        collected(made)


def test_a_narrow_range_of_16_bits_fails_the_pipeline_until_it_is_mapped(tmp_path):
    arrays = [np.random.default_rng(i).integers(0, 4096, (16, 16)).astype(np.uint16) for i in range(6)]
    pictures = [testing.encoded(Image.fromarray(one)) for one in arrays]
    rows = [Example(f"{i}.png", one, label="ab"[i % 2]) for i, one in enumerate(pictures)]
    with pytest.raises(Exception, match=r"the high 8 bits would keep 16 levels of 256") as stopped:
        write(tmp_path / "out", rows)
    assert "scale=auto" in str(stopped.value)
    write(tmp_path / "auto", rows, bit_depth="scale=auto")
    low, high = (end(map(end, (one.ravel() for one in arrays))) for end in (min, max))
    write(tmp_path / "range", rows, bit_depth=f"scale={low}:{high}")
    images_of = [
        [shardkit.open(tmp_path / name, "train")[row.key]["image"] for row in rows] for name in ("auto", "range")
    ]
    assert images_of[0] == images_of[1]
    write(tmp_path / "out", rows, stored=Stored(bit_depth="scale=0:4095"))
    stored = shardkit.open(tmp_path / "out", "train")["0.png"]["image"]
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(stored))), np.rint(arrays[0] * 255.0 / 4095))
    write(tmp_path / "as it is", rows, accept=["narrow_bit_depth"])


def test_no_rows_are_refused(tmp_path):
    with pytest.raises(Exception, match="the PCollection has no rows"):
        write(tmp_path / "out", [])


OF_SOURCES = {
    *("layout", "root", "ignore", "without_annotation", "drop_repeated_boxes", "readmit", "reading"),
    *("label", "split", "group", "boxes", "mask", "features", "images", "match", "keep_truncated"),
    *("image_column", "label_columns", "label_separator", "label_type", "uncertain", "path_prefix", "split_column"),
    *("label_pattern", "class_level", "where", "drop", "labels", "key_prefix"),
}
OF_BOTH = {"classes", "unlabelled", "group_by", "image_feature", "label_feature"}


def test_each_option_of_convert_belongs_to_reading_to_writing_to_both_or_to_the_pipeline(monkeypatch):
    # Any value: what a transform does not take is told before.
    monkeypatch.setattr(arguments, "read_arguments", lambda _, given: given)
    monkeypatch.setattr(arguments, "grouped", dict)
    monkeypatch.setattr(arguments, "refuse_unknown", lambda *_: None)
    names = {name for name, one in OPTIONS_OF_CONVERT.items() if "convert" in one.commands} | {
        "beam_options",
        "listener",
    }

    def taken(transform):
        for name in names:
            with contextlib.suppress(CallError):
                yield from arguments.read_given(transform, {name: "decode"})

    assert names - set(taken("ConvertImages")) == {"workers", "beam_options", "listener"}
    assert set(taken("ReadImages")) == OF_SOURCES | OF_BOTH
    assert names - set(taken("WriteDataset")) == OF_SOURCES | {"workers", "beam_options", "listener"}


def test_wrong_calls_are_refused_when_the_pipeline_is_made(rows, tmp_path):
    with pytest.raises(CallError, match=r"check='header' leaves images unread, and WriteDataset decodes each .*; l"):
        WriteDataset(tmp_path, check="header")
    with pytest.raises(CallError, match=r"max_rejected is a count"):
        WriteDataset(tmp_path, max_rejected="many")
    with pytest.raises(CallError, match=r"resize"):
        WriteDataset(tmp_path, resize=0)
    with pytest.raises(CallError, match=r"layout says how a source is read; give it to ReadImages"):
        WriteDataset(tmp_path, layout="coco")
    with pytest.raises(CallError, match=r"WriteDataset\(\) has no argument 'shard'; did you mean 'shards'"):
        WriteDataset(tmp_path, shard=2)
    pipeline = beam.Pipeline(RUNNER)
    with pytest.raises(CallError, match=r"unbounded; .* shardkit.append\(DATASET, FOLDER\)"):
        pipeline | PeriodicImpulse() | WriteDataset(tmp_path / "out")
    with pytest.raises(CallError, match="the rows have a field 'lable'; did you mean 'label'"):
        _ = (
            pipeline
            | beam.Create([1])
            | beam.Map(lambda one: beam.Row(key=str(one), lable="a"))
            | "Misspelt" >> WriteDataset(tmp_path / "out")
        )


def test_files_of_others_in_the_output_are_refused_by_a_worker_before_an_image_is_decoded(rows, tmp_path, monkeypatch):
    (tmp_path / "notes.txt").write_text("mine")
    monkeypatch.setattr(images, "check_fully", lambda _: pytest.fail("decoded"))
    with pytest.raises(Exception, match=r"holds 'notes\.txt', which is not part of a dataset"):
        write(tmp_path, rows)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_pipeline_that_runs_twice_draws_two_tokens_and_each_is_the_same_in_all_steps(rows, tmp_path, monkeypatch):
    runs = []
    for name in ("plan", "publish"):
        step = getattr(StagedConversion, name)
        monkeypatch.setattr(
            StagedConversion, name, lambda task, *given, step=step: runs.append(task.run) or step(task, *given)
        )
    pipeline = beam.Pipeline(RUNNER)
    given(pipeline, rows[:2]) | WriteDataset(tmp_path / "out")
    for _ in range(2):
        pipeline.run().wait_until_finish()
    assert len(runs) == 4, "planned and published twice"
    assert runs[0] == runs[1] != runs[2] == runs[3]


@pytest.mark.slow  # for two processes of Beam
@pytest.mark.usefixtures("real_pickles")
def test_two_processes_give_the_same_files(rows, written, tmp_path):
    places = ["--direct_num_workers=2", "--direct_running_mode=multi_processing"]
    with beam.Pipeline(RUNNER, options=PipelineOptions(places)) as pipeline:
        given(pipeline, rows[::2], rows[1::2]) | WriteDataset(tmp_path / "out", **OPTIONS)
    assert digests_of(tmp_path / "out") == digests_of(written[0])


def test_a_pipeline_that_resumed_and_published_runs_again_with_other_rows(rows, tmp_path, monkeypatch):
    def labelled(row):
        return row._replace(label=(tmp_path / "label").read_text() if row.key == "00.jpg" else row.label)

    (tmp_path / "label").write_text("a")
    with monkeypatch.context() as patched:
        patched.setattr(StagedConversion, "publish", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write(tmp_path / "out", rows, **OPTIONS)
    pipeline = beam.Pipeline(RUNNER)
    given(pipeline, rows) | beam.Map(labelled) | WriteDataset(tmp_path / "out", **OPTIONS, overwrite=True)
    pipeline.run().wait_until_finish()
    (tmp_path / "label").write_text("b")
    pipeline.run().wait_until_finish()
    write(tmp_path / "wanted", [rows[0]._replace(label="b"), *rows[1:]], **OPTIONS)
    assert digests_of(tmp_path / "out") == digests_of(tmp_path / "wanted")


def test_bundles_that_run_twice_give_the_same_files(rows, written, tmp_path):
    options = PipelineOptions(runner=RUNNER, direct_runner_bundle_repeat=1)
    with beam.Pipeline(options=options) as pipeline:
        given(pipeline, rows) | WriteDataset(tmp_path / "out", **OPTIONS)
    assert digests_of(tmp_path / "out") == digests_of(written[0])


def test_serialized_examples_are_read_as_convert_reads_them(written, rows, tmp_path):
    # Records of a dataset: their own keys, numbers of classes with their names in `classes`, no groups.
    records = [data for path in written[0].glob("*.tfrecord") for data in records_of(path)]

    def made(pipeline):
        records_in = pipeline | beam.Create([*records, records[0], b"no example"], reshuffle=False)
        transform = WriteDataset(tmp_path / "out", classes=["a", "b"], **OPTIONS)
        return records_in | transform

    found, _ = collected(made)
    assert [one.reason for one in found["rejects"]] == ["damaged"]
    write(tmp_path / "rows", [row._replace(group=None) for row in rows], classes=["a", "b"], **OPTIONS)
    assert shards_of(tmp_path / "out") == shards_of(tmp_path / "rows")


def records_of(path):
    with path.open("rb") as file:
        return [bytes(data) for _, data in tfrecord.read_records(file, name=path.name)]


def test_an_object_store_gets_the_same_files(rows, written, s3_bucket):
    write(f"{s3_bucket}/out", rows, **OPTIONS)
    assert digests_of(f"{s3_bucket}/out") == digests_of(written[0])


@pytest.mark.slow
def test_a_group_of_a_gibibyte_and_a_half_takes_little_memory(tmp_path):
    program = Path(__file__).with_name("large_group.py")
    done = subprocess.run(
        [sys.executable, program, tmp_path / "out"], env=environment(), capture_output=True, text=True, check=True
    )
    manifest = shardkit.read_manifest(str(tmp_path / "out"))
    assert sum(shard.num_bytes for _, shard in manifest.shards()) > 3 << 29
    assert int(done.stdout) < 600  # MiB


def test_drop_compares_pixels_as_convert_does(tmp_path):
    files = {f"{'ab'[number % 2]}/{number:02d}.jpg": encoded(page(number)) for number in range(16)}
    files |= {f"b/{number:02d}-half.jpg": COPIES["half"](page(number)) for number in range(0, 16, 4)}
    source = write_tree(tmp_path / "source", files)
    options = {"dedupe": "drop", "max_rejected": "50%", **OPTIONS}
    shardkit.convert(source, tmp_path / "converted", **options)
    write(tmp_path / "written", rows_of(source), **options)
    assert shards_of(tmp_path / "written") == shards_of(tmp_path / "converted")
    assert manifest_of(tmp_path / "written")["rejected"]["by_reason"] == {"duplicate": 4}
