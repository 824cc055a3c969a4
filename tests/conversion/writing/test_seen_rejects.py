"""Images that a worker cannot read, or nobody for a moment, and the driver reads: the next run has them."""

import errno
import os
import platform

import pytest
from PIL import Image

from shardkit.conversion.inventory.source_files import SourceFiles
from shardkit.conversion.writing.conversion import Conversion
from shardkit.conversion.writing.reject_limit import RejectLimit
from shardkit.conversion.writing.source_plan import planned_source
from shardkit.errors import DataError, MachineError
from shardkit.options.groups import ConvertOptions
from shardkit.parallel.progress import Silent
from shardkit.parallel.threads import ThreadExecutor
from shardkit.sources import SourceOptions
from shardkit.testing import encoded, picture, write_tree

FILES = {f"{label}/{i}.png": picture(i + 4 * of) for of, label in enumerate(("ant", "bee")) for i in range(4)}
UNREADABLE = "bee/2.png"


class RemoteExecutor(ThreadExecutor):
    """Workers of another host, called in this thread."""

    is_remote = True


def convert(tmp_path, check, executor, limit="100%", name=""):
    return outcome_of(tmp_path, check, executor, limit, name).manifest


def outcome_of(tmp_path, check, executor, limit="100%", name=""):
    options = ConvertOptions.of({"check": check, "shards": 2})
    source, output = str(tmp_path / "photos" / name), str(tmp_path / "out")
    return Conversion(source, output, options, executor, limit=RejectLimit.parse(limit)).run()


def failing_read(monkeypatch, reader, number=errno.EACCES, name=UNREADABLE):
    """Let the reading of a file fail."""
    monkeypatch.setattr("shardkit.storage.retry.PAUSES_SECONDS", (0, 0))

    class FailingFiles(SourceFiles):
        def _image(self, row):
            if row["key"] == name:
                raise OSError(number, os.strerror(number))
            return super()._image(row)

    monkeypatch.setattr(f"{reader}.SourceFiles", FailingFiles)


@pytest.mark.parametrize(
    ("check", "reader", "who"),
    [
        ("decode", "shardkit.conversion.inventory.checking", f"host {platform.node()}"),
        ("header", "shardkit.conversion.writing.shard", "a worker"),
    ],
)
def test_an_image_that_only_a_worker_cannot_read_is_an_error_and_not_left_out(
    check, reader, who, tmp_path, monkeypatch
):
    write_tree(tmp_path / "photos", FILES)

    class RefusedFiles(SourceFiles):
        def _image(self, row):
            if row["key"] == UNREADABLE:
                raise PermissionError(13, "Permission denied")
            return super()._image(row)

    with monkeypatch.context() as patched:
        patched.setattr(f"{reader}.SourceFiles", RefusedFiles)
        with pytest.raises(MachineError) as raised:
            convert(tmp_path, check, RemoteExecutor(1))
    said = str(raised.value)
    assert said.startswith(f"{tmp_path}/photos/{UNREADABLE}: {who} rejected this image (")
    assert "Permission denied), and the driver reads it; give all workers the same mounts" in said
    assert not (tmp_path / "out" / "manifest.json").exists()
    manifest = convert(tmp_path, check, RemoteExecutor(1))
    assert (manifest.splits["train"].num_examples, manifest.rejected.num_examples) == (len(FILES), 0)


def test_an_image_that_the_driver_cannot_read_either_is_rejected(tmp_path):
    write_tree(tmp_path / "photos", FILES)
    (tmp_path / "photos" / UNREADABLE).unlink()
    (tmp_path / "photos" / UNREADABLE).symlink_to("nowhere")
    manifest = convert(tmp_path, "decode", RemoteExecutor(1))
    assert (manifest.splits["train"].num_examples, manifest.rejected.num_examples) == (len(FILES) - 1, 1)


@pytest.mark.parametrize("layout", ["folders", "table"])
@pytest.mark.parametrize(
    ("check", "reader"),
    [("decode", "shardkit.conversion.inventory.checking"), ("header", "shardkit.conversion.writing.shard")],
)
def test_a_permission_that_is_missing_for_a_moment_leaves_no_image_out(check, reader, layout, tmp_path, monkeypatch):
    write_tree(tmp_path / "photos", FILES)
    name = "labels.csv" if layout == "table" else ""
    if name:
        lines = ["image,label", *(f"{path},{path[:3]}" for path in FILES)]
        (tmp_path / "photos" / name).write_text("\n".join(lines))
    with monkeypatch.context() as patched:
        failing_read(patched, reader)
        with pytest.raises(MachineError, match="it can be read now; check the disk and the network, and run") as raised:
            convert(tmp_path, check, ThreadExecutor(1), name=name)
    assert str(raised.value).startswith(f"{tmp_path}/photos/{UNREADABLE}: this image was rejected (")
    manifest = convert(tmp_path, check, ThreadExecutor(1), name=name)
    assert (manifest.splits["train"].num_examples, manifest.rejected.num_examples) == (len(FILES), 0)


@pytest.mark.parametrize("check", ["decode", "header"])
def test_after_the_permission_is_repaired_the_same_command_has_the_images(check, tmp_path, monkeypatch):
    write_tree(tmp_path / "photos", FILES)
    with monkeypatch.context() as patched:
        for reader in (
            "shardkit.conversion.inventory.checking",
            "shardkit.conversion.writing.shard",
            "shardkit.conversion.writing.seen_rejects",
        ):
            failing_read(patched, reader)
        for _ in range(2):  # the second run resumes
            with pytest.raises(DataError, match="1 unreadable"):
                convert(tmp_path, check, ThreadExecutor(1), limit="0")
    manifest = convert(tmp_path, check, ThreadExecutor(1), limit="0")
    assert manifest.splits["train"].num_examples == len(FILES)


def test_a_disk_error_while_writing_is_the_machines_and_the_next_run_goes_on(tmp_path, monkeypatch):
    write_tree(tmp_path / "photos", FILES)
    with monkeypatch.context() as patched:
        failing_read(patched, "shardkit.conversion.writing.shard", errno.EIO)
        with pytest.raises(MachineError) as raised:
            convert(tmp_path, "decode", ThreadExecutor(1))
    assert (raised.value.exit_code, "--overwrite" in str(raised.value)) == (3, False)
    assert str(raised.value).startswith(f"{tmp_path}/photos/{UNREADABLE}: cannot be read: Input/output error; check")
    outcome = outcome_of(tmp_path, "decode", ThreadExecutor(1))
    assert (outcome.finished_before, outcome.manifest.splits["train"].num_examples) == (1, len(FILES))


def test_a_mask_without_an_image_is_left_out_and_an_image_with_a_mask_that_a_worker_lacks_is_not(tmp_path, monkeypatch):
    masks = {f"masks/{i}.png": encoded(Image.new("L", (8, 8), i % 2)) for i in range(5)}
    write_tree(tmp_path / "photos", {**masks, **{f"images/{i}.png": picture(i) for i in range(4)}})
    rejected = outcome_of(tmp_path, "decode", ThreadExecutor(1)).manifest.rejected
    assert (rejected.num_examples, rejected.by_reason) == (1, {"missing": 1})

    class MissingFiles(SourceFiles):
        def _image(self, row):
            if row["key"] == "images/2.png":
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            return super()._image(row)

    monkeypatch.setattr("shardkit.conversion.inventory.checking.SourceFiles", MissingFiles)
    given = str(tmp_path / "photos"), SourceOptions(), ConvertOptions(), RemoteExecutor(1), Silent()
    refused = r"images/2\.png: host .* rejected this image .*, and the driver reads it"
    with pytest.raises(MachineError, match=refused), planned_source(*given):
        pass
