"""Images that a worker cannot read and the driver reads: an error, and the next run has them."""

import platform

import pytest

from shardkit.errors import MachineError
from shardkit.planning.options import ConvertOptions
from shardkit.testing import picture, write_tree
from shardkit.writing.conversion import Conversion
from shardkit.writing.reject_limit import RejectLimit
from shardkit.writing.threads import ThreadExecutor

FILES = {f"{label}/{i}.png": picture(i) for label in ("ant", "bee") for i in range(4)}
UNREADABLE = "bee/2.png"


class RemoteExecutor(ThreadExecutor):
    """Workers of another host, called in this thread."""

    is_remote = True


def convert(tmp_path, check, executor):
    options = ConvertOptions(check=check, shards=2)
    limit = RejectLimit.parse("100%")
    return Conversion(str(tmp_path / "photos"), str(tmp_path / "out"), options, executor, limit=limit).run().manifest


@pytest.mark.parametrize(
    ("check", "reader", "who"),
    [
        ("decode", "shardkit.inventory.checking.read_image", f"host {platform.node()}"),
        ("header", "shardkit.writing.shard.read_image", "a worker"),
    ],
)
def test_an_image_that_only_a_worker_cannot_read_is_an_error_and_not_left_out(
    check, reader, who, tmp_path, monkeypatch
):
    write_tree(tmp_path / "photos", FILES)

    def refused(folder, row):
        if row["key"] == UNREADABLE:
            raise PermissionError(13, "Permission denied")
        return folder.read(row["key"])

    with monkeypatch.context() as patched:
        patched.setattr(reader, refused)
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
