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
    folders = {"source": str(tmp_path / "photos"), "output": str(tmp_path / "converted"), "shards": 1}
    stars = {"dataset": str(tmp_path / "out"), "split": "train", "where": "label_name = 'star'"}
    fields = {"key": "key", "label": "label", "side": "min(height, width)", "has_image": "len(image) > 99"}
    run(
        {"type": "ConvertImages", "config": folders},
        {"type": "ReadDataset", "config": stars},
        {"type": "MapToFields", "input": "ReadDataset", "config": {"language": "python", "fields": fields}},
        {"type": "WriteToJson", "input": "MapToFields", "config": {"path": str(tmp_path / "rows")}},
    )
    assert shardkit.read_manifest(tmp_path / "converted").classes == ["ant", "bee"]
    [found] = tmp_path.glob("rows*")
    read = [json.loads(line) for line in found.read_text().splitlines()]
    assert sorted(one["key"] for one in read) == [f"star/{i}" for i in range(3)]
    assert {(one["label"], one["side"], one["has_image"]) for one in read} == {(1, 16, True)}


def test_the_page_shows_the_providers_that_are_shipped():
    page = (CHECKOUT / "shardkit" / "beam" / "transforms.md").read_text(encoding="utf-8")
    [shown] = [block for block in page.split("```") if "\nproviders:\n" in block]
    assert yaml.safe_load(shown.removeprefix("text"))["providers"] == PROVIDERS
