"""Readings survive YAML, JSON and the short form of flags, and say which field is wrong."""

import json
import re

import pytest
import yaml

from shardkit.errors import CallError
from shardkit.sources.readings.flags import origin_text, parse_origin
from shardkit.sources.readings.text import digest, from_data, to_data, to_yaml
from shardkit.sources.readings.values import (
    Annotation,
    Column,
    Constant,
    Images,
    Labels,
    Listed,
    Paired,
    PathPart,
    PathRegex,
    Reading,
)

READINGS = [
    Reading(),
    Reading(label=Labels(PathPart(-1, {"off": None, "Yes": "yes"})), classes=("no", "yes")),
    Reading(
        Images("photos", exclude=("thumbs/",), unlabelled=("unsorted/",), unnamed="ignore"),
        Labels(
            Column(("dx",), ("a.csv", "b.csv"), ("file",), "-", "stem", "raw", {"b.csv": "."}, ("C:\\x=",)), "class"
        ),
        split=Listed({"train.txt": "train"}, "file", "name", rest="test"),
        group=PathRegex(r"^(p[0-9]+)_", of="name"),
        features={"age": Column(("age",), ("m.csv",), fold=True), "site": Constant("north")},
    ),
    Reading(
        boxes=Annotation("coco", ("annotations/*.json",), "train2017", options={"task": "instances"}),
        mask=Paired("masks/{stem}_m.png", "{stem}_img", {"more/{stem}": "{stem}"}, "classes.txt"),
        without_annotation="negative",
        ignore=("*.log",),
        archives=("images.zip",),
    ),
    Reading(label=Labels(Column(("a", "b"), ("t.csv",)), "indicators", minus_one="drop")),
]


@pytest.mark.parametrize("reading", READINGS)
def test_a_reading_survives_yaml_and_json(reading: Reading) -> None:
    from_yaml = from_data(yaml.load(to_yaml(reading), yaml.BaseLoader), "reading.yaml")  # noqa: S506 - it makes texts only
    from_json = from_data(json.loads(json.dumps(to_data(reading))), "manifest.json")
    assert from_yaml == from_json == reading
    assert digest(from_yaml) == digest(reading)


def test_readings_that_differ_have_other_digests() -> None:
    assert len({digest(one) for one in READINGS}) == len(READINGS)


@pytest.mark.parametrize(
    ("text", "fact", "origin"),
    [
        ("path:1", "label", PathPart(1)),
        ("path:-1", "split", PathPart(-1)),
        ("name:^([a-z]+)_", "label", PathRegex("^([a-z]+)_")),
        ("tree:/(p[0-9]+)/", "group", PathRegex("/(p[0-9]+)/", of="path")),
        ("labels.csv:diagnosis", "label", Column(("diagnosis",), ("labels.csv",))),
        ("a.csv;b.csv:x,y", "label", Column(("x", "y"), ("a.csv", "b.csv"))),
        ("train.txt=train,val.txt=validation", "split", Listed({"train.txt": "train", "val.txt": "validation"})),
        ("coco:annotations/*.json", "boxes", Annotation("coco", ("annotations/*.json",))),
        ("darwin:annotations/*.json", "boxes", Annotation("darwin", ("annotations/*.json",))),
        ("voc", "boxes", Annotation("voc", ())),
        ("masks/{stem}_m.png", "mask", Paired("masks/{stem}_m.png")),
        ("m/{stem}=i/{stem}_sat", "mask", Paired("m/{stem}", "i/{stem}_sat")),
        ("m/{stem},n/{stem}={stem}_n", "mask", Paired("m/{stem}", also={"n/{stem}": "{stem}_n"})),
        ("a,b/{stem}.png", "mask", Paired("a,b/{stem}.png")),
        ("=cat", "label", Constant("cat")),
    ],
)
def test_flags_say_an_origin_in_short(text: str, fact: str, origin: object) -> None:
    found = parse_origin(text, "--label", fact)
    assert found == origin
    assert origin_text(found) == text


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"lable": "path:0"}, "did you mean label"),
        ({"label": {"path": "x"}}, "label: path: .*integer.*'x'"),
        ({"label": {"path": "1", "kid": "class"}}, "'kid' is not one of"),
        ({"label": {"path": "0", "column": "a"}}, "exactly one of"),
        ({"label": "labels"}, "is no origin"),
        ({"label": "name:cat"}, "has no group"),
        ({"label": "name:(cat"}, "not a regular expression"),
        ({"boxes": {"path": "0"}}, "boxes come from files of a format"),
        ({"mask": {"path": "0"}}, "masks are paired"),
        ({"images": "photos"}, "a mapping of root"),
        ({"features": "age"}, "a mapping of names"),
        ({"version": "2"}, "upgrade shardkit"),
        ({"without_annotation": "maybe"}, "'reject', 'negative' or 'ignore'"),
        ("path:0", "a reading is a mapping"),
    ],
)
def test_what_is_no_reading_is_refused_with_its_place(data: object, words: str) -> None:
    with pytest.raises(CallError, match=re.compile(words, re.DOTALL)) as refused:
        from_data(data, "r.yaml")
    assert str(refused.value).startswith("r.yaml: ")
