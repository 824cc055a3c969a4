"""Beam YAML names the transforms by the providers that are shipped."""

import json

import pytest
import yaml
from apache_beam import Pipeline
from apache_beam.options.pipeline_options import PipelineOptions

import shardkit
from shardkit.testing import write_class_folders

from ..cli.calling import IN_PROCESS_RUNNER, SAMPLE_DATA
from ..pages import CHECKOUT

pytest.importorskip("pandas", reason="Beam YAML needs apache-beam[yaml]")
SHIPPED = (CHECKOUT / "pipelines" / "transforms.yaml").read_text(encoding="utf-8")
PROVIDERS = yaml.safe_load(SHIPPED)


def run(*transforms):
    from apache_beam.yaml.yaml_transform import SafeLineLoader, expand_pipeline  # it takes seconds to import

    spec = {"pipeline": {"type": "composite", "transforms": [*transforms]}, "providers": PROVIDERS}
    with Pipeline(options=PipelineOptions([IN_PROCESS_RUNNER])) as pipeline:
        expand_pipeline(pipeline, yaml.load(yaml.safe_dump(spec), Loader=SafeLineLoader))  # noqa: S506 - a safe one


def lines_of(folder, pattern):
    [found] = folder.glob(pattern)
    return found.read_text().splitlines()


def test_datasets_are_written_converted_and_read_by_pipelines_in_yaml(tmp_path):
    rows = [
        {"key": f"{label}/{i}", "uri": str(path), "label": label}
        for label in ("circle", "star")
        for i, path in enumerate(sorted((SAMPLE_DATA / "shapes" / label).iterdir())[:3])
    ]
    run(
        {"type": "Create", "config": {"elements": rows}},
        {"type": "WriteDataset", "input": "Create", "config": {"output": str(tmp_path / "out"), "resize": 16}},
        {"type": "WriteToJson", "input": "WriteDataset.manifest", "config": {"path": str(tmp_path / "manifest")}},
    )
    manifest = shardkit.read_manifest(tmp_path / "out")
    assert (manifest.split("train").num_examples, manifest.classes) == (6, ["circle", "star"])
    write_class_folders(tmp_path / "photos", {"ant": 2, "bee": 2})
    ants = {"keep": "label == 'ant'", "language": "python"}
    run(
        {"type": "ReadImages", "config": {"source": str(tmp_path / "photos"), "label": "path:0"}},
        {"type": "Filter", "input": "ReadImages", "config": ants},
        {"type": "WriteDataset", "input": "Filter", "config": {"output": str(tmp_path / "ants")}},
    )
    assert shardkit.read_manifest(tmp_path / "ants").classes == ["ant"]
    (tmp_path / "photos" / "bee" / "cut.jpg").write_bytes(b"\xff\xd8 no picture")
    files = sorted((tmp_path / "photos").rglob("*.*"))
    lines = ["image,label", *(f"{path.relative_to(tmp_path)},{path.parent.name}" for path in files), "photos/none.png,"]
    (tmp_path / "labels.csv").write_text("\n".join(lines))
    source, errors = {"source": str(tmp_path / "labels.csv")}, {"error_handling": {"output": "errors"}}
    read = {"examples": "CheckImages.examples", "source": "ReadImages.source", "rejects": "ReadImages.errors"}
    written = {"output": str(tmp_path / "written"), "max_rejected": 1}
    run(
        {"type": "ReadImages", "config": {**source, **errors}},
        {"type": "CheckImages", "input": "ReadImages.examples", "config": errors},
        {"type": "WriteDataset", "input": read, "config": written},
        {"type": "WriteToJson", "input": "CheckImages.errors", "config": {"path": str(tmp_path / "bad")}},
        {"type": "WriteToJson", "input": "WriteDataset.rejects", "config": {"path": str(tmp_path / "rejects")}},
    )
    rejects = [json.loads(line) for name in ("bad*", "rejects*") for line in lines_of(tmp_path, name)]
    assert [(one["key"], one["reason"]) for one in rejects] == [
        ("photos/bee/cut.jpg", "not_an_image"),
        ("photos/none.png", "no_label"),
    ]
    assert shardkit.read_manifest(tmp_path / "written").source.layout == "table (CSV)"
    folders = {
        "source": str(tmp_path / "photos"),
        "output": str(tmp_path / "converted"),
        "shards": 1,
        "max_rejected": 1,
    }
    stars = {"dataset": str(tmp_path / "out"), "split": "train", "where": "label_name = 'star'"}
    fields = {"key": "key", "label": "label", "side": "min(height, width)", "has_image": "len(image) > 99"}
    run(
        {"type": "ConvertImages", "config": folders},
        {"type": "ReadDataset", "config": stars},
        {"type": "MapToFields", "input": "ReadDataset", "config": {"language": "python", "fields": fields}},
        {"type": "WriteToJson", "input": "MapToFields", "config": {"path": str(tmp_path / "rows")}},
    )
    assert shardkit.read_manifest(tmp_path / "converted").classes == ["ant", "bee"]
    read = [json.loads(line) for line in lines_of(tmp_path, "rows*")]
    assert sorted(one["key"] for one in read) == [f"star/{i}" for i in range(3)]
    assert {(one["label"], one["side"], one["has_image"]) for one in read} == {(1, 16, True)}


def test_the_page_shows_the_providers_that_are_shipped():
    page = (CHECKOUT / "shardkit" / "beam" / "transforms.md").read_text(encoding="utf-8")
    [shown] = [block for block in page.split("```") if "\nproviders:\n" in block]
    assert yaml.safe_load(shown.removeprefix("text"))["providers"] == PROVIDERS
