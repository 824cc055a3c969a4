"""Several sources in one call, and archives in folders, from the command line on."""

import json
import tarfile

import pytest

from shardkit import open as open_dataset
from shardkit import read_manifest
from shardkit.testing import picture, upload, write_archive, write_tree

from ...cli.calling import call

PETS = ("cat", "dog")


def jpeg(seed):
    return picture(seed, kind="JPEG")


def pets(above="", seed=0):
    """Two images of each pet, by their paths."""
    named = [(f"{name}/{seed}{i}.jpg", 100 * seed + 10 * i + n) for n, name in enumerate(PETS) for i in range(2)]
    return {above + path: jpeg(number) for path, number in named}


def keys(dataset):
    splits = read_manifest(dataset).splits
    return {split: sorted(one.key for one in open_dataset(str(dataset), split)) for split in splits}


def converted(*paths, options=()):
    """Convert sources, and return the keys of each split."""
    result = call("convert", *paths, *options)
    assert result.exit_code == 0, result.stderr
    return keys(paths[-1])


@pytest.fixture
def parts(tmp_path):
    write_tree(tmp_path, {**pets("rps/", 1), **pets("rps-test-set/", 2)})
    return tmp_path


def test_splits_are_given(parts):
    found = converted(f"train={parts}/rps", f"validation={parts}/rps-test-set", parts / "out")
    assert found == {"train": sorted(pets("train/", 1)), "validation": sorted(pets("validation/", 2))}
    again = call("convert", f"train={parts}/rps", f"validation={parts}/rps-test-set", parts / "again")
    assert again.exit_code == 0
    assert read_manifest(parts / "again").digest == read_manifest(parts / "out").digest


def test_a_dataset_grows_by_several_sources_and_python_takes_them_too(parts):
    import shardkit

    write_tree(parts, {**pets("home/", 3), **pets("street/", 4)})
    shardkit.convert([parts / "rps"], parts / "out")
    planned = shardkit.plan([f"{parts}/home", parts / "street"])
    assert planned.classes == ["cat", "dog"]
    assert planned.num_examples == 8
    result = call("append", parts / "out", parts / "home", parts / "street")
    assert result.exit_code == 0, result.stderr
    assert keys(parts / "out")["train"] == sorted({**pets(seed=1), **pets("home/", 3), **pets("street/", 4)})


CALLS = {
    "one does not exist": (["rps", "no"], "convert takes SOURCE and OUTPUT"),
    "given twice": (["rps", "rps"], "its images are given twice"),
    "one in another": (["rps", "rps/cat"], "its images are given twice"),
    "only some have splits": (["train=rps", "rps-test-set"], "some sources have a split and this one has none"),
    "no split": (["part=rps"], "part before = is no split; write train="),
    "a missing source": (["no"], "no: there is no such file or folder"),
    "a missing source of a split": (["train=no"], "no: there is no such file or folder"),
}


@pytest.mark.parametrize(("sources", "said"), CALLS.values(), ids=CALLS.keys())
def test_wrong_calls(sources, said, parts, monkeypatch):
    monkeypatch.chdir(parts)
    refused = call("convert", *sources, "out")
    assert (refused.exit_code, said in refused.stderr) == (2, True), refused.stderr
    assert not (parts / "out").exists()


def test_files_of_one_name_with_other_bytes_are_refused(tmp_path):
    write_archive(tmp_path / "pets-001.zip", {"pets/cat/1.jpg": jpeg(1), "pets/dog/1.jpg": jpeg(2)})
    write_archive(tmp_path / "pets-002.zip", {"pets/cat/1.jpg": jpeg(3) + b" ", "pets/dog/2.jpg": jpeg(4)})
    refused = call("convert", tmp_path, tmp_path / "out")
    assert refused.exit_code == 1
    assert "are different files of the same name" in refused.stderr


def test_the_work_folder_is_gone_when_the_dataset_is_there_and_after_a_refusal(tmp_path):
    write_archive(tmp_path / "source/train.tar.gz", pets(seed=1))
    write_archive(tmp_path / "source/test.tar.gz", pets(seed=2))
    found = converted(tmp_path / "source", tmp_path / "out")
    assert found == {"test": sorted(pets("test/", 2)), "train": sorted(pets("train/", 1))}
    assert not (tmp_path / "out/.shardkit").exists()
    write_archive(tmp_path / "bad/a.tar.gz", {"1.jpg": jpeg(1), "2.jpg": jpeg(2)})
    assert call("convert", tmp_path / "bad", tmp_path / "other").exit_code == 2
    assert not (tmp_path / "other").exists()


def test_unpacking_a_large_archive_is_said_at_once_and_then_every_few_seconds(tmp_path, monkeypatch):
    from shardkit.archives import unpacking

    write_archive(tmp_path / "pets.tar.gz", pets())
    assert "MiB" not in call("plan", tmp_path / "pets.tar.gz").stderr
    monkeypatch.setattr(unpacking, "_TOLD_BYTES", 0)
    monkeypatch.setattr(unpacking, "_TOLD_SECONDS", 0)
    said = call("plan", tmp_path / "pets.tar.gz").stderr.splitlines()
    assert said[:2] == ["unpacking pets.tar.gz, 0 MiB", "unpacking pets.tar.gz: 0 MiB so far"]


def test_ignored_archives_and_those_of_programs_stay_files(tmp_path):
    write_tree(tmp_path / "source", pets())
    write_archive(tmp_path / "source/backup.zip", pets("old/", 5))
    write_archive(tmp_path / "source/code.zip", {"src/main.py": b"1", "src/config.json": b"{}"})
    found = converted(tmp_path / "source", tmp_path / "out", options=["--ignore", "backup.zip"])
    assert found == {"train": sorted(pets())}


def test_an_archive_that_is_unpacked_next_to_it_is_not_read_twice(tmp_path):
    write_tree(tmp_path / "source", pets("pets/"))
    write_archive(tmp_path / "source/archive.zip", pets("pets/"))
    assert converted(tmp_path / "source", tmp_path / "out") == {"train": sorted(pets())}


def test_the_output_may_be_in_a_source(tmp_path):
    write_tree(tmp_path, {**pets("home/", 1), **pets("street/", 2)})
    found = converted(tmp_path / "home", tmp_path / "street", tmp_path / "home/out")
    assert found == {"train": sorted({**pets("home/", 1), **pets("street/", 2)})}


def sealed(path):
    """Mark the entries of a .zip as encrypted."""
    data = bytearray(path.read_bytes())
    for signature, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = data.find(signature)
        while start >= 0:
            data[start + at] |= 1
            start = data.find(signature, start + 4)
    path.write_bytes(data)


def cut(path):
    path.write_bytes(path.read_bytes()[:-40])


HARMFUL = {
    "encrypted": ("pets.zip", sealed, "the archive is encrypted; unpack it with its password"),
    "cut short": ("pets.tar.xz", cut, "the archive is cut short or damaged"),
    "a .zip that is cut short": ("pets.zip", cut, r"not a .zip archive, or it is damaged"),
}


@pytest.mark.parametrize("in_folder", [False, True])
@pytest.mark.parametrize(("name", "harm", "said"), HARMFUL.values(), ids=HARMFUL.keys())
def test_a_harmful_archive_is_a_sentence_and_leaves_nothing(name, harm, said, in_folder, tmp_path):
    harm(write_archive(tmp_path / "source" / name, pets()))
    write_tree(tmp_path / "source", pets("more/", 1))
    refused = call("convert", tmp_path / "source" / ("" if in_folder else name), tmp_path / "out")
    sentence, *commands = refused.stderr.splitlines()
    assert (refused.exit_code, said in sentence) == (1, True), refused.stderr
    assert not (tmp_path / "out").exists()
    # The images beside it may be all that is meant.
    assert [f"--ignore /{name}  # without {name}" in one for one in commands] == [True] * in_folder


def test_the_archives_that_are_read_are_said(tmp_path):
    for name in ("train.zip", "test.zip"):
        write_archive(tmp_path / "source" / name, pets(seed=len(name)))
    planned = call("plan", tmp_path / "source")
    assert "read as <split>/<label>/…/image; with what is in test.zip and train.zip" in planned.stderr


def test_archives_in_a_bucket(s3_bucket, tmp_path):
    write_archive(tmp_path / "up/train.zip", pets(seed=1))
    write_archive(tmp_path / "up/test.tar.gz", pets(seed=2))
    upload(f"{s3_bucket}/several", tmp_path / "up")
    wanted = {"test": sorted(pets("test/", 2)), "train": sorted(pets("train/", 1))}
    assert converted(f"{s3_bucket}/several", tmp_path / "out") == wanted
    both = [f"{s3_bucket}/several/{name}" for name in ("train.zip", "test.tar.gz")]
    assert converted(*both, f"{s3_bucket}/several-out") == wanted


def test_links_in_one_of_several_archives_are_rejected(tmp_path):
    write_archive(tmp_path / "source/train.zip", pets(seed=1))
    path = write_archive(tmp_path / "source/test.tar", pets(seed=2))
    with tarfile.open(path, "a") as tar:
        link = tarfile.TarInfo("cat/link.jpg")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    planned = call("plan", tmp_path / "source", "--json", "--max-rejected", "1")
    assert planned.exit_code == 0, planned.stderr
    rejected = json.loads(planned.stdout)["rejected"]
    assert "is a link, and links in archives are not followed" in json.dumps(rejected)


def test_a_given_split_does_not_hide_that_of_the_source(tmp_path):
    box = "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>5</xmax><ymax>5</ymax></bndbox>"
    xml = f"<annotation><object><name>cat</name>{box}</object></annotation>"
    files = {"JPEGImages/1.jpg": jpeg(1), "Annotations/1.xml": xml}
    write_tree(tmp_path / "voc", files)
    assert converted(f"test={tmp_path}/voc", tmp_path / "out") == {"test": ["test/JPEGImages/1.jpg"]}
    write_tree(tmp_path / "divided", {**files, "ImageSets/Main/val.txt": "1\n"})
    refused = call("convert", f"train={tmp_path}/divided", tmp_path / "other")
    assert refused.exit_code == 1
    assert "has the split 'validation' in its source, which was given another one" in refused.stderr
    assert not (tmp_path / "other/manifest.json").exists()
