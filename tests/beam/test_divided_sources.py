"""Conversions whose workers list pieces of one table or one archive write what a conversion of the whole writes."""

import json

import pytest

from shardkit.beam.conversion import BeamExecutor
from shardkit.conversion.writing import job
from shardkit.parallel.threads import ThreadExecutor
from shardkit.record_sources import webdataset_samples
from shardkit.sources.formats.tables import text_pieces
from shardkit.testing import digests_of, picture, write_tree

from ..cli.calling import convert
from ..record_sources.test_webdataset import tarred

NAMES = [f"{(7 * i) % 40:02d}.png" for i in range(40)]
RECORDS = [*NAMES, "05.png", "missing.png", "../out.png"]


def csv(end):
    rows = [f'images/{name},{"cat" if i % 3 else "dog"},"note, {i}{end}x"' for i, name in enumerate(RECORDS)]
    return end.join(["image,label,note", *rows, 'images/00.png,"cat']).encode()


def json_lines():
    rows = [{"image": f"images/{name}", "label": "cat" if i % 3 else "dog", "n": i} for i, name in enumerate(RECORDS)]
    return ("\n".join(map(json.dumps, rows)) + '\n{"image": \n').encode()


def tar():
    named = [*NAMES, "05.png"]  # a name twice
    return tarred(
        [
            member
            for i, name in enumerate(named)
            for member in ((name, picture(i)), (name.replace("png", "cls"), b"cat" if i % 3 else b"dog"))
        ]
    )


SOURCES = {
    "labels.csv": lambda: csv("\n"),
    "windows.csv": lambda: csv("\r\n"),
    "labels.jsonl": json_lines,
    "train.tar": tar,
}


@pytest.fixture
def tiny_pieces(monkeypatch):
    monkeypatch.setattr(text_pieces, "PIECE_BYTES", 300)
    monkeypatch.setattr(webdataset_samples, "PIECE_MEMBERS", 12)


def check(name, options, executor, tmp_path, monkeypatch):
    write_tree(tmp_path, {f"images/{one}": picture(i) for i, one in enumerate(NAMES)} | {name: SOURCES[name]()})
    options = [*options, "--shards", "3", "--max-rejected", "9", "--seed", "3"]
    convert(tmp_path / name, tmp_path / "whole", *options)
    groups = []
    part_groups = job.part_groups

    def noting(*given, **named):
        groups.extend(found := part_groups(*given, **named))
        return found

    monkeypatch.setattr(job, "part_groups", noting)
    if executor is BeamExecutor:
        options.append("--runner=BundleBasedDirectRunner")  # whose workers might be processes of other hosts
    else:
        monkeypatch.setattr(executor, "is_remote", property(lambda _: True))
    convert(tmp_path / name, tmp_path / "pieces", *options)
    assert len(groups) > 5
    assert digests_of(tmp_path / "pieces") == digests_of(tmp_path / "whole")


@pytest.mark.usefixtures("tiny_pieces")
@pytest.mark.parametrize("check_option", ["header", "decode"])
@pytest.mark.parametrize("name", SOURCES)
def test_pieces_give_the_bytes_of_the_whole(name, check_option, tmp_path, monkeypatch):
    check(name, ["--check", check_option], ThreadExecutor, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.usefixtures("tiny_pieces")
@pytest.mark.parametrize("check_option", ["header", "decode"])
@pytest.mark.parametrize("name", ["labels.csv", "train.tar"])
def test_pieces_give_the_bytes_of_the_whole_with_beam(name, check_option, tmp_path, monkeypatch):
    check(name, ["--check", check_option], BeamExecutor, tmp_path, monkeypatch)
