"""Every lie in a manifest or an index is found by the function that reads it, though all digests are right."""

import shutil
from fractions import Fraction

import pytest

from shardkit.dataset.index.shards import read_columns
from shardkit.dataset.manifest import read_manifest
from shardkit.errors import DataError, ManifestError
from shardkit.testing import append_without_beam, convert_without_beam, picture, write_class_folders, write_tree

from .hostile import GENERATIONS, INDEXES, MANIFESTS, put, with_index, with_manifest


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A dataset, and the same with an append."""
    root = tmp_path_factory.mktemp("hostile")
    write_class_folders(root / "source", {"ant": 9, "bee": 9, "cat": 9})
    options = {"splits": {"train": Fraction(2, 3), "test": Fraction(1, 3)}, "shards": 3}
    convert_without_beam(str(root / "source"), str(root / "plain"), **options)
    shutil.copytree(root / "plain", root / "grown")
    write_tree(root / "more", {f"{name}/{i}.png": picture(900 + i) for i, name in enumerate(["dog", "eel"] * 3)})
    append_without_beam(str(root / "grown"), str(root / "more"))
    return {"plain": root / "plain", "grown": root / "grown"}


@pytest.mark.parametrize(
    ("kind", "lie"), [*(("plain", lie) for lie in MANIFESTS), *(("grown", lie) for lie in GENERATIONS)]
)
def test_a_lie_in_a_manifest(kind, lie, folders, tmp_path):
    change, sentence = (MANIFESTS if kind == "plain" else GENERATIONS)[lie]
    bad = with_manifest(folders[kind], tmp_path / "bad", change)
    with pytest.raises(ManifestError, match=r"bad/manifest\.json: .*(restore it)") as raised:
        read_manifest(str(bad))
    assert sentence in str(raised.value)


@pytest.mark.parametrize("lie", INDEXES)
def test_a_lie_in_an_index(lie, folders, tmp_path):
    change, sentence = INDEXES[lie]
    bad = with_index(folders["plain"], tmp_path / "bad", change)
    manifest = read_manifest(str(bad))
    with pytest.raises(DataError, match=r"bad/train-00000-of-00003\.index\.parquet: ") as raised:
        read_columns(manifest.root, next(shard for _, shard in manifest.shards()))
    assert sentence in str(raised.value)


@pytest.mark.parametrize("kind", ["plain", "grown"])
def test_the_truth_is_believed(kind, folders, tmp_path):
    unchanged = with_manifest(folders[kind], tmp_path / "same", put("name", "other"))
    manifest = read_manifest(str(unchanged))
    assert manifest.name == "other"
    assert [len(read_columns(manifest.root, shard)) for _, shard in manifest.shards()]
    same = with_index(folders[kind], tmp_path / "index", lambda raw: raw)
    assert read_manifest(str(same)).digest == read_manifest(str(folders[kind])).digest
