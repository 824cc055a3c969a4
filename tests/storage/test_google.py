"""gs:// through pyarrow's own client: the tests of all folders, and those that only it needs."""

import errno

import pytest

from shardkit.errors import StoreError
from shardkit.storage import TEMPORARY, google, open_folder, remote
from shardkit.storage.google import shorten_errors, with_retry_limit

from .gcs.fixtures import bucket, google_server
from .test_folder import (
    put,
    test_a_file_without_a_byte_is_a_file,
    test_a_folder_can_be_removed_by_its_empty_path,
    test_a_folder_can_be_sent_to_a_worker,
    test_an_exception_in_the_block_leaves_what_was_there_before_and_nothing_else,
    test_children_are_scanned_sorted_by_name_with_their_kind_and_size,
    test_files_and_trees_are_removed_and_removing_what_is_not_there_is_no_error,
    test_left_over_temporaries_are_removed_and_nothing_else,
    test_nothing_is_there_until_the_block_ends,
    test_what_is_not_there_is_none_or_empty,
    test_what_is_written_is_read_and_found,
    test_writing_replaces_the_whole_file,
)

__all__ = [
    "bucket",
    "google_server",
    "test_a_file_without_a_byte_is_a_file",
    "test_a_folder_can_be_removed_by_its_empty_path",
    "test_a_folder_can_be_sent_to_a_worker",
    "test_an_exception_in_the_block_leaves_what_was_there_before_and_nothing_else",
    "test_children_are_scanned_sorted_by_name_with_their_kind_and_size",
    "test_files_and_trees_are_removed_and_removing_what_is_not_there_is_no_error",
    "test_left_over_temporaries_are_removed_and_nothing_else",
    "test_nothing_is_there_until_the_block_ends",
    "test_what_is_not_there_is_none_or_empty",
    "test_what_is_written_is_read_and_found",
    "test_writing_replaces_the_whole_file",
]


@pytest.fixture
def folder(bucket):
    """An empty folder; the tests of test_folder use it in place of theirs."""
    return open_folder(f"{bucket.url}/below/here")


def write_objects(bucket, *names):
    """Objects as other tools put them there."""
    for name in names:
        path = bucket.folder / (name + ".folder-object" if name.endswith("/") else name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"1")


def listed(folder, path=""):
    return [entry.name + "/" * entry.is_folder for entry in folder.scan(path)]


def test_folders_are_listed_that_are_only_parts_of_names_and_those_that_are_objects_too(bucket):
    write_objects(bucket, "data/", "data/file", "data/console/", "data/both/", "data/both/x", "data/only/deep/x")
    folder = open_folder(f"{bucket.url}/data")
    assert listed(folder) == ["both/", "console/", "file", "only/"]
    assert listed(folder, "only") == ["deep/"]
    assert listed(folder, "only/deep") == ["x"]
    assert listed(folder, "both") == ["x"]
    assert listed(folder, "console") == []
    assert [entry.name for entry in open_folder(bucket.url).scan()] == ["data"]


def test_a_folder_of_many_pages_is_listed_whole_and_without_its_neighbours(bucket):
    write_objects(bucket, *[f"data/{i:02d}/x" for i in range(13)], *[f"data/f{i:02d}" for i in range(13)], "data2/x")
    assert listed(open_folder(f"{bucket.url}/data")) == [f"{i:02d}/" for i in range(13)] + [
        f"f{i:02d}" for i in range(13)
    ]


def test_everything_below_is_listed_once_and_after_that_only_the_folder_itself(bucket):
    write_objects(bucket, *[f"data/ant/{i:02d}" for i in range(40)], "data/x")
    folder = open_folder(f"{bucket.url}/data")
    before = bucket.server.counts()["lists"]
    for _ in range(10):
        assert listed(folder) == ["ant/", "x"]
    # A page has 5 names: 41 objects are 9 pages, and then one a scan.
    assert bucket.server.counts()["lists"] - before == 9 + 9


def test_files_are_listed_anew_and_folders_when_this_process_wrote(bucket):
    write_objects(bucket, "data/ant/x")
    folder = open_folder(f"{bucket.url}/data")
    assert listed(folder) == ["ant/"]
    write_objects(bucket, "data/file")
    assert listed(folder) == ["ant/", "file"]
    put(folder, "bee/x", b"1")
    assert listed(folder) == ["ant/", "bee/", "file"]
    folder.remove("ant/x")
    assert listed(folder) == ["bee/", "file"]
    folder.remove_tree("bee")
    assert listed(folder) == ["file"]


def test_a_large_file_is_sent_in_few_requests(bucket):
    before = bucket.server.counts()["requests"]
    put(open_folder(bucket.url), "a", bytes(33 << 20))
    assert (bucket.folder / "a").stat().st_size == 33 << 20
    # 16, 16 and 1 MiB, the upload's begin and end, and 8 to move it.
    assert bucket.server.counts()["requests"] - before <= 13


@pytest.mark.parametrize("status", [0, 503, 429])
def test_an_upload_with_a_failed_request_is_whole(bucket, monkeypatch, status):
    monkeypatch.setattr(remote, "UPLOAD_BYTES", 1 << 20)  # 1 MiB
    data = bytes(range(256)) * (5 << 12)  # 5 MiB
    bucket.server.fail("PUT ", status=status, times=1)
    put(open_folder(bucket.url), "a", data)
    assert (bucket.folder / "a").read_bytes() == data


@pytest.mark.parametrize(
    ("pattern", "status"),
    [
        ("POST /upload/", 503),  # it cannot begin
        ("PUT .* bytes 0-", 0),  # it breaks at once
        ("PUT .* bytes 1048576-", 0),  # it breaks in the middle
        (r"PUT .* bytes \*/3145728", 503),  # it cannot be ended
        ("POST .*rewriteTo", 503),  # it cannot get its name
        ("POST /upload/", 403),
        ("PUT ", 403),
    ],
)
def test_an_upload_that_always_fails_leaves_what_was_there_before(bucket, monkeypatch, pattern, status):
    monkeypatch.setattr(google, "RETRY_SECONDS", 1)
    monkeypatch.setattr(remote, "UPLOAD_BYTES", 1 << 20)  # 1 MiB
    folder = open_folder(bucket.url)
    put(folder, "a", b"before")
    bucket.server.fail(pattern, status=status)
    with pytest.raises(
        OSError, match=r"Backend Error|does not have access|Server returned nothing|Failed sending data"
    ):
        put(folder, "a", bytes(3 << 20))
    bucket.server.recover()
    assert folder.read("a") == b"before"
    assert all(name.startswith(TEMPORARY) for name in bucket.objects() - {"a"})


def test_a_tree_that_cannot_be_removed_is_an_error(bucket):
    write_objects(bucket, "tree/a")
    bucket.server.fail("DELETE ", status=403)
    with pytest.raises(StoreError, match=r"testing@example.com does not have access"):
        open_folder(bucket.url).remove_tree("tree")


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("gs://a/b", "gs://a/b?retry_limit_seconds=60"),
        ("gs://a/b?project_id=c", "gs://a/b?project_id=c&retry_limit_seconds=60"),
        ("gs://a/b?retry_limit_seconds=5", "gs://a/b?retry_limit_seconds=5"),
    ],
)
def test_google_is_retried_for_a_minute_unless_the_url_says_how_long(url, wanted):
    assert with_retry_limit(url) == wanted


MISSING = (
    "google::cloud::Status(NOT_FOUND: Permanent error, with a last message of The specified bucket does not exist. "
    "error_info={reason=notFound, domain=global}). Detail: [errno 2] No such file or directory"
)
TRIED_ON_TWO_LEVELS = (
    "google::cloud::Status(UNAVAILABLE: Retry policy exhausted, with a last message of Retry policy exhausted, with a "
    "last message of Backend Error error_info={reason=, metadata={gcloud-cpp.retry.original-message=Retry policy "
    "exhausted, with a last message of Backend Error, http_status_code=503}})"
)


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (MISSING, "The specified bucket does not exist"),
        (TRIED_ON_TWO_LEVELS, "Backend Error"),
    ],
)
@pytest.mark.parametrize("kind", [OSError, FileNotFoundError, PermissionError])
def test_the_stores_message_is_extracted_from_the_clients(said, wanted, kind):
    for raised in (kind(said), kind(errno.ENOENT, said)):
        with pytest.raises(kind) as found, shorten_errors("gs://a/b"):
            raise raised
        assert (found.value.errno, found.value.strerror) == (raised.errno or errno.EIO, wanted)
        assert found.value.filename == "gs://a/b"


def test_errors_of_other_stores_are_unchanged():
    raised = OSError(errno.EIO, "When reading information: AWS Error NO_SUCH_BUCKET")
    with pytest.raises(OSError, match="AWS Error") as found, shorten_errors("s3://a/b"):
        raise raised
    assert found.value is raised
