"""A large .tar of small samples is listed in pieces: the same rows in the same order as in one part."""

import pickle
import tarfile

import pytest

from shardkit.errors import SourceChangedError
from shardkit.record_sources import webdataset_samples
from shardkit.sources import SourceOptions
from shardkit.sources.opening import open_source
from shardkit.storage import open_folder

from .test_webdataset import opened, source_of, tarred

IMAGE = b"image"


@pytest.fixture(autouse=True)
def few_is_many(monkeypatch):
    monkeypatch.setattr(webdataset_samples, "PIECE_MEMBERS", 4)
    monkeypatch.setattr(webdataset_samples, "_HEADER_BYTES", 1)
    monkeypatch.setattr("shardkit.record_sources.webdataset.MAX_DIVIDED_TARS", 2)


def labelled(name, label="cat"):
    return [(f"{name}.jpg", IMAGE), (f"{name}.cls", label.encode())]


# Samples between which a .tar may and may not be divided.
SAMPLES = [
    *labelled("0"),
    *labelled("long/" * 30 + "1"),
    ("2.jpg", b""),  # empty
    ("2.cls", b"cat"),
    ("folder", {"type": tarfile.DIRTYPE}),
    *labelled("3"),
    ("link.jpg", {"type": tarfile.LNKTYPE, "linkname": "0.jpg"}),
    *labelled("4"),
    ("5.jpg", IMAGE),
    (".DS_Store", b"x"),  # in the middle of a sample
    ("5.cls", b"dog"),
    ("6.jpg", IMAGE),
    ("../6.jpg", IMAGE),
    ("6.cls", b"dog"),
    ("notes.txt", b"x"),
    ("alone.cls", b"x"),
    *labelled("7", ""),
    *labelled("\u732b"),
    *labelled("\udcff"),
    *labelled("0", "dog"),  # the first sample's name again
    ("8.jpg", IMAGE),
    ("8.PNG", IMAGE),
    *labelled("a/9"),
    *labelled("b/9"),
]
FORMATS = {
    "USTAR": {"format": tarfile.USTAR_FORMAT},
    "GNU": {"format": tarfile.GNU_FORMAT},
    "PAX": {"format": tarfile.PAX_FORMAT},
}


def archive(**options):
    return tarred(SAMPLES, errors="surrogateescape", **options)


def listing(source, parts, batch_rows=3):
    rows, skipped = [], {}
    for part in parts:
        for one in source.list_part(part, batch_rows):
            rows += one.table().to_pylist()
            skipped |= {kind: skipped.get(kind, 0) + count for kind, count in one.skipped.items()}
    return rows, skipped


def pieces_of(source):
    """Pieces as workers receive them."""
    return pickle.loads(pickle.dumps([piece for part in source.parts() for piece in source.divided(part)]))  # noqa: S301


@pytest.mark.parametrize("options", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("samples", [1, 2, 3, 5])
def test_the_pieces_of_a_tar_list_what_the_whole_lists(options, samples, tmp_path, monkeypatch):
    monkeypatch.setattr(webdataset_samples, "PIECE_MEMBERS", 2 * samples)
    root = source_of(tmp_path, train=archive(**options), test=archive(**options))
    (root / "more.txt").touch()
    source = opened(root)
    pieces = pieces_of(source)
    assert len(pieces) >= 2 * (8 // samples)
    assert listing(source, pieces) == listing(source, source.parts())
    assert [source.divided(piece) for piece in pieces] == [[piece] for piece in pieces]


def test_a_tar_that_breaks_is_one_part(tmp_path):
    source = opened(source_of(tmp_path, a=archive()[:-9000]))
    assert pieces_of(source) == source.parts()


def test_a_global_header_leaves_a_tar_in_one_part(tmp_path):
    source = opened(source_of(tmp_path, a=archive(format=tarfile.PAX_FORMAT, pax_headers={"comment": "all"})))
    assert pieces_of(source) == source.parts()


def test_large_samples_are_not_worth_dividing(tmp_path, monkeypatch):
    source = opened(source_of(tmp_path, a=archive()))
    monkeypatch.setattr(webdataset_samples, "_MEASURED_MEMBERS", 8)
    assert len(pieces_of(source)) > 2
    monkeypatch.setattr(webdataset_samples, "MAX_MEMBER_BYTES", 500)
    assert pieces_of(source) == source.parts()


def test_many_or_small_or_remote_tars_are_parts_enough(tmp_path, monkeypatch):
    root = source_of(tmp_path, a=archive(), b=archive())
    source = opened(root)
    remote = source.in_folder(open_folder("s3://bucket/tars?region=eu-west-1"))
    assert [remote.divided(part) for part in source.parts()] == [[part] for part in source.parts()]
    with monkeypatch.context() as patch:
        patch.setattr(webdataset_samples, "_HEADER_BYTES", 1 << 20)
        assert pieces_of(source) == source.parts()
    monkeypatch.setattr("shardkit.record_sources.webdataset.MAX_DIVIDED_TARS", 1)
    assert pieces_of(source) == source.parts()


@pytest.mark.parametrize("ignored", [(), ("a/3*",)])
def test_a_source_with_ignored_samples_is_divided_too(tmp_path, ignored):
    root = source_of(tmp_path, a=archive())
    source = open_source(str(root), SourceOptions(ignore=ignored))
    assert len(pieces_of(source)) > len(source.parts())
    assert listing(source, pieces_of(source)) == listing(source, source.parts())


def test_pieces_of_another_archive_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("shardkit.sources.hosts.PAUSES_SECONDS", ())
    root = source_of(tmp_path, a=archive())
    source = opened(root)
    pieces = pieces_of(source)
    (root / "a.tar").write_bytes(tarred([*labelled("new"), *SAMPLES], errors="surrogateescape"))
    with pytest.raises(SourceChangedError, match=r"a.tar: the archive has changed since the conversion began"):
        listing(source, pieces[1:2])
