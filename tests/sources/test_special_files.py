"""A named pipe, a device or a socket in the place of any file of a source: named, never waited for, never read on."""

import os
import resource
import shutil
import signal
import socket
from pathlib import Path

import pytest

from shardkit import read_manifest
from shardkit.errors import DataError
from shardkit.options.groups import ConvertOptions
from shardkit.sources import SourceOptions
from shardkit.sources.opening import open_source
from shardkit.storage import open_folder
from shardkit.testing import picture, plan_without_beam, write_tree
from shardkit.verification.shards import read_checked_manifest

SAMPLES = Path(__file__).parents[2] / "sample_data"
VOC = "VOCdevkit/VOC2012"


def put_pipe(path):
    os.mkfifo(path)


def put_zeros(path):
    path.symlink_to("/dev/zero")


def put_socket(path):
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's path has at most 108 bytes
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(here)


@pytest.fixture(autouse=True)
def _neither_waits_nor_grows():
    def stop(*_):
        pytest.fail("it hangs")

    limits = resource.getrlimit(resource.RLIMIT_AS)
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + (4 << 30), limits[1]))  # 4 GiB more
    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
    resource.setrlimit(resource.RLIMIT_AS, limits)


def said(source, **options):
    """What a conversion says of a source: the error that refuses it, or keys and messages of what was rejected."""
    try:
        source = open_source(str(source), SourceOptions(**options), work=open_folder(str(source.parent / "work")))
        plan = plan_without_beam(source, ConvertOptions())
    except DataError as error:
        return str(error)
    return "\n".join(f"{row['key']}: {row['message']}" for row in plan.rejected.to_pylist())


# sample, path below it, and SOURCE if that is not the sample itself
FILES = [
    ("voc", f"{VOC}/Annotations/test_00.xml", None),  # the first: layouts look into it
    ("voc", f"{VOC}/Annotations/val_02.xml", None),
    ("voc", f"{VOC}/ImageSets/Main/train.txt", None),
    ("voc", f"{VOC}/JPEGImages/val_02.jpg", None),
    ("yolo", "train/labels/train_05.txt", None),
    ("yolo", "data.yaml", None),
    ("coco", "annotations/instances_val2017.json", None),
    ("coco", "annotations/instances_val2017.json", "annotations/instances_val2017.json"),
    ("masks", "train/masks/004.png", None),
    ("metadata", "metadata.jsonl", None),
    ("webdataset", "shapes-val-000000.tar", None),
    ("webdataset", "shapes-val-000000.tar", "shapes-val-000000.tar"),
    ("hf", "data/train-00000-of-00001.parquet", "data/train-00000-of-00001.parquet"),
    ("labels.csv", "labels.csv", "labels.csv"),
    ("attributes.tsv", "attributes.tsv", "attributes.tsv"),
    ("multilabel.jsonl", "multilabel.jsonl", "multilabel.jsonl"),
    ("regression.parquet", "regression.parquet", "regression.parquet"),
    ("folders.zip", "folders.zip", "folders.zip"),
]


@pytest.mark.parametrize(
    ("sample", "path", "source", "put"),
    [(*file, put_pipe) for file in FILES]
    + [(*file, put_zeros) for file in FILES if file[1].endswith((".xml", ".jpg", "5.txt", ".csv", ".json"))],
)
def test_what_is_no_file_is_named(sample, path, source, put, tmp_path):
    root = tmp_path / "source"
    if (SAMPLES / sample).is_dir():
        shutil.copytree(SAMPLES / sample, root)
    else:
        write_tree(root, {"cat/1.png": picture(1)})
    if not (SAMPLES / sample).is_file():
        (root / path).unlink()
    put(root / path)
    found = said(root / source if source else root)
    assert path.rpartition("/")[2] in found
    assert "named pipe" in found or "device" in found


@pytest.mark.parametrize("path", ["labels/1.txt", "classes.txt", "images/1.png"])
def test_of_yolo_without_a_yaml(path, tmp_path):
    files = {f"images/{i}.png": picture(i) for i in range(3)} | {f"labels/{i}.txt": b"0 .5 .5 .1 .1" for i in range(3)}
    root = write_tree(tmp_path / "source", files | {"classes.txt": b"cat\n"})
    (root / path).unlink()
    put_socket(root / path)
    found = said(root)
    assert path in found
    assert "socket" in found


@pytest.mark.parametrize("path", ["obj.data", "train.txt", "obj.names"])
def test_of_darknet(path, tmp_path):
    files = {"obj.data": b"names = data/obj.names\ntrain = data/train.txt\n", "obj.names": b"cat\n"}
    files |= {"train.txt": b"data/a/1.png\n", "a/1.png": picture(1), "a/1.txt": b"0 .5 .5 .1 .1"}
    root = write_tree(tmp_path / "source", files)
    (root / path).unlink()
    put_pipe(root / path)
    found = said(root, layout="yolo")
    assert path in found
    assert "named pipe" in found


def test_of_a_manifest(tmp_path):
    put_pipe(tmp_path / "manifest.json")
    with pytest.raises(DataError, match=r"manifest\.json.* named pipe"):
        read_manifest(str(tmp_path))
    with pytest.raises(DataError, match=r"manifest\.json.* named pipe"):
        read_checked_manifest(open_folder(str(tmp_path)))


def test_folders_are_refused_as_before_and_ranges_are_guarded_too(tmp_path):
    folder = open_folder(str(tmp_path))
    put_pipe(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for read in (folder.read, folder.open, lambda path: folder.read_range(path, 0, 1)):
        with pytest.raises(DataError, match="named pipe"):
            read("pipe")
        with pytest.raises(IsADirectoryError):
            read("folder")
