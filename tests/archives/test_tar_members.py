"""Headers that are read without tarfile give what tarfile gives; anything else is left to it."""

import io
import random
import tarfile

import pytest

from shardkit.archives import tar_members as module
from shardkit.archives.plain_headers import read_plain_file
from shardkit.archives.tar_members import BrokenTar, IndivisibleTar, member_end, tar_members

LONG = "long/" * 30 + "name.jpg"
MEMBERS = [
    ("a.jpg", {}),
    ("./a.cls", {"mtime": 1_700_000_000.25}),
    ("empty.jpg", {"content": b""}),
    ("block.jpg", {"content": b"x" * 512}),
    (LONG, {}),
    (LONG.replace("name", "näme"), {"mtime": 1.5}),
    ("x" * 100, {}),
    ("p" * 90 + "/" + "y" * 90, {}),
    ("\u732b.jpg", {}),
    ("\udcff.jpg", {}),  # no UTF-8
    ("new\nline.jpg", {}),
    ("back\\slash.jpg", {}),
    ("../out.jpg", {}),
    ("/abs.jpg", {}),
    ("c:/d.jpg", {}),
    ("folder", {"type": tarfile.DIRTYPE}),
    ("hard.jpg", {"type": tarfile.LNKTYPE, "linkname": "a.jpg"}),
    ("soft.jpg", {"type": tarfile.SYMTYPE, "linkname": "a.jpg"}),
    ("device", {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 3}),
    ("old.jpg", {"type": tarfile.AREGTYPE}),
    ("old/", {"type": tarfile.AREGTYPE, "content": b""}),
    ("contiguous.jpg", {"type": tarfile.CONTTYPE}),
    ("times.jpg", {"pax_headers": {"atime": "1.5", "ctime": "2.5", "mtime": "3.5"}}),
    ("other.jpg", {"pax_headers": {"comment": "a=b\n", "SCHILY.dev": "1"}}),
    ("owner.jpg", {"uid": 1_000_000, "gid": 2_000_000, "uname": "ünser", "gname": "g" * 40}),
    ("mode.jpg", {"mode": 0o7777, "mtime": 0}),
    ("late.jpg", {"mtime": 1 << 33}),
    ("early.jpg", {"mtime": -5}),
]
FORMATS = {"USTAR": tarfile.USTAR_FORMAT, "GNU": tarfile.GNU_FORMAT, "PAX": tarfile.PAX_FORMAT}


def packed(members, form, **options):
    """A .tar of the members that the format can hold."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form, errors="surrogateescape", **options) as tar:
        for name, changes in members:
            info = tarfile.TarInfo(name)
            info.mtime = 1_700_000_000
            fields = {"content": b"image " + name.encode("utf-8", "surrogateescape"), **changes}
            content = fields.pop("content")
            for key, value in fields.items():
                setattr(info, key, value)
            if info.isreg():
                info.size = len(content)
            try:
                tar.addfile(info, io.BytesIO(content))
            except ValueError:  # USTAR holds no such name, owner or time
                continue
    return out.getvalue()


def read(data, start=0, *, plain=True, **options):
    """The members, and why the archive breaks."""
    with pytest.MonkeyPatch.context() as patch:
        if not plain:
            patch.setattr(module, "read_plain_file", lambda *_: None)
        found = []
        try:
            found.extend(tar_members(io.BytesIO(data), len(data), start, **options))
        except BrokenTar as error:
            return found, str(error)
        return found, None


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("shared", [None, {"mtime": "77.5", "comment": "of all"}])
def test_members_are_those_that_tarfile_finds(form, shared):
    data = packed(MEMBERS, form, pax_headers=shared)
    found, problem = read(data)
    assert (found, problem) == read(data, plain=False)
    assert len(found) > 15
    assert problem is None


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
def test_ordinary_headers_are_read_without_tarfile(form):
    """Else every test here would pass with a reader that leaves everything to tarfile."""
    members = [("a.jpg", {}), ("b/c.cls", {"mtime": 1.0 if form != tarfile.PAX_FORMAT else 1.5}), ("d.jpg", {})]
    data = packed(members, form)
    at, names = 0, []
    while (found := read_plain_file(io.BytesIO(data), at)) is not None:
        names.append(found.name)
        at = found.end
    assert names == ["a.jpg", "b/c.cls", "d.jpg"]


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
def test_a_damaged_archive_is_read_as_far_as_tarfile_reads_it_and_described_alike(form):
    rng = random.Random(form)  # noqa: S311 - no secret
    whole = packed(MEMBERS[:8], form)
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 2)):
            # Mostly in headers, of which the fields after the name matter.
            at = rng.randrange(0, len(data), 512) + rng.choice([rng.randrange(512), rng.randrange(100, 160)])
            data[at] = rng.choice([0, 32, 48, 56, 120, 128, 255])
        data = bytes(data[: rng.choice([len(data), rng.randrange(len(data))])])
        assert read(data) == read(data, plain=False)


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
def test_reading_may_begin_after_any_ordinary_file(form):
    data = packed(MEMBERS, form)
    members, _ = read(data)
    for i, member in enumerate(members[:-1]):
        if not member.problem:
            assert read(data, member_end(member)) == (members[i + 1 :], None)


def test_a_global_header_makes_an_archive_indivisible():
    data = packed(MEMBERS, tarfile.PAX_FORMAT, pax_headers={"mtime": "5"})
    with pytest.raises(IndivisibleTar):
        read(data, may_divide=True)
    assert read(packed(MEMBERS, tarfile.PAX_FORMAT), may_divide=True)[1] is None


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "1e300", "x"])
def test_times_that_64_bits_cannot_hold_are_the_year_1970(value):
    data = packed([("a.jpg", {}), ("b.jpg", {"pax_headers": {"mtime": value}})], tarfile.PAX_FORMAT)
    for plain in (True, False):
        assert [member.mtime_ns for member in read(data, plain=plain)[0]] == [1_700_000_000_000_000_000, 0]
