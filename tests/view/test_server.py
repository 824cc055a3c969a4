"""The server of `shardkit view`: who may ask, what it answers, what it writes."""

import csv
import time

import pytest
from starlette.testclient import TestClient

import shardkit
from shardkit.dataset.manifest import read_manifest
from shardkit.errors import CallError
from shardkit.records.rejected_pictures import open_source_folder
from shardkit.testing import convert_without_beam, picture, write_tree
from shardkit.view.guard import path_of
from shardkit.view.server import View
from shardkit.view.serving import listen

from ..cli.calling import SAMPLE_DATA, call
from .conftest import HOSTILE, read_jpeg

TOKEN = "t0ken"  # noqa: S105 - of a test
HEADER = {"X-Shardkit-Token": TOKEN}
HOST = "http://127.0.0.1:8000"
BASE = HOST + path_of(TOKEN)


def client_of(dataset, folder, *, signed_in=True, source=None):
    app = View(read_manifest(str(dataset)), str(dataset), folder, TOKEN, source).app()
    client = TestClient(app, base_url=BASE)
    if signed_in:
        client.get(f"{HOST}/", params={"token": TOKEN})
    return client


@pytest.fixture
def client(dataset, tmp_path):
    return client_of(dataset, tmp_path)


def found(client, **query):
    """The list, waited for."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        answer = client.get("/api/list", params=query).json()
        if "done" not in answer:
            return answer
    raise AssertionError(answer)


def rows(client, **query):
    found(client, **query)
    return client.get("/api/rows", params={**query, "start": "0", "count": "500"}).json()["rows"]


def keys(client, **query):
    return [row["key"] for row in rows(client, **query)]


def number_of(client, key):
    return next(row["number"] for row in rows(client) if row["key"] == key)


def decide(client, key, label):
    return client.post("/api/decide", json={"numbers": [number_of(client, key)], "label": label}, headers=HEADER)


# Who may ask


@pytest.mark.parametrize("path", ["/", "/gallery.js", "/api/dataset", "/picture/0?side=256", "/?token=wrong"])
def test_without_the_token_nothing_is_answered(dataset, tmp_path, path):
    client = client_of(dataset, tmp_path, signed_in=False)
    answer = client.get(path)
    assert answer.status_code == 403
    assert "address that `shardkit view` printed" in answer.text


def test_the_token_becomes_a_cookie_that_scripts_and_other_sites_do_not_get(dataset, tmp_path):
    client = client_of(dataset, tmp_path, signed_in=False)
    answer = client.get(f"{HOST}/", params={"token": TOKEN})
    assert f'content="0;url={path_of(TOKEN)}/"' in answer.text
    assert TOKEN not in answer.text
    assert f"Path={path_of(TOKEN)}" in answer.headers["set-cookie"]
    assert client.get(f"{HOST}/").status_code == 403  # nor does a server at another port get it
    cookie = answer.headers["set-cookie"].partition(";")[0]
    assert client.get(f"{HOST}/", headers={"Cookie": cookie}).status_code == 403
    assert {"HttpOnly", "SameSite=strict"} <= set(answer.headers["set-cookie"].split("; "))
    page = client.get("/")
    assert page.status_code == 200
    assert TOKEN not in page.text


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example:8000"},  # a name that points at this machine
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "127.0.0.1:8000@evil.example"},
        {"Host": "127.0.0.1:²".encode("latin-1")},
        {"Host": "127.0.0.1:" + "8" * 5000},
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:9999"},  # another server of this machine
        {"Origin": "null"},
    ],
    ids=str,
)
def test_other_pages_are_refused_even_with_the_cookie(client, headers, tmp_path):
    assert client.get("/api/dataset", headers=headers).status_code == 403
    answer = client.post("/api/decide", json={"numbers": [0], "label": None}, headers={**HEADER, **headers})
    assert answer.status_code == 403
    assert [*tmp_path.iterdir()] == []


def test_a_decision_needs_the_token_once_more(client, tmp_path):
    for headers in ({}, {"X-Shardkit-Token": "wrong"}):
        assert client.post("/api/decide", json={"numbers": [0], "label": None}, headers=headers).status_code == 403
    assert [*tmp_path.iterdir()] == []


def test_every_answer_forbids_foreign_scripts_and_is_not_kept(client):
    for path in ("/", "/view.css", "/api/dataset", "/picture/0?side=256", "/nothing"):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"


# Lists


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ({}, None),
        ({"split": "validation"}, None),
        ({"label": "blue"}, "label_name = 'blue'"),
        ({"where": "width > 96 or key like '%wrong%'"}, "width > 96 or key like '%wrong%'"),
        ({"words": "BLUE"}, "key like 'blue/%'"),
        ({"words": "wrong"}, "key like '%wrong%'"),
        ({"words": "0 red", "split": "validation"}, "key like '%0%' and label_name = 'red'"),
        ({"words": "_"}, "key like 'nothing'"),
        ({"least": "100"}, "height >= 100 and width >= 100"),
        ({"most": "72", "label": "red"}, "height <= 72 and label_name = 'red'"),
    ],
    ids=str,
)
def test_filters_are_those_of_where(client, dataset, query, where):
    splits = [query["split"]] if "split" in query else ["train", "validation"]
    expected = [example.key for split in splits for example in shardkit.open(str(dataset), split, where=where)]
    assert keys(client, **query) == expected
    assert bool(expected) == (query != {"words": "_"})


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"where": "hight > 9"}, "hight"),
        ({"where": "height >"}, "height >"),
        ({"where": "key > 3"}, "compares text with a number"),
        ({"label": "green"}, "no class 'green'"),
        ({"split": "tset"}, "no split 'tset'"),
        ({"least": "-1"}, "whole number"),
        ({"name": "other"}, "no list 'other'"),
    ],
)
def test_a_wrong_filter_is_a_sentence(client, query, words):
    answer = client.get("/api/list", params=query)
    assert answer.status_code == 400
    assert words in answer.json()["error"]


def test_a_condition_that_fails_on_the_values_is_a_sentence(client):
    assert "becomes larger" in found(client, where="height * 9223372036854775807 > 1")["error"]


def test_queues(client):
    assert sorted(keys(client, name="conflicts")) == ["blue/same.png", "red/00.png"]
    copies = rows(client, name="copies")
    assert [sorted(row["key"] for row in copies if row["set"] == one) for one in (0, 1)] == [
        ["blue/same.png", "red/00.png"],  # labels differ: first
        ["red/01.png", "red/copy.jpg"],
    ]
    assert keys(client, name="unlike")[0] in {"red/wrong.png", "blue/same.png"}
    assert {"red/wrong.png", "blue/same.png"} <= set(keys(client, name="unlike")[:3])
    assert "knows nothing of objects" in found(client, name="unlike")["note"]


def test_a_filter_keeps_sets_whole(client):
    assert len(keys(client, name="conflicts", label="blue")) == 2
    assert keys(client, name="conflicts", where="key like '%copy%'") == []


def test_rejected_files_have_their_reason(client):
    [row] = client.get("/api/rejected", params={"start": "0", "count": "10"}).json()["rows"]
    assert (row["key"], row["reason"]) == ("red/broken.png", "truncated")


def test_rejected_files_are_shown_from_the_folder_of_the_source_and_from_nowhere_else(tmp_path):
    table = "image,label\n1.png,red\n2.png,blue\nno label.png,\n../secret.png,red\nbroken.png,red\n"
    files = {f"raw/{name}.png": picture(at) for at, name in enumerate(["1", "2", "no label", "broken"])}
    files["raw/broken.png"] = files["raw/broken.png"][:-30]
    write_tree(tmp_path, {**files, "raw/labels.csv": table.encode(), "secret.png": picture(9)})
    convert_without_beam(str(tmp_path / "raw" / "labels.csv"), str(tmp_path / "OUT"))
    (tmp_path / "out").mkdir()
    shown = {}
    for source in (None, open_source_folder(str(tmp_path / "raw"))):
        client = client_of(tmp_path / "OUT", tmp_path / "out", source=source)
        keys = [row["key"] for row in client.get("/api/rejected", params={"start": "0", "count": "9"}).json()["rows"]]
        answers = [client.get(f"/rejected/{at}?side=256") for at in range(len(keys) + 1)]
        shown[source] = [answer.status_code for answer in answers]
        assert client.get("/api/dataset").json()["has_source"] == (source is not None)
    assert {"broken.png", "no label.png"} < {*keys}
    without, with_source = shown.values()
    assert without == [400] * len(keys) + [404]
    assert with_source == [{"no label.png": 200}.get(key, 400) for key in keys] + [404]


def test_a_port_that_is_taken_is_a_sentence_with_the_remedy(dataset, tmp_path):
    with listen(0) as taken:
        port = taken.getsockname()[1]
        refused = call("view", dataset, "--no-browser", "--out", tmp_path / "new", "--port", port)
    assert refused.exit_code == 2
    assert f"--port {port} cannot be used" in refused.stderr
    assert "no --port for a free port" in refused.stderr
    assert not (tmp_path / "new").exists()


def test_pictures_and_records(client):
    number = number_of(client, "red/copy.jpg")
    assert max(read_jpeg(client.get(f"/picture/{number}?side=512").content).size) == 384  # twice, whole pixels
    record = dict(client.get(f"/api/example/{number}").json()["record"])
    assert (record["classes"], record["size"]) == ("red", "192 × 144 pixels")
    for path in ("/picture/0?side=9999", "/picture/0", "/api/rows?start=x&count=1", "/api/rows?start=٣&count=1"):
        assert client.get(path).status_code == 400


@pytest.mark.parametrize(
    "number", ["28", "99", "9" * 5000, "-1", "+1", "1_0", "٣", "²", "1.0", "0x1", "%00", "1%000", "é"]
)
def test_a_number_of_nothing_is_not_found(client, number):
    for path in ("/api/example/{}", "/picture/{}?side=256", "/mask/{}?side=256", "/rejected/{}?side=256"):
        assert client.get(path.format(number)).status_code == 404
    answer = client.post("/api/decide", content=f'{{"numbers": [{number}], "label": null}}'.encode(), headers=HEADER)
    assert answer.status_code == 400


# Decisions


def test_decisions_are_in_the_files_at_once_and_undone(client, tmp_path):
    decide(client, "red/wrong.png", "blue")
    assert (tmp_path / "fixes.csv").read_text() == "key,label\nred/wrong.png,blue\n"
    decide(client, f"red/{HOSTILE}", None)
    assert (tmp_path / "drop.txt").read_text() == f"red/{HOSTILE}\n"
    decide(client, "red/wrong.png", None)  # another decision about the same image
    assert not (tmp_path / "fixes.csv").exists()
    for _ in range(3):
        assert client.post("/api/undo", headers=HEADER).status_code == 200
    assert [*tmp_path.iterdir()] == []
    answer = client.post("/api/undo", headers=HEADER)
    assert (answer.status_code, answer.json()["error"]) == (400, "there is nothing to undo")


def test_undo_goes_back_to_the_decision_before(client, tmp_path):
    decide(client, "red/wrong.png", "blue")
    decide(client, "red/wrong.png", None)
    undone = client.post("/api/undo", headers=HEADER).json()
    [example] = undone["examples"]
    assert (example["dropped"], example["label"], undone["num_dropped"]) == (False, "blue", 0)
    assert (tmp_path / "fixes.csv").read_text() == "key,label\nred/wrong.png,blue\n"
    assert not (tmp_path / "drop.txt").exists()


def test_several_are_decided_at_once_and_undone_at_once(client, tmp_path):
    numbers = [number_of(client, f"red/{name}.png") for name in ("wrong", "03", "04")]
    decide(client, "red/03.png", None)
    decided = client.post("/api/decide", json={"numbers": numbers, "label": "blue"}, headers=HEADER).json()
    assert [(one["number"], one["label"]) for one in decided["examples"]] == [(one, "blue") for one in sorted(numbers)]
    assert (tmp_path / "fixes.csv").read_text() == "key,label\nred/03.png,blue\nred/04.png,blue\nred/wrong.png,blue\n"
    assert not (tmp_path / "drop.txt").exists()
    assert client.post("/api/undo", headers=HEADER).json()["num_relabelled"] == 0
    assert not (tmp_path / "fixes.csv").exists()
    assert (tmp_path / "drop.txt").read_text() == "red/03.png\n"


def test_its_own_class_is_no_correction(client, tmp_path):
    decide(client, "red/wrong.png", "blue")
    decide(client, "red/wrong.png", "red")
    assert [*tmp_path.iterdir()] == []


WRONG = [b"1", b"[]", b"[-1]", b"[28]", b"[true]", b"[[0]]", b"{}", b'"0"', b"[%s]" % b",".join([b"0"] * 5001)]


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b'{"numbers": [1]}', *(b'{"numbers": %s, "label": null}' % some for some in WRONG), b"[" * 9999],
)
def test_a_wrong_decision_writes_nothing(client, tmp_path, body):
    assert client.post("/api/decide", content=body, headers=HEADER).status_code == 400
    assert decide(client, "red/00.png", "green").json()["error"] == "there is no class 'green'; choose one of the list"
    assert [*tmp_path.iterdir()] == []


def test_files_are_continued(client, dataset, tmp_path):
    decide(client, "red/wrong.png", "blue")
    decide(client, "blue/same.png", None)
    again = client_of(dataset, tmp_path)
    assert keys(again, name="decided") == [row["key"] for row in rows(again) if row["label"] or row["dropped"]]
    assert len(keys(again, name="decided")) == 2
    decide(again, "blue/00.png", "red")
    assert dict(csv.reader((tmp_path / "fixes.csv").open())) == {
        "key": "label",
        "blue/00.png": "red",
        "red/wrong.png": "blue",
    }


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("fixes.csv", "key,label,who\nred/00.png,blue,me\n", "key,label,who"),
        ("fixes.csv", "key,label\nred/00.png,green\n", "green"),
        ("fixes.csv", "key,label\nother/00.png,red\n", "other/00.png"),
        ("fixes.csv", "", "lacks the column"),
        ("drop.txt", "other/00.png\n", "other/00.png"),
    ],
)
def test_files_that_cannot_be_continued_are_refused_and_stay(dataset, tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(CallError, match=words):
        client_of(dataset, tmp_path)
    assert (tmp_path / name).read_text() == text


def test_a_change_by_another_program_is_not_overwritten(client, tmp_path):
    decide(client, "red/wrong.png", "blue")
    (tmp_path / "drop.txt").write_text("red/00.png\n")
    assert "changed by another program" in decide(client, "red/01.png", None).json()["error"]
    assert (tmp_path / "drop.txt").read_text() == "red/00.png\n"
    assert decide(client, "red/01.png", None).json()["num_dropped"] == 2
    assert (tmp_path / "drop.txt").read_text() == "red/00.png\nred/01.png\n"


@pytest.mark.parametrize(("sample", "queues"), [("coco", True), ("masks", False), ("multilabel.jsonl", True)])
def test_other_annotations_are_dropped_only(tmp_path, sample, queues):
    convert_without_beam(str(SAMPLE_DATA / sample), str(tmp_path / "OUT"))
    client = client_of(tmp_path / "OUT", tmp_path)
    about = client.get("/api/dataset").json()
    assert not about["can_relabel"]
    assert ("conflicts" in about["queues"]) == queues
    first = rows(client)[0]
    assert bool(about["classes"]) == queues  # the classes of pixels are in no index: a filter would find nothing
    label = "circle"
    answer = client.post("/api/decide", json={"numbers": [first["number"]], "label": label}, headers=HEADER)
    assert "can be dropped" in answer.json()["error"]
    answer = client.post("/api/decide", json={"numbers": [first["number"]], "label": None}, headers=HEADER).json()
    assert answer["command"].endswith(f"NEW --drop {tmp_path / 'drop.txt'}")
    assert client.get(f"/picture/{first['number']}?side=256").status_code == 200
    found(client, name="copies")


def test_a_key_that_a_file_would_change_is_refused_and_the_file_stays(tmp_path):
    odd = "cat/a\nb.png"
    write_tree(tmp_path / "raw", {odd: picture(0), "cat/c.png": picture(1), "dog/d.png": picture(2)})
    convert_without_beam(str(tmp_path / "raw"), str(tmp_path / "OUT"))
    (tmp_path / "out").mkdir()
    client = client_of(tmp_path / "OUT", tmp_path / "out")
    decide(client, "cat/c.png", None)
    assert "line ends" in decide(client, odd, None).json()["error"]
    assert (tmp_path / "out" / "drop.txt").read_text() == "cat/c.png\n"
    decide(client, odd, "dog")  # a CSV file can quote it
    assert keys(client_of(tmp_path / "OUT", tmp_path / "out"), name="decided") == keys(client, name="decided")
    assert odd in keys(client, name="decided")
