import os
from collections import Counter

from shardkit.doctor import resources
from shardkit.doctor.resources import SourceSize, check_disk, check_memory, check_resources, source_size
from shardkit.testing import write_tree


def test_a_source_is_counted_without_the_output_in_it_and_links_are_not_followed(tmp_path):
    write_tree(tmp_path, {"a/1.jpg": b"12", "a/b/2.PNG": b"345", "out/x.tfrecord": b"9" * 99})
    os.symlink(tmp_path, tmp_path / "a" / "above")
    size = source_size(str(tmp_path), str(tmp_path / "out"))
    assert (size.num_files, size.num_bytes, size.is_whole) == (2, 5, True)
    assert size.endings == Counter({".jpg": 1, ".png": 1})


def test_when_the_time_is_over_what_was_seen_is_a_lower_bound(tmp_path):
    write_tree(tmp_path, {"a/1.jpg": b"1"})
    assert not source_size(str(tmp_path), str(tmp_path / "out"), seconds=-1).is_whole


def test_disk_and_memory_are_compared_with_the_estimate(tmp_path):
    size = SourceSize(100_000_000, 10 << 40)
    assert check_disk(str(tmp_path / "new" / "out"), size, free=1 << 40).status == "warning"
    assert check_disk(str(tmp_path / "new" / "out"), size, free=11 << 40).status == "ok"
    assert check_disk("gs://bucket/out", size).status == "note"
    # tests/benchmarks/README.md: 15.4 GiB for 100 million files.
    assert check_memory(15 << 30, size).status == "warning"
    assert check_memory(17 << 30, size).status == "ok"


def test_a_source_without_files_and_one_that_needs_an_extra(tmp_path, monkeypatch):
    [check] = check_resources(str(tmp_path), str(tmp_path / "out"))
    assert (check.status, check.is_call) == ("failed", True)
    write_tree(tmp_path, {"a/1.heic": b"1"})
    monkeypatch.setattr("shardkit.extras._is_installed", lambda _: False)
    found = {check.name: check for check in check_resources(str(tmp_path), str(tmp_path / "out"))}
    assert found["extras"].status == "warning"
    assert "shardkit[heif]" in found["extras"].sentence or "[heif]" in found["extras"].sentence
    monkeypatch.setattr(resources, "available_memory", lambda: None)  # not Linux
    assert "memory" not in [check.name for check in check_resources(str(tmp_path), str(tmp_path / "out"))]
