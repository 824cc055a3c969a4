"""`croissant.json` says what is true of the files; tests/exporting/test_mlcroissant.py has it read by mlcroissant."""

import fnmatch
import hashlib
import json
import re

import pytest

from shardkit.dataset.features import BOXES, CLASS_LABELS, Feature
from shardkit.errors import CallError
from shardkit.exporting import Facts
from shardkit.exporting.croissant import croissant, missing_facts

from ..comparison.making import Made, write_dataset

SPLITS = {"train": [Made(f"{i}.png", i % 2) for i in range(5)], "hard cases": [Made("x.png")]}
SPLITS = {name.replace(" ", "_"): examples for name, examples in SPLITS.items()}
REQUIRED = {"@context", "@type", "name", "conformsTo", "description", "license", "url", "creator", "datePublished"}
FACTS = Facts(license="cc-by-4.0", url="https://example.org", creator="Example", date_published="2026-05-31")


def described(folder, facts=FACTS, splits=SPLITS, **options):
    return json.loads(croissant(write_dataset(folder / "out", splits, **options), facts))


def by_id(nodes):
    found = {node["@id"]: node for node in nodes}
    assert len(found) == len(nodes)
    return found


def test_every_shard_and_index_is_listed_with_its_sha256_and_size(tmp_path):
    nodes = by_id(described(tmp_path)["distribution"])
    files = {name: node for name, node in nodes.items() if node["@type"] == "cr:FileObject"}
    assert files.keys() == {path.name for path in (tmp_path / "out").iterdir()}
    for name, node in files.items():
        raw = (tmp_path / "out" / node["contentUrl"]).read_bytes()
        assert node["sha256"] == hashlib.sha256(raw).hexdigest()
        assert node.get("contentSize", f"{len(raw)} B") == f"{len(raw)} B"
        assert node["name"] == name


@pytest.mark.parametrize(("name", "ending"), [("shards", ".tfrecord"), ("indexes", ".index.parquet")])
def test_the_patterns_of_a_set_match_its_files_only(tmp_path, name, ending):
    patterns = by_id(described(tmp_path)["distribution"])[name]["includes"]
    (tmp_path / "out" / f"train-00000-of-00003{ending}").touch()  # of an earlier conversion
    there = [path.name for path in (tmp_path / "out").iterdir()]
    matched = {one for one in there for pattern in patterns if fnmatch.fnmatch(one, pattern)}
    assert matched == {f"{stem}{ending}" for stem in ("train-00000-of-00002", "train-00001-of-00002", HARD)}


HARD = "hard_cases-00000-of-00001"


def test_what_the_specification_requires_is_there_if_it_is_known(tmp_path):
    found = described(tmp_path)
    assert found.keys() >= REQUIRED
    assert found["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    assert found["license"] == "https://spdx.org/licenses/CC-BY-4.0.html"
    assert missing_facts(FACTS) == []


def test_what_is_not_known_is_left_out_and_named(tmp_path):
    found = described(tmp_path, Facts())
    assert REQUIRED - found.keys() == {"license", "url", "creator", "datePublished"}
    assert missing_facts(Facts()) == ["--license", "--url", "--creator", "--date-published"]
    assert found["description"].startswith("Labelled images of 2 classes")


def test_all_references_lead_somewhere(tmp_path):
    found = described(tmp_path)
    fields = [field for one in found["recordSet"] for field in one["field"]]
    known = by_id([*found["distribution"], *found["recordSet"], *fields]).keys()
    sources = [field["source"]["fileSet"]["@id"] for field in fields if "source" in field]
    references = [field["references"]["field"]["@id"] for field in fields if "references" in field]
    keys = [one["key"]["@id"] for one in found["recordSet"]]
    assert {*sources, *references, *keys} <= known
    for one in found["recordSet"]:
        for row in one.get("data", []):
            assert row.keys() == {field["@id"] for field in one["field"]}


def test_classes_and_splits_are_enumerated(tmp_path):
    sets = by_id(described(tmp_path)["recordSet"])
    assert [row["classes/name"] for row in sets["classes"]["data"]] == ["cat", "dog"]
    urls = [(row["splits/name"], row["splits/url"]) for row in sets["splits"]["data"]]
    assert urls == [("train", "cr:TrainingSplit"), ("hard_cases", "")]


def test_columns_are_those_of_the_index(tmp_path):
    import pyarrow.parquet as pq

    fields = by_id(by_id(described(tmp_path)["recordSet"])["examples"]["field"])
    columns = {one["source"]["extract"].get("column") for one in fields.values()} - {None}
    assert columns <= {*pq.read_schema(tmp_path / "out" / f"{HARD}.index.parquet").names}
    name = f"{HARD}.index.parquet"
    for field, value in (("examples/split", "hard_cases"), ("examples/shard", HARD)):
        expression = fields[field]["source"]["transform"]["regex"]
        assert re.match(expression, name)[1] == value
        assert re.match(expression, value)[1] == value


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"label", "label_name"}),
        ({"label": CLASS_LABELS}, {"labels"}),
        ({"label": None, "features": {"objects/bbox": BOXES, "objects/label": CLASS_LABELS}}, {"labels"}),
        ({"label": Feature(dtype="float32", role="scalar")}, set()),
    ],
)
def test_the_labels_of_every_kind_of_dataset_have_their_field(tmp_path, options, expected):
    fields = by_id(by_id(described(tmp_path, splits={"train": []}, **options)["recordSet"])["examples"]["field"])
    assert {name.partition("/")[2] for name in fields if "label" in name} == expected


@pytest.mark.parametrize(
    "wrong", [{"license": " "}, {"url": "example.org"}, {"date_published": "31.5.2026"}, {"creator": ""}]
)
def test_wrong_facts_are_refused(wrong):
    with pytest.raises(CallError):
        Facts(**wrong)
