"""Small datasets for tests of what is read, here and in `tests/reader`."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from shardkit.dataset.example import decode
from shardkit.fetch.fetcher import RECORD
from shardkit.order import BatchLayout
from shardkit.testing import convert_without_beam, encoded, write_class_folders, write_tree

from ..cli.calling import convert

COUNTS = {"ant": 149, "bee": 97, "cat": 61}  # 307 in all, a prime: no batch size divides it


@pytest.fixture(scope="session")
def noise_source(made_once):
    """307 small PNGs of noise, each another one."""
    return made_once("noise-source", lambda folder: write_class_folders(folder, COUNTS))


@pytest.fixture(scope="session")
def noise(noise_source, made_once):
    """The folder of noise_source's dataset: one split, three shards, converted as users do; not to be changed."""
    return str(made_once("noise", lambda folder: convert(noise_source, folder, "--shards", "3")))


def smooth(width, height, seed=0):
    """A picture as photographs are: neighbouring pixels alike, every corner another colour."""
    rows, columns = np.mgrid[0:height, 0:width].astype(float) / max(width, height)
    grain = np.random.default_rng(seed).normal(0, 3, (height, width, 3))
    planes = np.stack([columns, rows, 1 - (rows + columns) / 2], -1) * 220 + 15
    return Image.fromarray(np.clip(planes + grain, 0, 255).astype(np.uint8))


def encode(image, kind, **options):
    return encoded(image, kind, **options)


def _mixed():
    sizes = [(37, 23), (64, 48), (1, 1), (1, 40), (40, 1), (300, 7), (16, 16), (90, 121)]
    for i, (width, height) in enumerate(sizes):
        image = smooth(width, height, i)
        yield f"colour/{i}_444.jpg", encode(image, "JPEG", subsampling=0)
        yield f"colour/{i}_420.jpg", encode(image, "JPEG", subsampling=2)
        yield f"colour/{i}.png", encode(image, "PNG")
        yield f"grey/{i}.jpg", encode(image.convert("L"), "JPEG")
        yield f"grey/{i}.png", encode(image.convert("L"), "PNG")
        yield f"grey/palette_{i}.png", encode(image.convert("P"), "PNG")


@pytest.fixture(scope="session")
def mixed_source(made_once):
    """48 JPEGs and PNGs, colour and grey, of odd and extreme sizes."""
    return made_once("mixed-source", lambda folder: write_tree(folder, dict(_mixed())))


@pytest.fixture(scope="session")
def mixed(mixed_source, made_once):
    """The folder of mixed_source's dataset; not to be changed."""
    return str(made_once("mixed", lambda folder: convert_without_beam(str(mixed_source), str(folder), shards=2)))


@pytest.fixture
def copied(noise, tmp_path):
    """A copy of the noise dataset that a test may damage."""
    return shutil.copytree(noise, tmp_path / "copy")


def fetched_batches(dataset_fn, steps=None, num_workers=1):
    """The global batches of an input function as NumPy fetches them, without a graph; of records also features."""
    from shardkit.reader.fetching import make_fetcher

    spec, start = dataset_fn.spec, int(dataset_fn.start_step)
    layouts = [BatchLayout(spec.layout.global_batch_size, num_workers, worker) for worker in range(num_workers)]
    fetchers = [make_fetcher(replace(spec, layout=layout, start_step=start)) for layout in layouts]
    size = layouts[0].per_worker_batch_size
    for step in range(start, spec.end_step if steps is None else start + steps):
        parts = [fetcher.fetch(step * size, size) for fetcher in fetchers]
        batch = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        examples = [decode(record) for record in batch.pop(RECORD, ())]
        names = ("key", "image", "width") if examples else ()
        yield batch | {name: np.array([one[name][0] for one in examples], object) for name in names}
