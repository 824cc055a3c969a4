"""``croissant.json``: MLCommons' description of a dataset (http://mlcommons.org/croissant/1.0).

Croissant describes files and the tables in them. It has no words for the records of a TFRecord file; its authors advise
to list such files and to leave out their records (github.com/mlcommons/croissant/issues/696). The indexes, however, are
Parquet: they are the record set ``examples``, which mlcroissant loads, with the key, label, split and size of every
example and the position of its record and its image in the shard.
"""

import re
from collections.abc import Iterable
from typing import Any

from shardkit import naming
from shardkit.dataset.features import LABEL, LABELS, OBJECT_LABELS
from shardkit.dataset.manifest import Manifest
from shardkit.dataset.stored_names import names_in_records
from shardkit.exporting.facts import Facts
from shardkit.hashing import sha256_hex
from shardkit.naming import printable_json

CROISSANT = "croissant.json"
CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
_TFRECORD = "application/x-tfrecord"  # not registered
_PARQUET = "application/x-parquet"
_NUMBERED = re.compile(r"-[0-9]{5,}-of-")
# What mlcroissant extracts from the path or name of an index. When it joins record sets it applies an expression again,
# to its own result, so each one also matches that; and it keeps one result for each property: no two take the same.
_SHARD_PATH = r"^(.+?)(?:\.index\.parquet)?$"
_SPLIT_NAME = r"^(.+?)(?:-[0-9]+-of-[0-9]+\.index\.parquet)?$"

# The context of the specification 1.0, in which the terms below are short.
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_SPLITS = {"train": "cr:TrainingSplit", "validation": "cr:ValidationSplit", "test": "cr:TestSplit"}
_COLUMNS = {
    "height": ("sc:Integer", "Height of the stored image in pixels."),
    "width": ("sc:Integer", "Width of the stored image in pixels."),
    "format": ("sc:Text", "Format of the stored image: JPEG or PNG."),
    "offset": ("sc:Integer", "Start of the record's frame in the shard, in bytes; its data start 12 bytes later."),
    "length": ("sc:Integer", "Length of the record's data in bytes."),
    "image_start": ("sc:Integer", "Start of the image in the record's data, in bytes."),
    "image_bytes": ("sc:Integer", "Length of the image in bytes."),
}


def croissant(manifest: Manifest, facts: Facts) -> bytes:
    """Return the content of ``croissant.json``; its paths are relative to the dataset's folder.

    Args:
        manifest: The dataset's manifest.
        facts: What the manifest does not say.
    """
    known = {
        "description": facts.description or _description(manifest),
        "license": facts.license_url,
        "url": facts.url,
        "creator": {"@type": "sc:Organization", "name": facts.creator} if facts.creator else None,
        "datePublished": facts.date_published,
        "citeAs": facts.cite_as,
        # The build of a semantic version: another manifest is another version.
        "version": f"1.0.0+{manifest.digest[:16]}",
    }
    described = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": facts.title or manifest.name,
        "conformsTo": CONFORMS_TO,
        **{name: value for name, value in known.items() if value is not None},
        "distribution": _distribution(manifest),
        "recordSet": [_splits(manifest), *_classes(manifest), _examples(manifest)],
    }
    return printable_json(described).encode() + b"\n"


def missing_facts(facts: Facts) -> list[str]:
    """Return the options for facts that Croissant requires and that are not given."""
    required = ("license", "url", "creator", "date_published")
    return [f"--{name.replace('_', '-')}" for name in required if getattr(facts, name) is None]


def _description(manifest: Manifest) -> str:
    splits = ", ".join(f"{name} {split.num_examples:,}" for name, split in manifest.splits.items())
    classes = f" of {naming.counted(len(manifest.classes), 'class')}" if manifest.classes else ""
    by = "" if manifest.is_adopted else " written by shardkit"
    unlabelled = f" {manifest.unlabelled_text}." if manifest.num_unlabelled else ""
    return f"Labelled images{classes} as TFRecord shards{by}; examples: {splits}.{unlabelled}"


def _distribution(manifest: Manifest) -> list[dict[str, Any]]:
    shards = [shard for _, shard in manifest.shards()]
    raw = manifest.to_bytes()
    features = ", ".join(
        f"{stored} ({feature.dtype}, {feature.role})"
        for name, feature in manifest.features.items()
        for stored in names_in_records(name, manifest.stored_as)
    )
    return [
        _file(naming.MANIFEST, "application/json", sha256_hex(raw), len(raw)),
        *(_file(table.path, _PARQUET, table.sha256, table.num_bytes) for table in manifest.shard_tables.values()),
        _files("shards", _TFRECORD, [shard.path for shard in shards], f"TFRecord of tf.train.Example: {features}."),
        _files("indexes", _PARQUET, [shard.index.path for shard in shards], "A row for each record of a shard."),
        *(_file(shard.path, _TFRECORD, shard.sha256, shard.num_bytes) for shard in shards),
        *(_file(shard.index.path, _PARQUET, shard.index.sha256) for shard in shards),
    ]


def _file(path: str, kind: str, sha256: str, num_bytes: int | None = None) -> dict[str, Any]:
    size = {} if num_bytes is None else {"contentSize": f"{num_bytes} B"}
    names = {"@type": "cr:FileObject", "@id": path, "name": path.rpartition("/")[2]}
    return {**names, **size, "contentUrl": path, "encodingFormat": kind, "sha256": sha256}


def _files(name: str, kind: str, paths: Iterable[str], description: str) -> dict[str, Any]:
    # One pattern for all shards of a split; a path without a number is its own pattern.
    patterns = [*dict.fromkeys(_NUMBERED.sub("-*-of-", path) for path in paths)]
    described = {"@type": "cr:FileSet", "@id": name, "name": name, "description": description}
    return {**described, "encodingFormat": kind, "includes": patterns}


def _splits(manifest: Manifest) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": "splits",
        "name": "splits",
        "description": "Splits of the dataset.",
        "dataType": "cr:Split",
        "key": {"@id": "splits/name"},
        "field": [
            _field("splits/name", "sc:Text", "Name of the split."),
            _field("splits/url", "sc:URL", "Meaning of the split; empty for a split of another kind."),
        ],
        "data": [{"splits/name": name, "splits/url": _SPLITS.get(name, "")} for name in manifest.splits],
    }


def _classes(manifest: Manifest) -> list[dict[str, Any]]:
    if not manifest.classes:
        return []
    fields = [
        _field("classes/label", "sc:Integer", "Number of the class in the records."),
        _field("classes/name", "sc:Text", "Name of the class."),
    ]
    rows = [{"classes/label": label, "classes/name": name} for label, name in enumerate(manifest.classes)]
    described = {"@type": "cr:RecordSet", "@id": "classes", "name": "classes", "description": "Classes in label order."}
    return [{**described, "dataType": "sc:Enumeration", "key": {"@id": "classes/label"}, "field": fields, "data": rows}]


def _field(name: str, kind: str | list[str], description: str) -> dict[str, Any]:
    return {"@type": "cr:Field", "@id": name, "name": name, "description": description, "dataType": kind}


def _examples(manifest: Manifest) -> dict[str, Any]:
    fields = [_column("key", "sc:Text", "Path of the image in the source, unique.")]
    if all(_match(_SPLIT_NAME, shard.index.path.rpartition("/")[2]) == split for split, shard in manifest.shards()):
        named = _from_file("split", "filename", _SPLIT_NAME, "Split of the example.")
        fields.append(named | {"references": {"field": {"@id": "splits/name"}}})
    features = manifest.features
    if LABEL in features and features[LABEL].role == "class_label":
        number = _column("label", ["sc:Integer", "cr:Label"], "Number of the class.")
        fields.append(number | {"references": {"field": {"@id": "classes/label"}}})
        fields.append(_column("label_name", ["sc:Text", "cr:Label"], "Name of the class."))
    elif LABELS in features or OBJECT_LABELS in features:
        what = "of the image" if LABELS in features else "of the image's objects"
        fields.append(
            _column("labels", ["sc:Integer", "cr:Label"], f"Numbers of the classes {what}.") | {"repeated": True}
        )
    if manifest.source.groups is not None:
        fields.append(_column("group", "sc:Text", "Group whose images are in one split."))
    if all(
        f"{_match(_SHARD_PATH, shard.index.path)}{naming.RECORDS_ENDING}" == shard.path
        for _, shard in manifest.shards()
    ):
        fields.append(_from_file("shard", "fullpath", _SHARD_PATH, "Path of the shard, without its ending .tfrecord."))
    fields += [_column(name, kind, description) for name, (kind, description) in _COLUMNS.items()]
    return {
        "@type": "cr:RecordSet",
        "@id": "examples",
        "name": "examples",
        "description": "The examples, from the indexes; their images and annotations are in the shards.",
        "key": {"@id": "examples/key"},
        "field": fields,
    }


def _column(name: str, kind: str | list[str], description: str) -> dict[str, Any]:
    source = {"fileSet": {"@id": "indexes"}, "extract": {"column": name}}
    return _field(f"examples/{name}", kind, description) | {"source": source}


def _from_file(name: str, file_property: str, regex: str, description: str) -> dict[str, Any]:
    """Return a field that is a part of the path or name of the index."""
    extract = {"fileProperty": file_property}
    source = {"fileSet": {"@id": "indexes"}, "extract": extract, "transform": {"regex": regex}}
    return _field(f"examples/{name}", "sc:Text", description) | {"source": source}


def _match(expression: str, text: str) -> str | None:
    found = re.match(expression, text)
    return found and found[1]
