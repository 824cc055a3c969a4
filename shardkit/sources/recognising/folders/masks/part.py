"""Define `Part`: a folder of images and the folder of their masks."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from shardkit.sources.file_names import stem_of
from shardkit.sources.mask_pixels import images_below
from shardkit.storage import Folder

# Files of the masks' colours.
COLOUR_FILES = ("label_colors.txt", "class_dict.csv", "class_dict_seg.csv", "labelmap.txt", "classes.json")
CITY_IMAGES = "leftImg8bit"  # of Cityscapes


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the source: a folder of images and the folder of their masks.

    Attributes:
        images: Path of the images.
        masks: Path of the masks; None if there is none, so that no image has a mask.
        split: The split of all these images; None if the source gives none.
        with_splits: Whether the first folder level below both is the split.
        lists: Folder of split lists, '' for the source's own; None for none.
        image_suffix: End of every image's stem, which is no part of the name.
        mask_suffix: End of every mask's stem; files with another end are no masks. '' if masks have the usual names.
        mask_ending: Ending of every mask's file; '' for any.
        image_prefix: Beginning of the name of every image, which is no part of the stem: img_1.jpg and seg_1.png.
        mask_prefix: Beginning of the name of every mask.
    """

    images: str
    masks: str | None
    split: str | None
    with_splits: bool
    lists: str | None = None
    image_suffix: str = ""
    mask_suffix: str = ""
    mask_ending: str = ""
    image_prefix: str = ""
    mask_prefix: str = ""

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders of images and of masks."""
        return (self.images,) if self.masks is None or self.is_one_folder else (self.images, self.masks)

    @property
    def is_one_folder(self) -> bool:
        """Whether images and masks are in one folder, and `is_mask` tells them apart."""
        return self.images == self.masks

    @property
    def glob(self) -> str:
        """What hides the masks, as for `ignore`."""
        return (
            f"*{self.mask_suffix}{self.mask_ending or '.*'}"
            if self.is_one_folder
            else f"{posixpath.basename(self.masks or '')}/"
        )

    @property
    def is_cityscapes(self) -> bool:
        """Whether the dataset is Cityscapes, whose class numbers are known."""
        return self.images.startswith(f"{CITY_IMAGES}/") and bool(self.mask_suffix)

    def masks_of(self, folder: Folder) -> Iterator[str]:
        """Yield the paths of the masks."""
        paths = images_below(folder, self.masks) if self.masks is not None else iter(())
        return filter(self.is_mask, paths)

    def is_mask(self, path: str) -> bool:
        """Return whether a file may be a mask by the end of its name."""
        stem = stem_of(path)
        ends = stem.endswith(self.mask_suffix) and path.endswith(self.mask_ending)
        return ends and stem.startswith(self.mask_prefix)
