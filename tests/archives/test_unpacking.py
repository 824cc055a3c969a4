import gzip
import io
import tarfile
import zipfile

import pytest

from shardkit.archives import member_tree, unpacking
from shardkit.archives.unpacking import Unpacker, cut_from, plain_name, stem_of
from shardkit.errors import BombError, DataError
from shardkit.storage import open_folder
from shardkit.testing import files_of, write_tree

FILES = {"cat/1.jpg": b"one", "dog/2.jpg": b"two"}


def tarred(files, mode="w", links=()):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        for name, kind in links:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member)
    return out.getvalue()


def seven_zipped(files, password=None):
    py7zr = pytest.importorskip("py7zr")
    out = io.BytesIO()
    with py7zr.SevenZipFile(out, "w", password=password) as archive:
        for name, data in files.items():
            archive.writestr(data, name)
    return out.getvalue()


def zipped(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def opened(tmp_path, name, data):
    write_tree(tmp_path / "source", {name: data})
    unpacker = Unpacker(lambda: open_folder(str(tmp_path / "work")))
    return unpacker, lambda: unpacker.open(open_folder(str(tmp_path / "source")), name)


@pytest.mark.parametrize("name", ["a.tar.gz", "a.TGZ", "a.tar.bz2", "a.tbz2", "a.tar.xz", "a.txz", "a.7z"])
def test_every_kind_is_the_same_tree(name, tmp_path):
    kind = name.lower()
    mode = "w:gz" if kind.endswith("gz") else "w:xz" if kind.endswith("xz") else "w:bz2"
    data = seven_zipped(FILES) if kind.endswith("7z") else tarred(FILES, mode)
    unpacker, open_it = opened(tmp_path, name, data)
    folder = open_it()
    assert files_of(folder) == FILES
    assert sorted(folder.paths()) == sorted(FILES)
    assert folder.url == f"{tmp_path}/source/{name}"
    unpacker.undo()
    assert not (tmp_path / "work").exists()


def test_an_archive_is_unpacked_once(tmp_path):
    _, open_it = opened(tmp_path, "a.tar.gz", tarred(FILES, "w:gz"))
    first = open_it()
    copy = next((tmp_path / "work").rglob("*.tar"))
    before = copy.stat().st_mtime_ns
    assert open_it() == first
    assert copy.stat().st_mtime_ns == before
    unpacker = Unpacker(lambda: open_folder(str(tmp_path / "work")))
    unpacker.open(open_folder(str(tmp_path / "source")), "a.tar.gz")
    unpacker.undo()
    assert copy.exists(), "another run may read it"


HARMFUL = {
    "cut short": ("a.tar.gz", lambda: tarred(FILES, "w:gz")[:-30], DataError, "cut short or damaged"),
    "no gzip": ("a.tgz", lambda: b"PK\3\4" * 9, DataError, "cut short or damaged"),
    "xz cut short": ("a.tar.xz", lambda: tarred(FILES, "w:xz")[:-30], DataError, "cut short or damaged"),
    "bz2 damaged": ("a.tar.bz2", lambda: b"BZh9" + bytes(99), DataError, "cut short or damaged"),
    "a .7z cut short": ("a.7z", lambda: seven_zipped(FILES)[:-9], DataError, "cut short or damaged"),
    "no .7z": ("a.7z", lambda: bytes(99), DataError, r"not a \.7z archive"),
    "a .7z with a password": ("a.7z", lambda: seven_zipped(FILES, "secret"), DataError, "encrypted"),
    "a bomb": ("a.tar.gz", lambda: gzip.compress(bytes(80 << 20)), BombError, "which no pictures do"),
    "a bomb in .7z": (
        "a.7z",
        lambda: seven_zipped({"a.png": bytes(80 << 20)}),
        DataError,
        "unpacks to 83,886,080 bytes",
    ),
}


@pytest.mark.parametrize(("name", "data", "kind", "said"), HARMFUL.values(), ids=HARMFUL.keys())
def test_a_harmful_archive_is_one_sentence_and_leaves_nothing(name, data, kind, said, tmp_path):
    unpacker, open_it = opened(tmp_path, name, data())
    with pytest.raises(kind, match=said) as caught:
        open_it()
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path}/source/{name}: ")
    assert not list((tmp_path / "work").rglob("*.tar")), "a half extraction may be used"
    unpacker.undo()
    assert not (tmp_path / "work").exists()


def test_paths_links_and_devices_never_reach_the_disk(tmp_path):
    files = {**FILES, "../out.jpg": b"x", "/abs.jpg": b"x"}
    links = [("cat/link.jpg", tarfile.SYMTYPE), ("cat/hard.jpg", tarfile.LNKTYPE), ("cat/null.jpg", tarfile.CHRTYPE)]
    _, open_it = opened(tmp_path, "a.tar.gz", tarred(files, "w:gz", links))
    folder = open_it()
    assert files_of(folder) == FILES
    assert sorted(one.name for one in folder.problems()) == sorted([*files.keys() - FILES.keys(), *dict(links)])
    assert {path.name for path in tmp_path.rglob("*.jpg")} == set()


def test_a_zip_in_a_tar_in_a_zip(tmp_path):
    inner = zipped(FILES)
    _, open_it = opened(tmp_path, "a.zip", zipped({"b.tar": tarred({"c.zip": inner})}))
    unpacker = Unpacker(lambda: open_folder(str(tmp_path / "work")))
    outer = open_it()
    assert files_of(unpacker.open(unpacker.open(outer, "b.tar"), "c.zip")) == FILES


def test_too_many_entries_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(member_tree, "MAX_MEMBERS", 1)
    _, open_it = opened(tmp_path, "a.tar.gz", tarred(FILES, "w:gz"))
    with pytest.raises(DataError, match="more than 1 entries"):
        open_it().scan()


def test_an_interrupted_extraction_is_made_again(tmp_path, monkeypatch):
    _, open_it = opened(tmp_path, "a.tar.gz", tarred(FILES, "w:gz"))

    def interrupted(*_):
        yield b"half"
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(unpacking, "_decompressed", interrupted)
        with pytest.raises(KeyboardInterrupt):
            open_it()
    assert files_of(open_it()) == FILES


@pytest.mark.parametrize(
    ("name", "stem", "cut", "plain"),
    [
        ("train.tar.gz", "train", None, None),
        ("v1.2.ZIP", "v1.2", None, None),
        ("data.zip.001", "data.zip.001", "data", None),
        ("data.z01", "data.z01", "data", None),
        ("data.tar.gz.aa", "data.tar.gz.aa", "data", None),
        ("data.part1.rar", "data.part1.rar", "data", None),
        ("labels.csv.gz", "labels.csv.gz", None, "labels.csv"),
        ("cat.jpg", "cat.jpg", None, None),
    ],
)
def test_names(name, stem, cut, plain):
    assert (stem_of(name), cut_from(name), plain_name(name)) == (stem, cut, plain)
