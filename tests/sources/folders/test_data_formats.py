import gzip
import io
import runpy

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

import shardkit
from shardkit.testing import encoded, write_tree

from ...cli.calling import call

LABELS = (3, 1, 3, 0)
GRAY = np.arange(4 * 16 * 16, dtype=np.uint8).reshape(4, 16, 16)
COLOUR = np.random.default_rng(1).integers(0, 256, (4, 32, 32, 3), np.uint8)


def npy(values):
    out = io.BytesIO()
    np.save(out, values)
    return out.getvalue()


def npz(**arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def cifar(*labels):
    return b"".join(
        bytes(one) + image.transpose(2, 0, 1).tobytes() for *one, image in zip(*labels, COLOUR, strict=True)
    )


def idx(values, kind):
    sides = b"".join(side.to_bytes(4, "big") for side in values.shape)
    return gzip.compress(bytes((0, 0, 8, kind)) + sides + values.tobytes())


def csv(head, rows):
    return "\n".join([head, *rows, ""]).encode()


def saved(folder):
    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    records = [{"bytes": encoded(Image.fromarray(one)), "path": None} for one in GRAY]
    table = pa.table({"image": pa.array(records, image), "label": list(LABELS)})
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table)
    return {f"{folder}/data-00000-of-00001.arrow": out.getvalue(), f"{folder}/state.json": b"{}"}


TEXTS = [" ".join(map(str, image.ravel())) for image in GRAY]
# name: files, the images that are in them, their split, and the folder that the program makes
MADE = {
    "NumPy arrays": ({"X_train.npy": npy(GRAY), "y_train.npy": npy(np.array(LABELS))}, GRAY, "train", "png"),
    "NumPy arrays of MedMNIST": (
        {"med.npz": npz(test_images=COLOUR, test_labels=np.array(LABELS)[:, None])},
        COLOUR,
        "test",
        "png",
    ),
    "CIFAR-10's binary batches": ({"data_batch_1.bin": cifar(LABELS)}, COLOUR, "train", "png"),
    "CIFAR-100's binary batches": ({"test.bin": cifar((9, 9, 9, 9), LABELS)}, COLOUR, "test", "png"),
    "MNIST's idx files": (
        {
            "train-images-idx3-ubyte.gz": idx(GRAY, 3),
            "train-labels-idx1-ubyte.gz": idx(np.array(LABELS, np.uint8), 1),
        },
        GRAY,
        "train",
        "png",
    ),
    "FER2013": (
        {
            "fer2013.csv": csv(
                "emotion, Usage, pixels",
                [f"{label},PublicTest,{text}" for label, text in zip(LABELS, TEXTS, strict=True)],
            )
        },
        GRAY,
        "validation",
        "png",
    ),
    "Kaggle's digits": (
        {
            "train.csv": csv(
                "label," + ",".join(f"pixel{i}" for i in range(256)),
                [f"{label},{text.replace(' ', ',')}" for label, text in zip(LABELS, TEXTS, strict=True)],
            )
        },
        GRAY,
        "train",
        "png",
    ),
    "Hugging Face's save_to_disk": (saved("test"), GRAY, "test", "parquet"),
}


@pytest.mark.parametrize("name", MADE)
def test_the_program_of_a_refusal_writes_images_that_are_converted(name, tmp_path, monkeypatch):
    files, images, split, folder = MADE[name]
    root = write_tree(tmp_path / "source", files)
    refused = call("convert", str(root), str(tmp_path / "OUT"))
    assert refused.exit_code != 0
    assert f"convert {folder}/" in refused.stderr
    program = refused.stderr.partition("python - <<'END'\n")[2].partition("END\n")[0]
    (tmp_path / "program.py").write_text(program)
    monkeypatch.chdir(root)
    runpy.run_path(str(tmp_path / "program.py"))
    made = call("convert", folder, str(tmp_path / "OUT"))
    assert made.exit_code == 0, made.stderr
    dataset = shardkit.open(str(tmp_path / "OUT"), split)
    found = {
        (dataset.manifest.classes[one["label"]], np.asarray(Image.open(io.BytesIO(one["image"]))).tobytes())
        for one in dataset
    }
    assert found == {(str(label), image.tobytes()) for label, image in zip(LABELS, images, strict=True)}


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("a/1.dcm", "DICOM files; write them as PNG"),
        ("imagesTr/1.nii.gz", "NIfTI volumes, in 3D"),
        ("run/1.mp4", "videos; write frames as images"),
        ("data.h5", "HDF5 files"),
        ("train_lmdb/data.mdb", "an LMDB database"),
        ("images.sqlite", "an SQLite database"),
        ("data.mat", "MATLAB files"),
        ("data_batch_1", "pickle format, which may run code; download the binary version"),
    ],
)
def test_a_format_without_a_program_is_named_with_a_way_out(path, said, tmp_path):
    root = write_tree(tmp_path / "source", {path: b"x"})
    for source in (root, root / path):
        refused = call("convert", str(source), str(tmp_path / "OUT"))
        assert refused.exit_code != 0
        assert said in refused.stderr
