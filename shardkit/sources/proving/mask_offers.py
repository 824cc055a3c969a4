"""Other readings of images with masks: their folders as classes instead, or other masks of the same images."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from shardkit.sources.engine.masks import mask_paths
from shardkit.sources.filtered_folder import IgnoreGlob
from shardkit.sources.options import Opening
from shardkit.sources.proving.file_forms import END
from shardkit.sources.proving.path_offers import Offer, first_names, folders_inside, ignoring
from shardkit.sources.readings.values import Labels, Paired, PathPart, Reading
from shardkit.sources.recognising.folders.masks.pairs import find_pairs

_MAX_OTHERS = 3


def instead_of_masks(opening: Opening, reading: Reading, origin: Paired, paths: Sequence[str]) -> Iterator[Offer]:
    """Yield readings by the folders of the images, and with the masks that are found if the others are hidden."""
    root = reading.images.root
    folder = opening.below(root).folder if root else opening.folder
    globs = tuple(dict.fromkeys(part.glob for part in find_pairs(folder)))
    masks = mask_paths(origin)
    included = [IgnoreGlob(text) for text in reading.images.include]
    inside, _ = folders_inside(reading, paths)
    images = [path for path in inside if not masks.is_mask(path)]
    parts = [path.split("/")[:-1] for path in images if not included or any(one.matches(path) for one in included)]
    if ends := _ends_beside(images):
        without = ignoring(reading, [f"*{end}.*" for end in ends])
        yield Offer(without, f"without files that end with {first_names(ends, '')}", is_whole=True)
    used = reading.split.path if isinstance(reading.split, PathPart) else None
    for i in reversed(range(min(map(len, parts), default=0))):
        names = sorted({one[i] for one in parts})
        if len(names) > 1 and i != used:
            label = Labels(PathPart(i))
            classes = replace(reading, label=label, mask=None, classes=(), ignore=(*reading.ignore, *globs))
            yield Offer(classes, f"the class is {first_names(names)}, without the masks")


def _ends_beside(images: Sequence[str]) -> list[str]:
    """Return the ends of the names of images that are called like others with an end, such as an overlay of each."""
    stems = {path.rpartition(".")[0] for path in images}
    ends = Counter(stem[end.start() :] for stem in stems for end in END.finditer(stem) if stem[: end.start()] in stems)
    return sorted(end for end, num in ends.items() if num > _MAX_OTHERS) if len(ends) <= _MAX_OTHERS else []
