"""What local folders and object stores have in common."""

import pickle

import pytest

from shardkit.storage import TEMPORARY, open_folder, remove_temporaries
from shardkit.testing import files_of


@pytest.fixture(params=["local", "s3"])
def folder(request, tmp_path):
    """An empty folder of each kind."""
    if request.param == "local":
        return open_folder(str(tmp_path))
    return open_folder(f"{request.getfixturevalue('s3_bucket')}/below/here")


def put(folder, path, data):
    with folder.atomic_write(path) as file:
        file.write(data)


@pytest.mark.parametrize(
    "path", ["a", "a b.txt", "sub/deep/a", "\u00fc/\u732b\U0001f600.jpg", "100%.jpg", "a+b=c&d?#.png"]
)
def test_what_is_written_is_read_and_found(folder, path):
    put(folder, path, b"content")
    assert folder.read(path) == b"content"
    found = folder.stat(path)
    assert (found.name, found.is_folder, found.num_bytes) == (path.split("/")[-1], False, 7)
    assert files_of(folder) == {path: b"content"}
    with folder.open(path) as file:
        assert file.read(3) == b"con"
        file.seek(5)
        assert file.read() == b"nt"


def test_children_are_scanned_sorted_by_name_with_their_kind_and_size(folder):
    for path in ["b", "a/x", "c/y/z", "B"]:
        put(folder, path, b"1")
    assert [(entry.name, entry.is_folder) for entry in folder.scan()] == [
        ("B", False),
        ("a", True),
        ("b", False),
        ("c", True),
    ]
    assert [entry.name for entry in folder.scan("c")] == ["y"]
    assert folder.stat("c").is_folder
    assert folder.scan("c")[0].is_folder
    assert folder.scan()[0].mtime_ns > 0


def test_what_is_not_there_is_none_or_empty(folder):
    assert folder.scan() == []
    assert folder.scan("no/such") == []
    assert folder.stat("no") is None
    for reading in (folder.read, lambda path: folder.open(path).read()):
        with pytest.raises(FileNotFoundError):
            reading("no")


def test_writing_replaces_the_whole_file(folder):
    put(folder, "a", b"a long first version")
    put(folder, "a", b"short")
    assert folder.read("a") == b"short"
    assert [entry.name for entry in folder.scan()] == ["a"]


def test_a_file_without_a_byte_is_a_file(folder):
    put(folder, "a", b"")
    assert folder.read("a") == b""
    assert folder.stat("a").num_bytes == 0


def test_nothing_is_there_until_the_block_ends(folder):
    with folder.atomic_write("a") as file:
        file.write(bytes(3 << 20))
        file.flush()
        assert folder.stat("a") is None
    assert folder.stat("a").num_bytes == 3 << 20


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_exception_in_the_block_leaves_what_was_there_before_and_nothing_else(folder, error):
    put(folder, "old", b"before")
    for path in ("old", "new"):
        with pytest.raises(error), folder.atomic_write(path) as file:  # noqa: PT012 - the error is raised in the block
            file.write(bytes(6 << 20))  # more than one part of an upload
            raise error
    assert files_of(folder) == {"old": b"before"}


def test_files_and_trees_are_removed_and_removing_what_is_not_there_is_no_error(folder):
    for path in ["a", "tree/b", "tree/deep/c", "treetop"]:
        put(folder, path, b"1")
    folder.remove("a")
    folder.remove("a")
    folder.remove_tree("tree")
    folder.remove_tree("tree")
    assert files_of(folder) == {"treetop": b"1"}


def test_a_folder_can_be_removed_by_its_empty_path(folder):
    put(folder, "a/b", b"1")
    folder.remove_tree("")
    assert folder.scan() == []
    folder.remove_tree("")


def test_a_folder_can_be_sent_to_a_worker(folder):
    put(folder, "a", b"1")
    sent = pickle.loads(pickle.dumps(folder))  # noqa: S301 - our own
    assert sent.url == folder.url
    assert sent.read("a") == b"1"


def test_left_over_temporaries_are_removed_and_nothing_else(folder):
    for path in [f"{TEMPORARY}1-2", "a", f"x{TEMPORARY}", f"sub/{TEMPORARY}3"]:
        put(folder, path, b"1")
    remove_temporaries(folder)
    assert set(files_of(folder)) == {"a", f"x{TEMPORARY}", f"sub/{TEMPORARY}3"}
