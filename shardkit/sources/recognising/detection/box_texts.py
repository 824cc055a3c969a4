"""A text file of boxes for each image: VisDrone's ``annotations/`` and DOTA's ``labelTxt/`` next to ``images/``.

Those of ICDAR and of WIDER Person are known by their content: they are next to a folder of images, or with the images.
"""

import posixpath
from collections.abc import Iterator

from shardkit.errors import DataError
from shardkit.layouts import LAYOUTS
from shardkit.sources.context import Opening
from shardkit.sources.file_names import stem_of
from shardkit.sources.formats.box_lines import DOTA, ICDAR, VISDRONE, WIDER_PERSON
from shardkit.sources.formats.one_image import ImageFormat
from shardkit.sources.listing import Source
from shardkit.sources.name_index import stems_of_file
from shardkit.sources.recognising.detection.found_files import FilesOfFolder, has_texts, open_image_files
from shardkit.sources.recognising.detection.image_paths import split_of
from shardkit.sources.walking import children, files_in, folders_in, is_folder, is_image, join
from shardkit.storage import Folder

_MAX_FOLDERS = 12  # folders next to each other that may hold images and texts
_NUM_MATCHED = 8  # texts whose images are looked up


# The folders of texts next to images/; () if folders are known by their content.
_FOLDERS = {
    "visdrone": ("annotations",),
    "dota": ("labelTxt", "labelTxt-v1.0", "labelTxt-v1.5"),
    "icdar": (),
    "wider-person": (),
}
_FORMATS = (VISDRONE, DOTA, ICDAR, WIDER_PERSON)


def is_box_texts(folder: Folder) -> bool:
    """Return whether a folder has such text files, judging by names and the first lines of a few files."""
    return _find(folder) is not None


def _find(folder: Folder) -> tuple[ImageFormat, list[FilesOfFolder]] | None:
    bases = ["", *(name for name in folders_in(folder) if split_of(name))]
    for one in _FORMATS:
        find = _named_folders if _FOLDERS[one.name] else _by_content
        found = list(dict.fromkeys(files for base in bases for files in find(folder, base, one)))
        if len({files.images for files in found}) == len(found) > 0:
            return one, found
    return None


def _named_folders(folder: Folder, base: str, kind: ImageFormat) -> Iterator[FilesOfFolder]:
    images = join(base, "images")
    for name in _FOLDERS[kind.name] if is_folder(folder, images) else ():
        if has_texts(folder, join(base, name), kind):
            yield FilesOfFolder(join(base, name, "*.txt"), images, split_of(base) if base else None)


def _by_content(folder: Folder, base: str, kind: ImageFormat) -> Iterator[FilesOfFolder]:
    """Yield folders of texts with the folder next to them, or the same, that has images of most of their names."""
    places = [base, *(join(base, name) for name in folders_in(folder, base))]
    for texts in places if len(places) <= _MAX_FOLDERS else ():
        if not has_texts(folder, texts, kind):
            continue
        stems = [stem_of(path) for path in files_in(folder, texts, ".txt")]
        wanted = [{stem, *stems_of_file(stem)} for stem in stems[:_NUM_MATCHED]]
        for images in places:
            names = (one.name for one in children(folder, images) if not one.is_folder and is_image(one.name))
            found = {posixpath.splitext(name)[0] for name in names}
            if 2 * sum(not found.isdisjoint(some) for some in wanted) > len(wanted):
                yield FilesOfFolder(join(texts, "*.txt"), images, split_of(images) if images else None)


def open_box_texts(opening: Opening) -> Source:
    """Find the text files and their images."""
    found = _find(opening.folder)
    if found is None:
        msg = (
            f"{opening.folder.url}: there are no text files of VisDrone (annotations/*.txt) or DOTA (labelTxt/*.txt) "
            "next to images/, nor of ICDAR or WIDER Person with images of their names"
        )
        raise DataError(msg)
    kind, files = found
    remark = f"; texts of {kind.title}"
    return open_image_files(opening, kind.name, LAYOUTS["box-text"].title, files, remark=remark)
