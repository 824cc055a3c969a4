"""Refuse masks of instances in one file each, as DSB2018 has them, with the program that merges those of an image.

id0/images/id0.png      one image
id0/masks/m0.png, …     a mask for each object in it
"""

import re
from collections.abc import Sequence

from shardkit.naming import printable
from shardkit.refusals import RefusalError
from shardkit.sources.context import Opening
from shardkit.sources.walking import children, folders_in, is_image, join
from shardkit.storage import Folder

_IMAGES = re.compile("images?", re.IGNORECASE)
_MASKS = re.compile("masks?", re.IGNORECASE)
_NUM_SAMPLED = 8  # folders
MERGED = "merged"  # folder that the program writes
_PROGRAM = f"""\
from pathlib import Path
import numpy as np
from PIL import Image
folders = sorted(Path().glob('*/%(masks)s'))
for name in ('images', 'masks'):
    Path({MERGED!r}, name).mkdir(parents=True)
for folder in folders:
    [path] = (folder.parent / '%(images)s').iterdir()
    masks = [np.asarray(Image.open(one).convert('L')) > 0 for one in folder.iterdir()]
    Path({MERGED!r}, 'images', folder.parent.name + path.suffix).write_bytes(path.read_bytes())
    Image.fromarray(np.any(masks, 0).astype('uint8')).save(Path({MERGED!r}, 'masks', folder.parent.name + '.png'))
"""


def refuse_instances(folder: Folder, names: Sequence[str], shown: str) -> None:
    """Refuse folders that each hold one image and a mask for each object in it."""
    found = [_pair(folder, name) for name in names[:_NUM_SAMPLED]]
    if not found or None in found or len(set(found)) > 1 or found[0] is None:
        return
    images, masks = found[0]
    several = any(_num_images(folder, join(name, masks)) > 1 for name in names[:_NUM_SAMPLED])
    if not several or any(_num_images(folder, join(name, images)) != 1 for name in names[:_NUM_SAMPLED]):
        return
    of_each = f"one image and a mask for each object in {masks}/"
    problem = f"{shown}: each folder, such as {printable(names[0])}/, has {of_each}"
    is_packed = Opening(folder).is_in_archive
    first = "unpack the archives, then " if is_packed else ""
    given = f"the folder {MERGED}" if is_packed else join(shown, MERGED)
    remedy = (
        f"{first}merge the masks of an image into one of class numbers: run the program below in this folder, and give "
        f"{given} as SOURCE (class 1 is any object; the objects are not told apart)"
    )
    program = _PROGRAM % {"images": images, "masks": masks}
    raise RefusalError(problem, remedy=remedy, appendix=f"python - <<'END'\n{program}END")


def _pair(folder: Folder, name: str) -> tuple[str, str] | None:
    inner = folders_in(folder, name)
    images = [one for one in inner if _IMAGES.fullmatch(one)]
    masks = [one for one in inner if _MASKS.fullmatch(one)]
    return (images[0], masks[0]) if len(images) == len(masks) == 1 else None


def _num_images(folder: Folder, path: str) -> int:
    return sum(is_image(one.name) for one in children(folder, path) if not one.is_folder)
