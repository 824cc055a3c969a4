import io

import numpy as np
import pytest
from PIL import Image

from shardkit.testing import encoded, write_tree

from ..cli.calling import convert

HOSTILE = "<img src=x onerror=alert(1)>.png"


def coarse(seed, colour):
    """A picture of few large cells in one tone: it has a hash, and classes of other tones look different."""
    cells = np.random.default_rng(seed).integers(0, 120, (6, 6, 3), np.uint8)
    cells[..., colour] += 130
    return Image.fromarray(cells).resize((96, 72), Image.Resampling.BICUBIC)


@pytest.fixture(scope="session")
def dataset(made_once):
    """Two classes of different tones; a conflict, a near copy, a picture in the wrong class, a broken file."""

    def make(folder):
        files = {f"red/{seed:02d}.png": encoded(coarse(seed, 0)) for seed in range(12)}
        files |= {f"blue/{seed:02d}.png": encoded(coarse(seed + 50, 2)) for seed in range(12)}
        files["blue/same.png"] = files["red/00.png"]
        files["red/copy.jpg"] = encoded(coarse(1, 0).resize((192, 144)), "JPEG", quality=80)
        files["red/wrong.png"] = encoded(coarse(99, 2))
        files[f"red/{HOSTILE}"] = encoded(coarse(98, 0))
        files["red/broken.png"] = files["red/03.png"][:-30]
        write_tree(folder / "raw", files)
        convert(folder / "raw", folder / "OUT", "--splits", "80/20", "--max-rejected", 5)

    return made_once("view", make) / "OUT"


def read_jpeg(data):
    return Image.open(io.BytesIO(data))
