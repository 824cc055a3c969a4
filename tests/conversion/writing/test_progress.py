"""The number of images written so far, from the files in the output."""

from shardkit.conversion.writing.output.finished_shards import count_written
from shardkit.naming import ShardName
from shardkit.storage import open_folder
from shardkit.testing import write_tree

NAMES = [ShardName("train", index, 3) for index in range(3)]
COUNTS = dict.fromkeys(NAMES, 100)


def written(root, files, bytes_per_image=None):
    return count_written(open_folder(str(write_tree(root / "out", files))), COUNTS, bytes_per_image)


def test_unfinished_shards_count_by_their_bytes_at_the_size_of_the_finished_ones(tmp_path):
    done = {NAMES[0].records: bytes(1000), NAMES[0].index: b""}
    assert written(tmp_path, {**done, ".shardkit-tmp-1": bytes(250)}, bytes_per_image=1) == 125


def test_before_a_shard_is_finished_images_have_the_size_of_the_source_if_that_is_known(tmp_path):
    files = {NAMES[0].records: bytes(1000), ".shardkit-tmp-1": bytes(250)}  # a shard without index is not finished
    assert written(tmp_path, files) == 0
    assert written(tmp_path, files, bytes_per_image=25.0) == 10
    assert written(tmp_path, files, bytes_per_image=0.1) == 300, "never more than all"
