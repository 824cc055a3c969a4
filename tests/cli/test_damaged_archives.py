"""Archives that are damaged, encrypted or lie about their members: the data is at fault, and a sentence says where."""

import io
import struct
import zipfile

import pytest

from shardkit.testing import picture

from .calling import call, is_one_sentence

LABELS = "".join(f"img/{i}.png,{'ant' if i % 2 else 'bee'}\n" for i in range(6))
TABLE = {"labels.csv": f"image,label\n{LABELS}".encode(), **{f"img/{i}.png": picture(i) for i in range(6)}}
FOLDERS = {f"{name}/{i}.png": picture(i) for name in ("ant", "bee") for i in range(3)}


def zipped(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def changed(data, at, kind, value):
    """The bytes with one number replaced."""
    raw = bytearray(data)
    struct.pack_into(kind, raw, at, value)
    return bytes(raw)


def in_directory(at, kind, value):
    """Change the first member's entry in the directory."""
    return lambda data: changed(data, data.index(b"PK\1\2") + at, kind, value)


def in_end(at, kind, value):
    return lambda data: changed(data, data.rindex(b"PK\5\6") + at, kind, value)


OF_A_MEMBER = {
    "encrypted": (in_directory(8, "<H", 1), "is encrypted; unpack the archive with its password"),
    "method": (in_directory(10, "<H", 99), "is compressed by method 99"),
    "crc": (in_directory(16, "<L", 7), "has bytes that do not match their CRC"),
    "stored size": (in_directory(20, "<L", 1 << 20), "goes beyond the end of the archive"),
    "larger": (in_directory(24, "<L", 5000), "has fewer bytes than the 5000 that the archive's directory lists"),
    "smaller": (in_directory(24, "<L", 3), "has more bytes than the 3 that the archive's directory lists"),
    "offset": (in_directory(42, "<L", 5), "is not at byte 5, where the archive's directory lists it"),
}
OF_THE_ARCHIVE = {
    "cut": (lambda data: data[:-30], "this is not a .zip archive, or it is damaged"),
    "number of entries": (in_end(10, "<H", 999), "its end counts 999 entries, its directory"),
    "hidden entries": (
        in_directory(28, "<H", 10 + 2 * 55),
        "its end counts 7 entries, its directory 5",
    ),  # a name swallows two
    "start of the directory": (in_end(16, "<L", 1 << 20), "is before the archive's beginning"),
}


@pytest.mark.parametrize(("change", "found"), OF_A_MEMBER.values(), ids=OF_A_MEMBER)
def test_a_member_that_cannot_be_used_is_named_with_its_archive(change, found, tmp_path):
    for name, files, first in (("table.zip", TABLE, "labels.csv"), ("folders.zip", FOLDERS, "ant/0.png")):
        (tmp_path / name).write_bytes(change(zipped(files)))
        result = call("convert", tmp_path / name, tmp_path / "out")
        assert (result.exit_code, "Traceback" in result.stderr) == (1, False), result.stderr
        assert f"the entry {first} of {name} {found}" in result.stderr


@pytest.mark.parametrize(("change", "found"), OF_THE_ARCHIVE.values(), ids=OF_THE_ARCHIVE)
@pytest.mark.parametrize("command", ["convert", "plan"])
def test_an_archive_that_is_damaged_as_a_whole_is_one_sentence(command, change, found, tmp_path):
    (tmp_path / "table.zip").write_bytes(change(zipped(TABLE)))
    result = call(command, tmp_path / "table.zip", *[tmp_path / "out"] * (command == "convert"))
    assert (result.exit_code, is_one_sentence(result.stderr), found in result.stderr) == (1, True, True), result.stderr


def test_an_archive_in_an_archive_is_named_as_the_outer_one_has_it(tmp_path):
    inner = OF_A_MEMBER["crc"][0](zipped(TABLE))
    (tmp_path / "outer.zip").write_bytes(zipped({"inner.zip": inner}))
    result = call("convert", tmp_path / "outer.zip", tmp_path / "out")
    assert (result.exit_code, "the entry labels.csv of inner.zip has bytes" in result.stderr) == (1, True), (
        result.stderr
    )


def test_one_damaged_image_in_an_archive_is_left_out_like_one_in_a_folder(tmp_path):
    (tmp_path / "folders.zip").write_bytes(OF_A_MEMBER["crc"][0](zipped(FOLDERS)))
    result = call("convert", tmp_path / "folders.zip", tmp_path / "out", "--max-rejected", "1")
    assert (result.exit_code, "rejected: 1" in result.stdout) == (0, True), result.stdout
