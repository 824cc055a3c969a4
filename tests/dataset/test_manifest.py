import json
from pathlib import Path

import pytest

import shardkit
from shardkit.dataset import features
from shardkit.dataset.manifest import FORMAT_VERSION, Manifest, parse_manifest, read_manifest, seal_manifest
from shardkit.errors import ManifestError, UnknownNameError
from shardkit.storage import open_folder
from shardkit.testing import write_tree

SHA = "0123456789abcdef" * 4
ROOT = open_folder("OUT")  # of a manifest that lists all shards, nothing is read
SCHEMA = Path(shardkit.__file__).parent / "dataset" / "manifest.schema.json"


def shard(name, num_bytes):
    return {
        "path": f"{name}.tfrecord",
        "num_examples": 3,
        "num_bytes": num_bytes,
        "sha256": SHA,
        "index": {"path": f"{name}.index.parquet", "sha256": SHA},
    }


def split(name, sizes):
    num_shards = len(sizes)
    return {
        "num_examples": 3 * num_shards,
        "num_bytes": sum(sizes),
        "class_counts": [2 * num_shards, num_shards],
        "balance": {"count_spread": 0, "class_spread": 1, "bytes_spread": round(max(sizes) / min(sizes) - 1, 6)},
        "shards": [shard(f"{name}-{i:05d}-of-{num_shards:05d}", size) for i, size in enumerate(sizes)],
    }


def fields():
    return {
        "name": "pets",
        "features": features.CLASSIFICATION,
        "classes": ["k\u00e4tzchen", "big\nddog"],
        "splits": {"train": split("train", [300, 670]), "test": split("test", [300])},
        "source": {
            "fingerprint": SHA,
            "layout": "class folders",
            "num_files": 10,
            "num_bytes": 12345,
            "skipped": {".txt": 1},
            "groups": None,
            "duplicates": 0,
        },
        "options": {"plan_version": 1, "splits": {"train": "2/3", "test": "1/3"}, "resize": None},
        "plan_digest": SHA,
        "rejected": {"num_examples": 1, "by_reason": {"empty": 1}},
        "files": [{"path": "rejected.parquet", "num_bytes": 5, "sha256": SHA}],
        "software": {"shardkit": "0"},
    }


def small():
    return seal_manifest(fields())


def parsed(changed):
    return parse_manifest(json.dumps(changed).encode(), ROOT, where="OUT/manifest.json")


def plain():
    """The manifest as a reader of JSON sees it."""
    return json.loads(small().to_bytes())


def test_parsing_is_the_inverse_of_writing():
    manifest = small()
    assert parse_manifest(manifest.to_bytes(), ROOT, where="x") == manifest
    assert manifest.to_bytes().isascii() is False  # names stay readable


def test_the_top_level_is_the_designs():
    assert list(plain()) == [
        "format_version",
        "name",
        "features",
        "classes",
        "splits",
        "source",
        "options",
        "plan_digest",
        "rejected",
        "files",
        "software",
        "digest",
    ]


def test_the_digest_is_over_values_not_over_text():
    reordered = dict(reversed(plain().items()))
    assert parsed(reordered) == small()


def leaves(value, path=()):
    if isinstance(value, dict):
        return [leaf for name, below in value.items() for leaf in leaves(below, (*path, name))]
    if isinstance(value, list):
        return [leaf for i, below in enumerate(value) for leaf in leaves(below, (*path, i))]
    return [path]


def with_leaf(path, new):
    changed = plain()
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = new(inner[path[-1]])
    return changed


@pytest.mark.parametrize("path", leaves(plain()), ids=str)
def test_no_value_can_be_changed_without_the_digest_or_the_model_telling(path):
    def another(value):
        if isinstance(value, str):
            return f"{'1' if value[0] == '0' else '0'}{value[1:]}"
        return 7 if value is None else value + 1

    with pytest.raises(ManifestError, match=r"^OUT/manifest\.json: "):
        parsed(with_leaf(path, another))


@pytest.mark.parametrize("version", [FORMAT_VERSION + 1, 10**30])
def test_a_newer_version_is_refused_with_a_clear_sentence_whatever_else_is_in_it(version):
    changed = plain() | {"format_version": version, "something_new": {}}
    with pytest.raises(ManifestError):
        parsed(changed)


@pytest.mark.parametrize("version", [0, -1, None, "one", 1.5, True, "1", 1.0, "2", 2.0], ids=repr)
def test_a_version_that_never_was_is_refused(version):
    changed = plain() | {"format_version": version}
    resealed = changed | {"digest": digest_anyway(changed)}
    with pytest.raises(ManifestError):
        parsed(resealed)


def digest_anyway(changed):
    from shardkit.hashing import canonical_json, sha256_hex

    return sha256_hex(canonical_json({name: value for name, value in changed.items() if name != "digest"}))


PATH_PLACES = [
    ("splits", "train", "shards", 0, "path"),
    ("splits", "test", "shards", 0, "index", "path"),
    ("files", 0, "path"),
]


# test_naming.py has the cases of relative_path_problem; here, every path is checked with it.
@pytest.mark.parametrize(
    "nasty", ["../secret", "/etc/passwd", "a/../../b", "", "C:\\x", "s3://bucket/x", "a\0b"], ids=repr
)
@pytest.mark.parametrize("place", PATH_PLACES, ids=str)
def test_a_path_outside_its_folder_is_refused(place, nasty):
    with pytest.raises(ManifestError) as raised:
        parsed(with_leaf(place, lambda _: nasty))
    assert ".".join(map(str, place)) in str(raised.value)


@pytest.mark.parametrize(
    "place",
    [(), ("splits", "train"), ("splits", "train", "shards", 0), ("source",), ("features", "image"), ("rejected",)],
    ids=str,
)
def test_an_unknown_field_is_refused_by_name(place):
    changed = plain()
    inner = changed
    for step in place:
        inner = inner[step]
    inner["surprise"] = 1
    with pytest.raises(ManifestError, match=r"not valid at .*surprise"):
        parsed(changed)


@pytest.mark.parametrize("name", [name for name in plain() if name != "format_version"])
def test_a_missing_field_is_named(name):
    with pytest.raises(ManifestError, match=f"not valid at {name}: Field required"):
        parsed({other: value for other, value in plain().items() if other != name})


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"\xff\xfe\xff",
        b"[]",
        b"null",
        b"1",
        b'"text"',
        b"[" * 100_000,  # nested deeper than Python's stack
        small().to_bytes().replace(b"1.233333", b"NaN"),
        small().to_bytes().replace(b"1.233333", b"1e233333"),  # infinite, and one byte away from sound
        small().to_bytes().replace(rb"big\ndd", rb"big\udd"),  # half a surrogate pair, and one byte away from sound
        small().to_bytes().replace(b'"resize": null', rb'"resize": "\ud800"'),
    ],
    ids=lambda raw: repr(raw[:10]),
)
def test_what_is_no_manifest_is_a_manifest_error(raw):
    assert raw != small().to_bytes()
    with pytest.raises(ManifestError, match=r"^OUT/manifest\.json: "):
        parse_manifest(raw, ROOT, where="OUT/manifest.json")


@pytest.fixture
def dataset(tmp_path):
    return write_tree(tmp_path / "OUT", {"manifest.json": small().to_bytes()})


@pytest.mark.parametrize(
    "path",
    ["{0}", "{0}/", "{0}/manifest.json", "file://{0}", "manifest.json", "./manifest.json", ".", "../OUT/manifest.json"],
)
def test_a_dataset_is_named_by_its_folder_or_its_manifest(path, dataset, monkeypatch):
    monkeypatch.chdir(dataset)
    manifest = read_manifest(path.format(dataset))
    assert manifest.to_bytes() == small().to_bytes()
    assert manifest.root.url == str(dataset)


def test_a_folder_whose_name_only_ends_like_a_manifests_is_a_folder(tmp_path):
    folder = write_tree(tmp_path / "my-manifest.json", {"manifest.json": small().to_bytes()})
    assert read_manifest(str(folder)).root.url == str(folder)


def test_the_package_offers_it(dataset):
    assert shardkit.read_manifest(str(dataset)).name == "pets"


def test_a_manifest_on_an_object_store_is_read(s3_bucket):
    from shardkit.storage import open_folder

    with open_folder(f"{s3_bucket}/a/b").atomic_write("manifest.json") as file:
        file.write(small().to_bytes())
    for url in (f"{s3_bucket}/a/b", f"{s3_bucket}/a/b/manifest.json"):
        assert read_manifest(url).root.url == f"{s3_bucket}/a/b"


def test_a_split_is_found_by_name_and_an_unknown_one_told_with_those_there_are():
    manifest = small()
    assert manifest.split("test").num_examples == 3
    assert manifest.split_name("testing") == "test"
    for name in ("validation", "val"):
        with pytest.raises(UnknownNameError) as raised:
            manifest.split(name)
        assert str(raised.value) == f"there is no split {name!r}; the dataset has train, test"
        assert isinstance(raised.value, KeyError)


def test_shards_come_in_order_with_their_split():
    assert [(name, shard.path) for name, shard in small().shards()] == [
        ("train", "train-00000-of-00002.tfrecord"),
        ("train", "train-00001-of-00002.tfrecord"),
        ("test", "test-00000-of-00001.tfrecord"),
    ]


def test_a_manifest_made_in_memory_has_no_root():
    with pytest.raises(ManifestError, match="only one that was read from a folder has a root"):
        _ = small().root


def test_the_published_json_schema_is_the_models():
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Manifest.model_json_schema()}
    text = json.dumps(schema, indent=1) + "\n"
    assert SCHEMA.read_text(encoding="utf-8") == text, f"write this to {SCHEMA.name}:\n{text}"
