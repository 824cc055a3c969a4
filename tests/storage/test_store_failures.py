"""What S3 refuses or breaks off, seen by pyarrow's real client: retried, or told in a sentence."""

import errno
import pickle
import re

import pytest

from shardkit.errors import MachineError, StoreError
from shardkit.parallel import run_token
from shardkit.storage import amazon, open_folder, os_errors_as, raise_store_failure, remote, retry, unreadable
from shardkit.storage.retry import is_transient, retried
from shardkit.testing import write_class_folders

from ..cli.calling import call, is_one_sentence
from ..pages import CHECKOUT

DATA = bytes(range(256)) * 64


@pytest.fixture
def folder(s3_bucket, monkeypatch):
    monkeypatch.setattr(amazon, "MAX_ATTEMPTS", 2)
    found = open_folder(f"{s3_bucket}/below")
    write(found, "a")
    return found


def write(folder, path):
    with folder.atomic_write(path) as file:
        file.write(DATA)


ACTIONS = {
    "read": lambda folder: folder.read("a"),
    "range": lambda folder: folder.read_range("a", 10, 1000),
    "stat": lambda folder: folder.stat("a"),
    "list": lambda folder: folder.scan(),
    "write": lambda folder: write(folder, "b"),
    "remove": lambda folder: folder.remove("a"),
    "open": lambda folder: folder.open("a").read(),
}


@pytest.mark.parametrize(
    ("action", "pattern", "status", "code", "said"),
    [
        # Of an answer to GetObject, pyarrow loses the body now and then: only the status is left.
        ("read", "GET", 403, "AccessDenied", "/a: access denied (GetObject, ACCESS_DENIED"),
        ("range", "GET", 403, "AccessDenied", "credentials in use (s3:GetObject)"),
        ("stat", "HEAD", 403, "AccessDenied", "s3:GetObject, and s3:ListBucket to tell a missing object"),
        (
            "list",
            "list-type",
            403,
            "AccessDenied",
            "Access Denied); allow it to the credentials in use (s3:List",
        ),
        ("write", "PUT", 403, "AccessDenied", "(s3:PutObject)"),
        ("write", " copy", 403, "AccessDenied", "(s3:GetObject and s3:PutObject)"),
        ("remove", "DELETE", 403, "AccessDenied", "(s3:DeleteObject)"),
        ("read", "GET", 400, "ExpiredToken", "expired or are not valid (GetObject, HTTP status 400"),
        ("stat", "", 400, "ExpiredToken", "expired or are not valid (HeadObject, HTTP status 400); renew them (AWS_"),
        ("write", "PUT", 400, "ExpiredToken", "expired or are not valid"),
        ("list", "", 403, "InvalidAccessKeyId", "expired or are not valid"),
        ("write", "PUT", 404, "NoSuchBucket", "there is no such bucket"),
    ],
)
def test_what_lasts_is_said_at_once_with_its_remedy(folder, s3_server, action, pattern, status, code, said):
    s3_server.fail(pattern, status=status, code=code)
    before = s3_server.num_failed()
    with pytest.raises(StoreError) as raised:
        retried(lambda: ACTIONS[action](folder))
    assert str(raised.value).startswith(folder.url)
    assert said in str(raised.value)
    assert str(raised.value).endswith(", then run the same command again")
    assert s3_server.num_failed() - before == 1, "asked again, which cannot help"
    s3_server.recover()
    assert {entry.name for entry in folder.scan() if not entry.name.startswith(".")} == {"a"}


LOGIN_PAGE = "<!DOCTYPE html><html><head><title>Log in</title></head><body>Please log in.</body></html>"
NO_STORE = "the server answers for objects and buckets that do not exist, so it is no store, but a login page"


@pytest.mark.parametrize(
    ("pattern", "answer"), [("", LOGIN_PAGE), ("^HEAD", LOGIN_PAGE), ("list-type", LOGIN_PAGE), ("list-type", "")]
)
def test_a_server_that_answers_everything_is_no_store(pattern, answer, s3_bucket, s3_server, tmp_path):
    source = write_class_folders(tmp_path / "source", {"ant": 2, "bee": 2})
    s3_server.fail(pattern, body=answer)
    url = f"{s3_bucket}/folder"
    for words in (["plan", url], ["convert", source, url], ["verify", url]):
        remote.forget()
        done = call(*words)
        assert (done.exit_code, NO_STORE in done.stderr) == (3, True), (words, done.output)
        assert s3_bucket in done.stderr
        assert is_one_sentence(done.stderr)


def test_a_store_is_asked_for_what_is_not_there_once_a_minute(folder, s3_server):
    remote.forget()
    s3_server.fail("shardkit-", seconds=0)  # counts them
    before = s3_server.num_failed()
    for _ in range(3):
        assert folder.read("a") == DATA
        assert folder.stat("a") is not None
        assert folder.scan("nowhere") == []
        assert open_folder(folder.url).stat("nothing") is None
    assert s3_server.num_failed() - before == 2  # for an object and for a bucket


def test_an_answer_to_head_without_a_cause_is_explained_by_a_listing(folder, s3_server):
    s3_server.fail("", status=403, code="RequestTimeTooSkewed")
    with pytest.raises(StoreError, match=r"the clock of this host differs from the store's .*; set the clock,"):
        folder.stat("a")


@pytest.mark.parametrize("action", ["read", "range", "stat", "list", "write", "remove"])
@pytest.mark.parametrize(
    "effect",
    [
        {"status": 503, "code": "SlowDown"},
        pytest.param({"status": 500, "code": "InternalError"}, marks=pytest.mark.slow),
        {"resets": True},
    ],
)
def test_what_passes_is_not_noticed(folder, s3_server, action, effect):
    before = s3_server.num_failed()
    s3_server.fail("", times=1, **effect)
    found = ACTIONS[action](folder)
    assert s3_server.num_failed() - before == 1
    s3_server.recover()
    if action in {"read", "range"}:
        assert found == (DATA if action == "read" else DATA[10:1010])
    if action == "write":
        assert folder.read("b") == DATA
        assert [entry.name for entry in folder.scan()] == ["a", "b"], "no temporary object is left"


@pytest.mark.parametrize("action", ["read", "range", "open", "list"])
def test_half_an_answer_is_never_taken_for_a_whole_one(folder, s3_server, action):
    wanted = ACTIONS[action](folder)
    s3_server.fail("GET", times=1, cuts=True)
    assert ACTIONS[action](folder) == wanted


@pytest.mark.parametrize("pattern", [" copy", "POST.*uploadId="])
def test_an_error_after_status_200_is_one(folder, s3_server, pattern):
    """S3 answers 200 before it has copied, or put the parts together; if that fails, the answer's body says so."""
    s3_server.fail(pattern, times=1, status=200, code="InternalError")
    write(folder, "b")
    assert folder.read("b") == DATA
    s3_server.recover()
    s3_server.fail(pattern, status=200, code="SlowDown")
    with pytest.raises(OSError, match="overloaded"):
        write(folder, "c")
    assert folder.stat("c") is None


@pytest.mark.parametrize(
    ("effect", "said"),
    [
        ({"status": 503, "code": "SlowDown"}, "overloaded or out of order"),
        ({"resets": True}, "does not answer"),
    ],
)
def test_a_store_that_stays_broken_is_asked_a_limited_number_of_times(folder, s3_server, monkeypatch, effect, said):
    monkeypatch.setattr(retry, "PAUSES_SECONDS", (0, 0))
    before = s3_server.num_failed()
    s3_server.fail("GET", **effect)
    with pytest.raises(StoreError, match=said):
        retried(lambda: folder.read("a"))
    assert s3_server.num_failed() - before == 3 * amazon.MAX_ATTEMPTS


def test_a_store_that_never_answers_is_given_up(s3_bucket, s3_server, monkeypatch):
    monkeypatch.setattr(amazon, "ANSWER_SECONDS", 1.0)
    monkeypatch.setattr(amazon, "MAX_ATTEMPTS", 1)
    folder = open_folder(s3_bucket)
    write(folder, "a")
    s3_server.fail("GET", seconds=30)
    with pytest.raises(StoreError, match="does not answer") as raised:
        folder.read("a")
    assert is_transient(raised.value)


@pytest.mark.slow  # five seconds in which nothing happens
def test_an_answer_may_take_longer_than_the_three_seconds_of_the_client(folder, s3_server):
    before = s3_server.num_failed()
    s3_server.fail(" copy", seconds=5)
    write(folder, "b")
    assert s3_server.num_failed() - before == 1
    assert folder.read("b") == DATA


def test_the_limits_travel_to_workers(folder, s3_server):
    copy = pickle.loads(pickle.dumps(folder))  # noqa: S301 - our own
    before = s3_server.num_failed()
    s3_server.fail("GET", status=503, code="SlowDown")
    with pytest.raises(StoreError):
        copy.read("a")
    assert s3_server.num_failed() - before == amazon.MAX_ATTEMPTS


@pytest.mark.usefixtures("s3_bucket")
def test_the_options_of_a_url_stay(s3_server):
    address = s3_server.url.removeprefix("http://")
    found = amazon.with_time_limits(_parsed(f"s3://me:secret@bucket/a?region=eu-west-3&endpoint_override={address}"))
    _, (options,) = found.__reduce__()
    assert (options["access_key"], options["secret_key"], options["region"]) == ("me", "secret", "eu-west-3")
    assert options["endpoint_override"] == address
    assert options["request_timeout"] == amazon.ANSWER_SECONDS
    # Without keys in the URL, the client has to look for new ones when these expire.
    _, (options,) = amazon.with_time_limits(_parsed("s3://bucket/a")).__reduce__()
    assert options["access_key"] is None


def _parsed(url):
    from pyarrow import fs

    return fs.FileSystem.from_uri(url)[0]


def test_an_archived_object_concerns_only_itself():
    said = "AWS Error INVALID_OBJECT_STATE during GetObject operation: The operation is not valid"
    assert "the object is archived" in amazon.explain(said).text
    raise_store_failure("s3://bucket/a", OSError(said))  # raises nothing


def test_errors_of_a_disk_are_none_of_a_store():
    for error in (OSError(errno.EIO, "Input/output error"), FileNotFoundError(2, "gone"), MachineError("said")):
        raise_store_failure("/data/a", error)
        raise_store_failure("s3://bucket/a", error)
        raise_store_failure("gs://bucket/a", error)
    with pytest.raises(StoreError, match=re.escape("gs://bucket/a: Permission denied; check the credentials")):
        raise_store_failure("gs://bucket/a", OSError(errno.EIO, "Permission denied", "gs://bucket/a"))


def test_errors_of_an_open_file_are_explained_too():
    said = OSError("AWS Error ACCESS_DENIED during GetObject operation: Access Denied")
    with pytest.raises(StoreError, match="s3://bucket/a: access denied"), os_errors_as("read", "s3://bucket/a"):
        raise said
    assert isinstance(unreadable("s3://bucket/a", said), StoreError)
    assert not is_transient(said)
    assert is_transient(OSError("AWS Error NETWORK_CONNECTION during GetObject operation: curlCode: 56, Failure"))
    assert is_transient(OSError("AWS Error SOMETHING_NEW during GetObject operation: what is this?"))


def test_every_class_of_faults_is_one_that_an_error_has():
    """An earlier pattern must not hide a later one."""
    errors = [
        "AWS Error UNKNOWN (HTTP status 400) during GetObject operation: Unable to parse ExceptionName: ExpiredToken",
        "AWS Error ACCESS_DENIED during GetObject operation: Access Denied",
        "AWS Error REQUEST_TIME_TOO_SKEWED during GetObject operation: The difference between the request time and",
        "AWS Error UNKNOWN (HTTP status 301) during HeadObject operation: No response body.",
        "AWS Error NO_SUCH_BUCKET during GetObject operation: The specified bucket does not exist",
        "AWS Error INVALID_OBJECT_STATE during GetObject operation: The operation is not valid for the object's",
        "AWS Error SLOW_DOWN during GetObject operation: Please reduce your request rate.",
        "AWS Error NETWORK_CONNECTION during GetObject operation: curlCode: 28, Timeout was reached",
    ]
    assert [amazon.explain(error).fault for error in errors] == list(amazon.FAULTS)


def test_the_page_has_a_remedy_for_every_class_of_faults():
    text = (CHECKOUT / "shardkit/beam/README.md").read_text(encoding="utf-8").partition("\n## Object stores\n")[2]
    rows = [line.split(" | ") for line in text.partition("\n## ")[0].splitlines() if line.startswith("| ")][2:]
    said = [fault.said for fault in amazon.FAULTS]
    assert [row[0].removeprefix("| ") for row in rows] == [said[0], NO_STORE.partition(",")[0], *said[1:]]
    assert all(len(row) == 2 for row in rows)
    assert f"{amazon.MAX_ATTEMPTS} times, with pauses" in text
    assert f"{amazon.ANSWER_SECONDS:.0f} s for its first byte" in text
    assert f"the {run_token.STALE_SECONDS:.0f} s of a run" in text
