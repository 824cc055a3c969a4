"""Name formats that hold images shardkit does not read, with the program or the tool that writes them as image files.

The programs run in the folder of the files and write PNG files in class folders below ``png/``.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from shardkit.refusals import RefusedDataError
from shardkit.sources.walking import read_head
from shardkit.storage import Folder

_START = """import numpy as np
from pathlib import Path
from PIL import Image
def save(split, label, name, pixels):
    folder = Path('png', split, str(label))
    folder.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(folder / f'{name}.png')
"""
_NUMPY = f"""import re
{_START}arrays = {{file.stem: np.load(file, mmap_mode='r') for file in Path().glob('*.npy')}}
for file in Path().glob('*.npz'):
    arrays |= dict(np.load(file))
for x in [name for name in arrays if re.match('x|.*im(age|g)s', name, re.IGNORECASE)]:
    y = re.sub('^[xX]', 'y', re.sub('images|imgs', 'labels', x))
    split = 'test' if 'test' in x else 'validation' if 'val' in x else 'train'
    for i, (image, label) in enumerate(zip(arrays[x], arrays[y].ravel(), strict=True)):
        save(split, label, f'{{x}}_{{i:06}}', image.squeeze())
"""
_CIFAR = f"""{_START}for file in Path().glob('*.bin'):
    labels = 2 if file.name in ('train.bin', 'test.bin') else 1  # CIFAR-100 has two, the fine one last
    for i, row in enumerate(np.fromfile(file, np.uint8).reshape(-1, labels + 3072)):
        image = row[labels:].reshape(3, 32, 32).transpose(1, 2, 0)
        save('test' if 'test' in file.name else 'train', row[labels - 1], f'{{file.stem}}_{{i:06}}', image)
"""
_IDX = f"""import gzip
{_START}for file in Path().glob('*images*idx3*'):
    other = file.with_name(file.name.replace('images', 'labels').replace('idx3', 'idx1'))
    data, labels = (gzip.open(one).read() if one.suffix == '.gz' else one.read_bytes() for one in (file, other))
    images = np.frombuffer(data, np.uint8, offset=16).reshape(np.frombuffer(data, '>u4', 3, 4))
    for i, (image, label) in enumerate(zip(images, labels[8:], strict=True)):
        save('train' if file.name.startswith('train') else 'test', label, f'{{file.name[:5]}}_{{i:06}}', image)
"""
_PIXELS = f"""import csv
{_START}for file in Path().glob('*.csv'):
    for i, row in enumerate(csv.DictReader(open(file), skipinitialspace=True)):
        values = {{name.lower(): value for name, value in row.items()}}
        split = 'test' if 'test' in file.stem else 'train'
        split = {{'PublicTest': 'validation', 'PrivateTest': 'test'}}.get(values.pop('usage', ''), split)
        label = values.pop('emotion') if 'emotion' in values else values.pop('label')
        pixels = np.array(' '.join(values.values()).split(), np.uint8)
        side = round(len(pixels) ** 0.5)
        save(split, label, f'{{file.stem}}_{{i:06}}', pixels.reshape(side, side))
"""
_ARROW = """import pyarrow as pa, pyarrow.parquet as pq
from pathlib import Path
for file in Path().rglob('*.arrow'):
    name = f'{file.parent.name or "train"}-{file.stem}.parquet'
    Path('parquet').mkdir(exist_ok=True)
    pq.write_table(pa.ipc.open_stream(file).read_all(), Path('parquet', name), row_group_size=100)
"""


@dataclass(frozen=True, slots=True)
class DataFormat:
    """A format that holds images."""

    name: str  # what its files are, for the user
    remedy: str  # what to do, as an imperative
    program: str = ""  # Python that does it in the folder of the files; '' for none

    def refusal(self, problem: str) -> RefusedDataError:
        """Return the error that says what the files are, and what to do."""
        appendix = f"python - <<'END'\n{self.program}END" if self.program else ""
        return RefusedDataError(f"{problem}; found {self.name}", remedy=self.remedy, appendix=appendix)


def _made(name: str, program: str, *, folder: str = "png", otherwise: str = "") -> DataFormat:
    return DataFormat(name, f"{otherwise}run the program below in this folder, and convert {folder}/", program)


# Endings of paths, as regular expressions, and what they say. The first that matches some path counts.
_BY_NAME = tuple(
    (re.compile(pattern, re.IGNORECASE), found)
    for pattern, found in (
        (r"(?:^|/)(?:data_batch_[0-9]|test_batch)\.bin$", _made("CIFAR-10's binary batches", _CIFAR)),
        (r"(?:^|/)(?:train|test)\.bin$", _made("CIFAR-100's binary batches", _CIFAR)),
        (
            r"(?:^|/)(?:data_batch_[0-9]|test_batch)$",
            DataFormat("CIFAR-10 in Python's pickle format, which may run code", "download the binary version instead"),
        ),
        (r"images[.-]idx3-ubyte(?:\.gz)?$", _made("MNIST's idx files", _IDX)),
        (
            r"\.np[yz]$",
            _made(
                "NumPy arrays",
                _NUMPY,
                otherwise="if they fit into memory, you do not need shardkit: tf.data.Dataset.from_tensor_slices("
                "(images, labels)).shuffle(len(images)).batch(32); otherwise ",
            ),
        ),
        (
            r"\.dcm$",
            DataFormat("DICOM files", "write them as PNG, such as with `dcm2img` of DCMTK, or with pydicom and Pillow"),
        ),
        (
            r"\.nii(?:\.gz)?$",
            DataFormat("NIfTI volumes, in 3D", "write their slices as PNG, such as with med2image or nibabel"),
        ),
        (
            r"\.(?:avi|m4v|mkv|mov|mp4|mpe?g|webm|wmv)$",
            DataFormat("videos", "write frames as images, such as with `ffmpeg -i VIDEO -vf fps=1 FOLDER/%05d.jpg`"),
        ),
        (r"\.(?:h5|hdf5)$", DataFormat("HDF5 files", "write each image in them as PNG, with h5py and Pillow")),
        (
            r"\.(?:mdb|lmdb)$",
            DataFormat("an LMDB database", "write each value as an image file, with the package lmdb"),
        ),
        (
            r"\.(?:sqlite3?|db3)$",
            DataFormat("an SQLite database", "write each image as a file, with Python's module sqlite3"),
        ),
        (r"\.mat$", DataFormat("MATLAB files", "write the images in them as PNG, with scipy.io.loadmat or h5py")),
        (
            r"\.(?:pkl|pickle|pt|pth)$",
            DataFormat("pickled Python objects, which may run code", "write each image in them as PNG"),
        ),
    )
)
_SAVED = _made("a dataset of Hugging Face's save_to_disk", _ARROW, folder="parquet")
_PIXEL_TABLE = _made("a table with the pixels of each image", _PIXELS)


def data_format(folder: Folder, paths: Sequence[str]) -> DataFormat | None:
    """Return the format of some files without images; None if none is known."""
    arrow = [path for path in paths if path.endswith(".arrow")]
    if arrow and any(path.rpartition("/")[2] == "state.json" for path in paths):
        return _SAVED
    if any(path.lower().endswith(".csv") and "/" not in path and _holds_pixels(folder, path) for path in paths):
        return _PIXEL_TABLE
    found = (one for pattern, one in _BY_NAME if any(pattern.search(path) for path in paths))
    return next(found, None)


def refuse_data_file(folder: Folder, name: str) -> None:
    """Refuse a file that holds images in such a format."""
    if found := data_format(folder, [name]):
        raise found.refusal(f"{folder.url}/{name}: this is no file of images or labels that shardkit reads")


def _holds_pixels(folder: Folder, path: str) -> bool:
    """Return whether a CSV file has a column ``pixels``, as FER2013, or one for each pixel, as Kaggle's digits."""
    head = read_head(folder, path) or b""
    names = [name.strip().strip(b'"').lower() for name in head.partition(b"\n")[0].split(b",")]
    is_each = sum(bool(re.fullmatch(rb"pixel[0-9]+|[0-9]+x[0-9]+", name)) for name in names) > len(names) // 2
    return (b"pixels" in names and b"emotion" in names) or (is_each and b"label" in names)
