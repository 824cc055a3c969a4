import itertools
import os
import shutil

import pytest

from shardkit.testing import digests_of, write_tree

from ..cli.calling import IN_PROCESS_RUNNER, SAMPLE_DATA, convert

OPTIONS = ["--splits", "train=0.7,validation=0.3", "--shards", "3", "--max-rejected", "100%"]


@pytest.fixture(scope="module")
def mixed_source(tmp_path_factory):
    """Good, odd and bad files of many formats, and the shapes: every code path that writes bytes."""
    root = tmp_path_factory.mktemp("mixed") / "source"
    shutil.copytree(SAMPLE_DATA / "broken", root)
    for name in ("circle", "star"):
        shutil.copytree(SAMPLE_DATA / "shapes" / name, root / name, dirs_exist_ok=True)
    return root


@pytest.fixture(scope="module", params=["decode", "header"])
def undisturbed(request, mixed_source, tmp_path_factory):
    """Options of a conversion by one worker, and the digests of what it wrote."""
    options = [*OPTIONS, "--check", request.param]
    output = tmp_path_factory.mktemp("undisturbed") / "out"
    convert(mixed_source, output, *options, "--workers", "1")
    found = digests_of(output)
    assert len(found) == 2 * 2 * 3 + 5  # shards and indexes; manifest, rejects, TFDS's three
    return options, found


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_any_number_of_workers_and_any_run_write_the_same_bytes(workers, mixed_source, undisturbed, tmp_path):
    options, wanted = undisturbed
    convert(mixed_source, tmp_path / "out", *options, "--workers", workers)
    assert digests_of(tmp_path / "out") == wanted


def test_a_runner_of_beam_writes_the_same_bytes(mixed_source, undisturbed, tmp_path):
    options, wanted = undisturbed
    convert(mixed_source, tmp_path / "out", *options, IN_PROCESS_RUNNER)
    assert digests_of(tmp_path / "out") == wanted


def _other_order(source, copy):
    """The same files made last first, elsewhere, with other times; folders list in the order in which they grew."""
    for number, path in enumerate(sorted((path for path in source.rglob("*") if path.is_file()), reverse=True)):
        target = copy / path.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
        os.utime(target, (1_000_000_000 + number, 1_000_000_000 + number))


def test_a_copy_whose_files_were_made_in_another_order_at_another_time_gives_the_same_bytes(
    mixed_source, undisturbed, tmp_path
):
    options, wanted = undisturbed
    copy = tmp_path / "elsewhere" / "deep" / "copy"
    _other_order(mixed_source, copy)
    convert(copy, tmp_path / "out", *options)
    assert digests_of(tmp_path / "out") == wanted


def test_the_order_in_which_the_system_lists_folders_does_not_matter(mixed_source, undisturbed, tmp_path, monkeypatch):
    # File systems differ, and many list in the order of a hash that two folders on one disk share.
    scandir, calls = os.scandir, itertools.count()

    class Reversed:
        def __init__(self, path):
            with scandir(path) as children:
                self._children = list(children)[:: -1 if next(calls) % 3 else 1]

        def __enter__(self):
            return iter(self._children)

        def __exit__(self, *_):
            return None

    options, wanted = undisturbed
    with monkeypatch.context() as patched:
        patched.setattr("shardkit.storage.local.os.scandir", Reversed)
        convert(mixed_source, tmp_path / "out", *options)
    assert next(calls) > 5, "the patch was not called"
    assert digests_of(tmp_path / "out") == wanted


def test_the_place_of_the_output_inside_the_source_does_not_matter(mixed_source, undisturbed, tmp_path):
    options, wanted = undisturbed
    shutil.copytree(mixed_source, tmp_path / "source")
    convert(tmp_path / "source", tmp_path / "source" / "out", *options)
    assert digests_of(tmp_path / "source" / "out") == wanted


def test_verbatim_images_are_the_sources_bytes(tmp_path, source):
    import pyarrow.parquet as pq

    from shardkit.dataset import example, tfrecord

    convert(source, tmp_path / "out")
    [shard] = (tmp_path / "out").glob("*.tfrecord")
    with shard.open("rb") as file:
        found = [example.decode(data) for _, data in tfrecord.read_records(file, name=shard.name)]
    assert len(found) == 60
    for features in found:
        assert features["image"][0] == (source / features["key"][0].decode()).read_bytes()
    assert set(pq.read_table(str(shard).replace(".tfrecord", ".index.parquet"))["changes"].to_pylist()) == {""}


def test_a_different_seed_deals_anew_and_says_the_same_of_the_whole(source, tmp_path):
    for seed in (0, 1):
        convert(source, tmp_path / str(seed), "--seed", seed, "--shards", 3)
    first, second = (digests_of(tmp_path / str(seed)) for seed in (0, 1))
    shards = {path for path in first if path.endswith(".tfrecord")}
    assert all(first[path] != second[path] for path in shards)
    same = {path for path in first if first[path] == second[path]}
    assert same == {"dataset_info.json", "features.json", "label.labels.txt", "rejected.parquet"} - (
        # Shards of other examples have other lengths.
        {"dataset_info.json"} if first["dataset_info.json"] != second["dataset_info.json"] else set()
    )


def test_equal_files_in_an_empty_folder_tree_are_kept_apart_by_their_keys(tmp_path):
    picture = (SAMPLE_DATA / "shapes" / "star" / "star_001.jpg").read_bytes()
    write_tree(tmp_path / "source", {f"star/{i}/{i}.jpg": picture for i in range(5)})
    convert(tmp_path / "source", tmp_path / "out", "--layout", "class-folders")
    import json

    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert (manifest["splits"]["train"]["num_examples"], manifest["source"]["duplicates"]) == (5, 4)
