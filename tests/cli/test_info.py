import json
import re
import subprocess
import sys

from shardkit.testing import picture, write_tree

from .calling import call, convert, environment, run


def test_info_shows_splits_classes_counts_sizes_and_rejects(tmp_path):
    files = {f"a/{i}.png": picture(i, width=10 + i, height=20) for i in range(5)}
    files |= {"b b/1.jpg": picture(9, width=64, height=7, kind="JPEG"), "b b/2.webp": picture(10, kind="WEBP")}
    source = write_tree(tmp_path / "source", {**files, "a/bad.png": b"", "a/notes.txt": b""})
    convert(source, tmp_path / "out", "--max-rejected", "1", "--name", "mine")
    result = call("info", tmp_path / "out")
    assert result.exit_code == 0
    assert result.stderr == ""
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[0] == f"{tmp_path}/out: dataset 'mine', format 1, from class folders"
    assert any(re.fullmatch(r"train 2 1 7 .*", line) for line in lines)
    assert "'a' 5" in lines
    assert "'b b' 2" in lines
    assert "width 8 12 64" in lines
    assert "height 7 20 20" in lines
    assert "changed for storage: 1 format:lossy_webp" in lines
    listed = f"`shardkit info {tmp_path}/out --rejected`"
    assert f"rejected: 1 empty (listed by {listed}); skipped: 1 .txt" in lines


def test_every_image_that_was_left_out_can_be_listed(tmp_path):
    bad = {f"a/{i:02d}.png": b"" for i in range(12)}
    source = write_tree(tmp_path / "source", {"a/good.png": picture(0), "a/new\nline.png": b"", **bad})
    convert(source, tmp_path / "out", "--max-rejected", "100", "--layout", "class-folders")
    result = call("info", tmp_path / "out", "--rejected")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        *(f"{key}: empty: The file has no bytes; copy it again from its origin or remove it." for key in bad),
        "a/new\\nline.png: empty: The file has no bytes; copy it again from its origin or remove it.",
    ]
    listed = json.loads(call("info", tmp_path / "out", "--rejected", "--json").stdout)
    assert [(row["key"], row["reason"], row["source_bytes"]) for row in listed] == [
        (key, "empty", 0) for key in [*bad, "a/new\nline.png"]
    ]
    assert all(row["message"] for row in listed)
    (tmp_path / "out" / "rejected.parquet").write_bytes(b"other")
    result = call("info", tmp_path / "out", "--rejected")
    assert result.exit_code == 1
    assert "the list is not the one that the manifest names" in result.stderr


def test_json_is_the_manifest_without_the_lists_of_shards(dataset):
    result = call("info", dataset, "--json")
    assert result.exit_code == 0
    shown = json.loads(result.stdout)
    manifest = json.loads((dataset / "manifest.json").read_text())
    for split in manifest["splits"].values():
        split |= {"num_shards": len(split.pop("shards")), "num_with_gps": 0}
    assert shown == manifest
    assert "tfrecord" not in json.dumps(shown["splits"])


def test_a_dataset_may_be_named_by_its_folder_or_by_its_manifest(dataset, monkeypatch):
    shown = call("info", dataset).stdout
    assert call("info", dataset / "manifest.json").stdout == shown
    assert call("info", f"{dataset}/").stdout == shown
    monkeypatch.chdir(dataset)
    assert call("info", ".").stdout == shown
    assert call("info", "manifest.json").stdout == shown


def test_info_of_no_dataset_says_so_with_1(tmp_path, source):
    for path in (tmp_path, tmp_path / "nowhere", source, source / "ant" / "000.png"):
        result = call("info", path)
        assert result.exit_code == 1
        assert "there is no manifest here" in result.stderr


def test_a_pipe_that_is_closed_early_is_no_error_to_talk_about(dataset):
    process = subprocess.Popen(
        [sys.executable, "-m", "shardkit", "info", str(dataset), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    process.wait()


def test_info_of_many_classes_lists_the_largest_and_the_smallest_and_says_where_all_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [f"{i:03d}" for i in range(50)]
    files = {f"{name}/{at}.png": picture(2 * int(name) + at) for name in names for at in range(1 + (name == "033"))}
    write_tree(tmp_path / "source", files)
    (tmp_path / "classes.txt").write_text("\n".join([*names, "none", "neither"]))
    result = call("convert", "source", "out", "--label", "path:0", "--classes", "classes.txt")
    assert "52 classes: '000', '001', '002', '003', '004', …, 'neither'" in result.stdout
    lines = call("info", "out").stdout.splitlines()
    first = lines.index("the 20 largest and the 20 smallest of 50 classes with images:")
    assert [line.split()[0] for line in lines[first + 3 :][:41]] == [
        "'033'",
        *(f"'{name}'" for name in names[:19]),
        "…",
        *(f"'{name}'" for name in names[-21:] if name != "033"),
    ]
    assert lines[first + 44 :][:2] == ["classes without any image: 2", "all 52 classes: shardkit info out --json"]
    everything = json.loads(call("info", "out", "--json").stdout)
    assert everything["classes"] == [*names, "none", "neither"]
    assert len(everything["splits"]["train"]["class_counts"]) == 52


def test_output_that_can_only_be_ascii_is_shown_all_the_same(source, tmp_path):
    for arguments in (["convert", source, tmp_path / "out"], ["info", tmp_path / "out"]):
        done = run(*arguments, env=environment(PYTHONIOENCODING="ascii"))
        assert done.returncode == 0, done.stderr[-300:]
        assert "Traceback" not in done.stderr
