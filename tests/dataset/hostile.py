"""Datasets as a stranger would make them: one lie in a manifest or an index, and every digest right."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shardkit.hashing import canonical_json, sha256_hex

SHARD = ("splits", "train", "shards", 0)
HUGE = 2**62


def with_manifest(dataset, folder, change):
    """Copy a dataset, change the fields of its manifest, and compute the digest anew."""
    shutil.copytree(dataset, folder)
    path = folder / "manifest.json"
    fields = json.loads(path.read_bytes())
    change(fields)
    del fields["digest"]
    fields["digest"] = sha256_hex(canonical_json(fields))
    path.write_text(json.dumps(fields, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return folder


def with_index(dataset, folder, change):
    """Copy a dataset, change the bytes of its first index, and compute its sha256 and the digest anew."""

    def renew(fields):
        shard = at(fields, SHARD)
        index = folder / shard["index"]["path"]
        index.write_bytes(change(index.read_bytes()))
        shard["index"]["sha256"] = sha256_hex(index.read_bytes())

    return with_manifest(dataset, folder, renew)


def at(fields, path):
    for step in path:
        fields = fields[step]
    return fields


def put(*path_and_value):
    """A change that replaces one value."""
    *path, last, value = path_and_value
    return lambda fields: at(fields, path).__setitem__(last, value)


def renamed(new):
    """A change that gives the split train another name, also in its generations and paths."""

    def change(fields):
        for one in [fields, *fields.get("generations", [])]:
            one["splits"] = {new if name == "train" else name: split for name, split in one["splits"].items()}

    return change


def moved(path):
    """A change that gives the first shard another path."""

    def change(fields):
        at(fields, SHARD)["path"] = path

    return change


def without_train(fields):
    del fields["splits"]["train"]


# Lies in a manifest, each with a part of the sentence about it.
MANIFESTS = {
    "split of another dataset": (renamed("../../mine/train"), "a split's name is a letter"),
    "absolute split": (renamed("/etc/train"), "a split's name is a letter"),
    "empty split name": (renamed(""), "a split's name is a letter"),
    "long split name": (renamed("a" * 101), "has 101 characters"),
    "split with a line break": (renamed("train\n"), "a split's name is a letter"),
    "other split": (renamed("other"), "the file at this place is 'other-00000-of"),
    "no splits": (put("splits", {}), "splits is empty"),
    "no shards": (put("splits", "train", "shards", []), "shards is empty"),
    "shard above": (moved("../mine/train-00000-of-00003.tfrecord"), "may not be used: it holds"),
    "shard in a folder": (moved("x/train-00000-of-00003.tfrecord"), "not in a folder of the dataset"),
    "other shard": (moved("train-00001-of-00003.tfrecord"), "the file at this place is"),
    "manifest as a shard": (moved("manifest.json"), "the file at this place is"),
    "manifest as an index": (put(*SHARD, "index", "path", "manifest.json"), "the file at this place is"),
    "manifest as a file": (put("files", 0, "path", "manifest.json"), "is that of two files"),
    "file above": (put("files", 0, "path", "../x"), "may not be used"),
    "one file twice": (lambda fields: fields["files"].append(fields["files"][0]), "is that of two files"),
    "records elsewhere": (put("records_root", ".."), "is not below records_root '..'"),
    "more shards than files": (
        lambda fields: at(fields, SHARD[:-1]).append(at(fields, SHARD)),
        "its parts make",
    ),
    "many examples": (put(*SHARD, "num_examples", HUGE), "should be less than or equal to 9007199254740991"),
    "many examples for the bytes": (put(*SHARD, "num_examples", 2**40), "its parts make"),
    "many bytes": (put(*SHARD, "num_bytes", 2**70), "less than or equal to"),
    "negative bytes": (put(*SHARD, "num_bytes", -1), "greater than or equal to 0"),
    "all with GPS": (put(*SHARD, "num_with_gps", 10**6), "with a GPS position"),
    "another sum": (put("splits", "train", "num_examples", 1), "num_examples is 1, its parts make"),
    "another sum of bytes": (put("splits", "train", "num_bytes", 1), "num_bytes is 1, its parts make"),
    "fewer class counts": (put("splits", "train", "class_counts", [1]), "its parts make 3"),
    "huge class counts": (put("splits", "train", "class_counts", 0, HUGE), "less than or equal to"),
    "other class counts": (put("splits", "train", "class_counts", [0, 0, 0]), "class_counts have a sum that is 0"),
    "other balance": (put("splits", "train", "balance", "count_spread", 9), "count_spread is 9, its parts make"),
    "endless balance": (put("splits", "train", "balance", "bytes_spread", 1e308), "bytes_spread is 1e+308"),
    "one more class": (lambda fields: fields["classes"].append("x"), "its parts make 4"),
    "a class twice": (put("classes", ["ant", "ant", "cat"]), "classes has a name twice"),
    "no classes": (put("classes", []), "its parts make 0"),
    "no image": (lambda fields: fields["features"].pop("image"), "features.image is not"),
    "a wide feature": (
        put("features", "depth", {"dtype": "float32", "role": "scalar", "shape": [2**30, 2**30]}),
        "features.depth.shape",
    ),
    "boxes of bytes": (put("features", "box", {"dtype": "bytes", "role": "bbox", "shape": []}), "has the role bbox"),
    "boxes of one side": (
        put("features", "box", {"dtype": "float32", "role": "bbox", "shape": [None]}),
        "features.box has the role bbox and the shape [null]",
    ),
    "classes with two sides": (put("features", "label", "shape", [None, None]), "the shape [null, null]"),
    "lists of lists": (
        put("features", "depth", {"dtype": "float32", "role": "scalar", "shape": [None, None]}),
        "features.depth has the role scalar and the shape [null, null]",
    ),
    "rejected": (put("rejected", "num_examples", 99), "rejected.num_examples is 99, its parts make"),
    "a map as an option": (put("options", "group_by", {"a": 1}), "options.group_by is a map"),
    "a list of lists as an option": (put("options", "dedupe", [[]]), "options.dedupe is not a text"),
    "no check": (put("options", "check", None), "options.check is not a text"),
    "groups by a number": (put("options", "group_by", 0), "options.group_by is not a text"),
    "options of a list": (put("options", []), "not valid at options"),
}
# The same for a dataset with two generations.
GENERATIONS = {
    "split of another dataset": (renamed("../../mine/train"), "a split's name is a letter"),
    "generation elsewhere": (put("generations", 1, "folder", "../mine"), "may not be used"),
    "another folder": (put("generations", 1, "folder", "x"), "generations.1.folder is 'x'"),
    "groups by a list": (put("options", "group_by", [None]), "options.group_by is not a text"),
    "no previous": (put("generations", 1, "previous", None), "generations.1.previous is None"),
    "many classes": (put("generations", 0, "num_classes", 10**9), "generations.0.num_classes is 1,000,000,000"),
    "fewer shards": (put("generations", 1, "splits", "train", "num_shards", 7), "num_shards is 7, its parts make"),
    "other splits": (put("generations", 1, "splits", {}), "has other names than the splits of its shards"),
    "one generation": (lambda fields: fields["generations"].pop(), "not in a folder of the dataset"),
}


def rows(change):
    """A change of an index that replaces its table, as shardkit would write it."""

    def changed(raw):
        file = pq.ParquetFile(pa.BufferReader(raw))
        table = change(file.read())
        summary = file.schema_arrow.metadata[b"shardkit.shard"]
        out = pa.BufferOutputStream()
        pq.write_table(table.replace_schema_metadata({b"shardkit.shard": summary}), out)
        return out.getvalue().to_pybytes()

    return changed


def column(name, values):
    """A change of an index that replaces a column; `values` is a function of its list."""

    def change(table):
        field = table.schema.field(name)
        changed = pa.array(values(table[name].to_pylist()), field.type)
        return table.set_column(table.column_names.index(name), field, changed)

    return rows(change)


def typed(name, kind):
    return rows(
        lambda table: table.set_column(table.column_names.index(name), name, pc.cast(table[name], kind, safe=False))
    )


def summary(**changed):
    """A change of the summary of an index."""

    def change(raw):
        file = pq.ParquetFile(pa.BufferReader(raw))
        fields = json.loads(file.schema_arrow.metadata[b"shardkit.shard"]) | changed
        out = pa.BufferOutputStream()
        pq.write_table(file.read().replace_schema_metadata({b"shardkit.shard": json.dumps(fields)}), out)
        return out.getvalue().to_pybytes()

    return change


def many_rows(table):
    """Rows that Parquet packs into a hundredth of their size."""
    return table.take(pa.array(np.zeros(500_000, np.int64)))


# Lies in an index, each with a part of the sentence about it.
INDEXES = {
    "a high image": (column("height", lambda values: [2**31 - 1, *values[1:]]), "the height of a record is 2147483647"),
    "no height": (column("height", lambda values: [0, *values[1:]]), "the height of a record is 0"),
    "a negative width": (column("width", lambda values: [-5, *values[1:]]), "the width of a record is -5"),
    "a huge offset": (column("offset", lambda values: [0, 2**62, *values[2:]]), "the offset of a record is"),
    "a negative offset": (column("offset", lambda values: [-1, *values[1:]]), "the offset of a record is -1"),
    "offsets that fall": (column("offset", lambda values: values[::-1]), "record 0 should start at byte 0"),
    "equal offsets": (column("offset", lambda values: [0, 0, *values[2:]]), "record 1 should start at byte"),
    "a huge length": (column("length", lambda values: [2**62, *values[1:]]), "the length of a record is"),
    "other lengths": (column("length", lambda values: [1, *values[1:]]), "record 1 should start at byte 17"),
    "an image behind its record": (
        column("image_bytes", lambda values: [999, *values[1:]]),
        "image of record 0 ends",
    ),
    "a negative image": (column("image_start", lambda values: [-9, *values[1:]]), "the image_start of a record is -9"),
    "another class": (column("label", lambda values: [3, *values[1:]]), "which is none of the manifest's 3 classes"),
    "a huge class": (column("label", lambda values: [2**31 - 1, *values[1:]]), "none of the manifest's 3 classes"),
    "a negative class": (column("label", lambda values: [-1, *values[1:]]), "the label of a record is -1"),
    "a huge class of several": (
        column("labels", lambda values: [[2**31 - 1], *values[1:]]),
        "none of the manifest's",
    ),
    "several without number": (column("labels", lambda values: [[None], *values[1:]]), "a list with a missing label"),
    "a class without name": (
        column("label_name", lambda values: [None, *values[1:]]),
        "the columns 'label' and 'label_name' do not lack the same values",
    ),
    "huge sources": (column("source_bytes", lambda values: [2**63 - 1] * len(values)), "the source_bytes of a record"),
    "offsets as text": (typed("offset", pa.string()), "the column 'offset' has the type string"),
    "wide heights": (typed("height", pa.int64()), "the column 'height' has the type int64"),
    "no keys": (rows(lambda table: table.drop_columns(["key"])), "the index lacks the column 'key'"),
    "fewer rows": (rows(lambda table: table.slice(1)), "rows, its summary says"),
    "no rows": (rows(lambda table: table.slice(0, 0)), "it has 0 rows, its summary says"),
    "many rows": (rows(many_rows), "take too much memory: 500,000 rows in a file"),
    "a summary of another size": (summary(num_bytes=2**40), "its records end at byte"),
    "a summary with text": (summary(num_examples="9"), "not an index written by shardkit"),
    "a summary with a negative size": (summary(num_bytes=-1), "not an index written by shardkit"),
}
