"""Find the images of a COCO file that were moved: its paths begin with folders that are not here.

    images/v1/patch8/a.jpg     train/patch8/a.jpg     the last folder and the name agree

An image is not taken for another one of the same name: the last folder has to agree if the file gives one, folders of
another split do not count, and no two records may mean one image.
"""

from collections import Counter
from collections.abc import Sequence

from shardkit.naming import printable, split_of_folder
from shardkit.reject_reasons import BAD_PATH
from shardkit.sources.formats.coco.columns import CocoColumns
from shardkit.sources.name_index import NameIndex, agreeing_most, written_path
from shardkit.storage import Folder

_WITH_FOLDER = 2  # parts of a path: a folder and the name


def are_moved(folder: Folder, names: Sequence[str], split: str | None) -> bool:
    """Return whether one of these names means one image in the folder, or in one below it."""
    index = NameIndex(folder)
    return any(len(_find_all(index, name, split)) == 1 for name in names)


def find_moved(columns: CocoColumns, folder: Folder, split: str | None) -> None:
    """Replace the paths of a file's images by those in a folder; images that are not there keep theirs.

    A path that means several images, or an image that several records mean, becomes a problem.

    Args:
        columns: The file.
        folder: The folder.
        split: The split in the file's name; None for none.
    """
    index = NameIndex(folder)
    found = dict[int, str]()
    for place, name in enumerate(columns.image_names):
        paths = _find_all(index, name, split) if name else []
        if len(paths) > 1:
            message = f"it may be {printable(paths[0])} or {printable(paths[1])}; write the path in `file_name`"
            columns.add_problem(f"image {name}", BAD_PATH, message)
            columns.image_names[place] = ""
        elif paths:
            found[place] = paths[0]
    counts = Counter(found.values())
    for place, path in found.items():
        name = columns.image_names[place]
        columns.image_names[place] = path if counts[path] == 1 else ""
        if counts[path] > 1:
            message = f"{counts[path]} records mean {printable(path)}; write the image's path in `file_name`"
            columns.add_problem(f"image {name}", BAD_PATH, message)


def _find_all(index: NameIndex, name: str, split: str | None) -> list[str]:
    return [path for path in index.find_all(name) if _may_be(path, name, split)]


def _may_be(path: str, name: str, split: str | None) -> bool:
    _, num_parts = agreeing_most([path], written_path(name))
    other_folders = path.split("/")[:-num_parts]
    splits = set(filter(None, map(split_of_folder, other_folders)))
    is_of_other = split is not None and bool(splits) and split not in splits
    return not is_of_other and ("/" not in name or num_parts >= _WITH_FOLDER)
