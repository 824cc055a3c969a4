import os
from pathlib import Path

import numpy as np
import pytest

from shardkit.testing import encoded


def photograph(seed, *, width=500, height=375, **options):
    """A JPEG with the smooth and the fine detail of a photograph, of about its size in bytes."""
    from PIL import Image, ImageFilter

    rng = np.random.default_rng(seed)
    coarse = Image.fromarray(rng.integers(0, 256, (12, 16, 3), np.uint8)).resize((width, height), Image.BICUBIC)
    noise = Image.fromarray(rng.integers(0, 256, (height, width, 3), np.uint8)).filter(ImageFilter.GaussianBlur(1.2))
    return encoded(Image.blend(coarse, noise, 0.4), "JPEG", **{"quality": 92, **options})


@pytest.fixture(scope="session")
def photographs(made_once):
    """Class folders of 160 JPEGs of 500 x 375; the folder in SHARDKIT_PHOTOS instead, if it is set."""
    given = os.environ.get("SHARDKIT_PHOTOS")
    if given:
        return Path(given)

    def make(folder):
        for seed in range(160):
            path = folder / f"class-{seed % 4}" / f"{seed:03}.jpg"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(photograph(seed))

    return made_once("photographs", make)
