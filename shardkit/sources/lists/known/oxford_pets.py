"""Oxford-IIIT Pet: ``images/Abyssinian_1.jpg``, with the splits in ``annotations/trainval.txt`` and ``test.txt``.

A line is ``Abyssinian_100 1 1 1``: the image, and the numbers of its class, species and breed. The names of the 37
classes are only in the names of the images.
"""

from shardkit.options.words import named
from shardkit.sources.lists.known.fixed_columns import FieldList
from shardkit.sources.lists.layout import ImageLists
from shardkit.sources.lists.records import read_fields
from shardkit.sources.walking import file_or_folder, is_folder
from shardkit.storage import Folder

ANNOTATIONS, IMAGES = "annotations", "images"
_WHOLE = f"{ANNOTATIONS}/list.txt"
# The lists and their splits; TFDS and torchvision read trainval.txt as the training images, too.
SPLIT_LISTS: tuple[tuple[str, str | None], ...] = (
    (f"{ANNOTATIONS}/trainval.txt", "train"),
    (f"{ANNOTATIONS}/test.txt", "test"),
)
_NUM_FIELDS = 4


def open_oxford_pets(folder: Folder, excluded: str | None) -> ImageLists | None:
    """Return the source if a folder is the Oxford-IIIT Pet dataset, else None."""
    if not is_oxford_pets(folder):
        return None
    lists = [(path, split) for path, split in SPLIT_LISTS if file_or_folder(folder, path) is not None]
    if len(lists) < len(SPLIT_LISTS):
        lists, remark = [(_WHOLE, None)], f"the images of {_WHOLE}"
    else:
        remark = " and ".join(f"{split} from {path}" for path, split in lists)
    readers = tuple(FieldList(path, None, IMAGES, ".jpg", "name", split) for path, split in lists)
    remark += f", the class from the image's name; for the trimaps add {named('layout', 'masks')}"
    return ImageLists(folder, "Oxford-IIIT Pet", remark, readers, excluded=excluded, covered=(ANNOTATIONS,))


def is_oxford_pets(folder: Folder) -> bool:
    """Return whether a folder has the lists of this dataset."""
    if not is_folder(folder, IMAGES) or file_or_folder(folder, _WHOLE) is None:
        return False
    for fields in read_fields(folder, _WHOLE):
        name, *numbers = fields.values
        if not name.startswith("#"):
            return len(numbers) == _NUM_FIELDS - 1 and all(map(str.isdecimal, numbers)) and "_" in name
    return False
