"""What benchmarks convert: class folders of so many photographs, replicated from few, and of small JPEGs."""

import itertools
import os
import shutil
from collections.abc import Callable
from pathlib import Path

SMALL_SIDE = 64  # pixels; about 3 kB a JPEG, the size of a thumbnail
SMALL_FOLDERS = 20
SMALL_DISTINCT = 1000


def replicated(photos: Path, target: Path, num_files: int, *, hard_links: bool = False) -> Path:
    """Replicate class folders of photographs until there are num_files.

    Args:
        photos: class folders, ``<label>/<file>``.
        target: the folder made; one that an earlier call made is used again.
        num_files: how many.
        hard_links: make them links to one copy each: no disk, and a page cache that holds only the originals.
    """
    originals = sorted(path for path in photos.glob("*/*") if path.is_file())
    if not originals:
        msg = f"{photos} has no class folders with photographs in them"
        raise SystemExit(msg)

    def make() -> None:
        copies: dict[Path, Path] = {}
        for i, original in enumerate(itertools.islice(itertools.cycle(originals), num_files)):
            path = target / original.parent.name / f"r{i // len(originals):04d}_{original.name}"
            path.parent.mkdir(parents=True, exist_ok=True)
            if hard_links and original in copies:
                os.link(copies[original], path)
            else:
                shutil.copyfile(original, path)
                copies[original] = path

    return _made_once(target, make)


def small_jpegs(target: Path, num_files: int) -> Path:
    """Class folders of small JPEGs: a thousand different ones, replicated."""

    def make() -> None:
        encoded = distinct_jpegs(min(SMALL_DISTINCT, num_files))
        for folder_index in range(SMALL_FOLDERS):
            (target / f"class_{folder_index:02d}").mkdir(parents=True)
        for i in range(num_files):
            (target / f"class_{i % SMALL_FOLDERS:02d}" / f"{i:06d}.jpg").write_bytes(encoded[i % len(encoded)])

    return _made_once(target, make)


def distinct_jpegs(num: int) -> list[bytes]:
    """Small JPEGs with different pixels."""
    return [_small_jpeg(seed) for seed in range(num)]


def with_comment(jpeg: bytes, comment: bytes) -> bytes:
    """A JPEG with a comment behind its start marker."""
    return b"".join([jpeg[:2], b"\xff\xfe", (len(comment) + 2).to_bytes(2, "big"), comment, jpeg[2:]])


def num_bytes(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _made_once(target: Path, make: Callable[[], None]) -> Path:
    done = target.with_name(f"{target.name}.made")  # next to the folder: inside, it would be converted too
    if not done.exists():
        shutil.rmtree(target, ignore_errors=True)
        make()
        done.touch()
    return target


def _small_jpeg(seed: int) -> bytes:
    import io

    import numpy as np
    from PIL import Image

    coarse = np.random.default_rng(seed).integers(0, 256, (SMALL_SIDE // 4, SMALL_SIDE // 4, 3), np.uint8)
    out = io.BytesIO()
    Image.fromarray(coarse).resize((SMALL_SIDE, SMALL_SIDE), Image.Resampling.BICUBIC).save(out, "JPEG", quality=90)
    return out.getvalue()


def tiles(photos: Path, target: Path, num_files: int, side: int, kind: str) -> Path:
    """Class folders of tiles that are cut out of photographs, in rows, until there are num_files.

    Args:
        photos: class folders, ``<label>/<file>``.
        target: the folder made; one that an earlier call made is used again.
        num_files: how many.
        side: of a tile, pixels.
        kind: "jpg" or "png".
    """
    import numpy as np
    from PIL import Image

    originals = sorted(path for path in photos.glob("*/*") if path.suffix.lower() in {".jpg", ".jpeg", ".png"})

    def cut() -> None:
        done = 0
        for number, original in enumerate(itertools.cycle(originals)):
            pixels = np.asarray(Image.open(original).convert("RGB"))
            folder = target / original.parent.name
            folder.mkdir(parents=True, exist_ok=True)
            for top in range(0, pixels.shape[0] - side + 1, side):
                for left in range(0, pixels.shape[1] - side + 1, side):
                    tile = Image.fromarray(pixels[top : top + side, left : left + side])
                    options = {"quality": 90} if kind == "jpg" else {}
                    tile.save(folder / f"{number:05d}-{top}-{left}.{kind}", **options)
                    done += 1
                    if done == num_files:
                        return

    return _made_once(target, cut)
