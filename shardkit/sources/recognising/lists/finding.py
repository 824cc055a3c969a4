"""Find the list files of a folder, and the split that each of them is for."""

import itertools
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shardkit.layouts import LAYOUTS
from shardkit.naming import split_of_folder
from shardkit.sources.file_names import ending, stem_of
from shardkit.sources.formats.list_fields import read_fields
from shardkit.sources.formats.tables.opening import open_list_files
from shardkit.sources.recognising.claims.searching import paths_below
from shardkit.sources.recognising.lists.class_names import is_names_file
from shardkit.sources.recognising.lists.list_files import ListFile, names_masks, unusual_labels
from shardkit.sources.recognising.lists.list_forms import Bases, find_form
from shardkit.sources.walking import children, file_or_folder, folders_in, is_image, join
from shardkit.storage import Folder

_ENDINGS = LAYOUTS["list"].endings or ()
# Folders in which lists lie, besides the source's own. Not "data", which may hold a whole dataset.
_LIST_FOLDERS = ("filelist", "filelists", "labels", "list", "lists", "meta", "metadata", "split", "splits")
_SPLIT = re.compile(
    r"(?<![a-z])(trainval|training|train|validation|valid|val|dev|testing|test)(?:_?(?:list|set|split|images?|imgs?|files?|data))?(?![a-z])"
)
_LABELS = "labels"
_FIELDS = re.compile(r"\t")  # MXNet's index and label
_WHOLE = "trainval"
_MAX_BASES = 40  # folders in which images are looked up
_MAX_LISTS = 40  # text files that are looked at


@dataclass(frozen=True, slots=True)
class FoundList:
    """A list file of a folder.

    Attributes:
        form: How it is read.
        word: The split's word in its name, such as ``trainval``; '' for none.
        family: Start of its name, before that word.
        rest: End of its name, behind that word.
    """

    form: ListFile
    word: str
    family: str
    rest: str

    @property
    def split(self) -> str | None:
        """The split that the name means; None for none."""
        return "train" if self.word == _WHOLE else split_of_folder(self.word)


def find_lists(folder: Folder) -> list[FoundList]:
    """Return the files of a folder that are lists of images below it, judging by the first lines.

    Files whose names have the word of a split come first; if there are any, other files do not count.
    """
    candidates = list(_candidates(folder))
    with_splits = [path for path in candidates if _word(path)]
    found = [one for path in with_splits if (one := _found(folder, path))]
    others = [path for path in candidates if path not in with_splits]
    return found or [one for path in others if (one := _found(folder, path))]


def has_lists_in_labels(folder: Folder) -> bool:
    """Return whether ``labels/`` has split lists that name images, as in DTD, and not YOLO's boxes."""
    paths = (join(_LABELS, entry.name) for entry in children(folder, _LABELS) if not entry.is_folder)
    first = next((path for path in paths if ending(path) in _ENDINGS and _word(path)), None)
    return first is not None and _found(folder, first) is not None


def bases_for(folder: Folder, near: str = "", split: str | None = None) -> Bases:
    """Return the folders in which images of a list may be looked up."""
    own = list(dict.fromkeys([near, ""]))
    inner = list(dict.fromkeys(join(place, name) for place in own for name in folders_in(folder, place)))[:_MAX_BASES]
    of_split = [path for path in inner if split is not None and split_of_list(posixpath.basename(path)) == split]
    return Bases(own, of_split, [path for path in inner if path not in of_split and path != near])


def split_of_list(path: str) -> str | None:
    """Return the split that a list's file name means; None for none."""
    word = _word(path)
    return "train" if word and word[1] == _WHOLE else split_of_folder(word[1]) if word else None


def without_whole_lists(lists: Sequence[FoundList]) -> list[FoundList]:
    """Return the lists without ``trainval`` if there is a list for both of its parts."""
    splits = {one.split for one in lists if one.word != _WHOLE}
    return [one for one in lists if one.word != _WHOLE or not {"train", "validation"} <= splits]


def _found(folder: Folder, path: str) -> FoundList | None:
    word = _word(path)
    bases = bases_for(folder, posixpath.dirname(path), split_of_list(path))
    form = find_form(folder, folder, path, bases, needs_endings=word is None)
    if form is None or (word is None and not form.has_labels) or names_masks(form) or _is_table(folder, path, form):
        return None
    if _has_nearer_images(folder, path, form):
        return None
    family, split, rest = word or (stem_of(path), "", "")
    return FoundList(form, split, family, rest)


def _has_nearer_images(folder: Folder, path: str, form: ListFile) -> bool:
    """Return whether images of the names in a list are next to its folder: those at the top are copies then."""
    near = posixpath.dirname(path)
    if not near or f"{form.base}/".startswith(f"{near.split('/')[0]}/"):
        return False
    parts = near.split("/")
    above = ["/".join(parts[:depth]) for depth in range(len(parts) - 1, 0, -1)]
    inner = [join(place, name) for place in above for name in folders_in(folder, place)][:_MAX_BASES]
    return bool(inner) and find_form(folder, folder, path, Bases(above, [], inner)) is not None


def _is_table(folder: Folder, path: str, form: ListFile) -> bool:
    """Return whether a file is a table of more than paths and labels: it has a header, or its labels are fields."""
    tables = [one for one in open_list_files(folder, path) if one.is_table]
    label = next(form.labels(), "") if form.has_labels else ""
    has_fields = _FIELDS.search(label) is not None or unusual_labels(form) is not None
    return any(one.has_header for one in tables) or (bool(tables) and has_fields)


def _word(path: str) -> tuple[str, str, str] | None:
    stem = stem_of(path).lower()
    matches = list(_SPLIT.finditer(stem))
    if len(matches) != 1:
        return None
    return stem[: matches[0].start()], matches[0][1], stem[matches[0].end() :]


def _is_of_classes(folder: Folder, path: str) -> bool:
    """Return whether a file has the names of the classes; labels.txt may also have names and classes of images."""
    if not is_names_file(posixpath.basename(path)):
        return False
    first = next(read_fields(folder, path), None)
    return first is None or not any(map(is_image, first.values))


def _candidates(folder: Folder) -> Iterator[str]:
    entries = children(folder)
    own = ["", *(one.name for one in entries if one.is_folder and one.name.lower() in _LIST_FOLDERS)]
    found = [join(place, entry.name) for place in own for entry in children(folder, place) if not entry.is_folder]
    below = [path for path in paths_below(folder, None, frozenset(_ENDINGS)) if path not in found and _word(path)]
    below = [path for path in below if not folders_in(folder, posixpath.dirname(path))]
    if "train" in map(split_of_list, below):  # of a folder of lists with another name
        found += below
    lists = (path for path in found if ending(path) in _ENDINGS and not _is_of_classes(folder, path))
    full = (path for path in lists if (entry := file_or_folder(folder, path)) is not None and entry.num_bytes > 0)
    yield from itertools.islice(full, _MAX_LISTS)
