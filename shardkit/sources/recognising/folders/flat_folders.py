"""Folders without label folders: read labels from names such as cat.0.jpg, else refuse with commands.

A folder without any image is refused with what it holds instead.
"""

import itertools
import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from shardkit.errors import DataError, ShardkitError
from shardkit.naming import IMAGE_ENDINGS, printable, split_of_folder
from shardkit.options.call import Change
from shardkit.refusals import RefusalError, UnrecognisedError
from shardkit.sources.file_names import ending
from shardkit.sources.formats.unsupported_images import unsupported_format
from shardkit.sources.recognising.folders.annotated_data_check import adjacent_masks
from shardkit.sources.recognising.folders.annotated_trees import readings_of_masks
from shardkit.sources.recognising.folders.data_formats import data_format
from shardkit.sources.recognising.folders.file_names import FileNames
from shardkit.sources.recognising.folders.name_fields import form_of
from shardkit.sources.recognising.folders.no_classes import are_numbered
from shardkit.sources.recognising.folders.source_place import FORCED, SourcePlace
from shardkit.sources.recognising.folders.tree_forms import FlatFolders
from shardkit.sources.walking import children, files_below
from shardkit.storage import Folder

# Dogs vs Cats and datasets modelled on it: cat.0.jpg. Only numbered photographs have similar names.
_WORD_AND_NUMBER = r"^([A-Za-z][A-Za-z_-]*)\.[0-9]+\."
_CAMERAS = frozenset({"dsc", "dscn", "frame", "image", "img", "photo", "pic", "picture", "pxl", "scan", "screenshot"})
# Inspections: OK_20230101_081502.bmp. Other words may be a camera's: HDR_, PANO_.
_VERDICT_AND_NUMBERS = r"^([A-Za-z]+)((?:[ _-][0-9]+)+)\."
_VERDICTS = frozenset(
    {
        *("ok", "ng", "nok", "good", "bad", "pass", "passed", "fail", "failed", "accepted", "rejected", "faulty"),
        *("defect", "defective", "normal", "abnormal", "positive", "negative"),
    }
)
# Usual names whose first words may be the class, tried in this order.
_GUESSES = (
    _WORD_AND_NUMBER,
    r"^(.+?)[ _-]*\([0-9]+\)\.",
    r"^(.+[^_])_{2,}[0-9]+\.",
    r"^(.+?)(?:_[0-9]+){2,}\.",
    r"^(.+?)[ ._-]+(?:19|20)[0-9]{2}[-_.]?[01][0-9][-_.]?[0-3][0-9](?![0-9])",
    r"^(.+)_[0-9]+\.",
    r"^(.+)-[0-9]+\.",
    r"^([^0-9]*[^0-9 ._-])[ ._-]*[0-9]+\.",
    r"^[0-9]+[ ._-]+([^0-9]+)\.",
)
_MIN_IMAGES = 2  # of each class on average: else the words are names, not classes
_NAME_AND_NUMBER = 2  # fields
_MAX_READINGS = 3  # of names as labels
_EXAMPLES = 2  # file names shown in a message
_MAX_FILES = 1_000  # that are looked at
_KINDS_SHOWN = 4
_ARCHIVES = (".zip", ".tar")
_PACKED = (".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z", ".rar")
_ARRAYS = (".npy", ".npz", ".pkl", ".pickle", ".h5", ".hdf5", ".mat", ".pt", ".pth", ".mdb", ".lmdb", ".bin")
_RECORDS = (".tfrecord", ".tfrecords", ".tfrec")
_NO_ENDING = "(none)"


def open_flat_folders(folder: Folder, flat: FlatFolders, place: SourcePlace, remark: str = "") -> FileNames:
    """Read the labels of flat folders from their files' names."""
    names = {root.path: _image_names(folder, root.path) for root in flat.roots}
    labelled = {path: found for path, found in names.items() if have_word_and_number(found)}
    pattern = _WORD_AND_NUMBER
    if not labelled and _have_verdicts(names):
        labelled, pattern = names, _VERDICT_AND_NUMBERS
    test_only = [root.path for root in flat.roots if root.split == "test" and root.path not in labelled]
    if labelled and len(labelled) + len(test_only) == len(flat.roots):
        return FileNames(
            pattern=re.compile(pattern),
            label_group=1,
            folder_splits=tuple(
                (root.path.split("/")[0], root.split) for root in flat.roots if root.split and root.path in labelled
            ),
            left_out=(*flat.left_out, *test_only),
        )
    every = [name for found in names.values() for name in found]
    if not every:
        raise refuse_without_images(folder, place, remark)
    paths = [root.path for root in flat.roots if root.path]
    by_name = _by_name(flat, names, place)
    commands = [*by_name, place.whole({"unlabelled": True}, "images without labels")]
    masks = next((mask for found in names.values() if (mask := adjacent_masks(found))), None)
    if masks:
        remark += f"; {printable(masks[0])} is a mask by its name, and masks are read from a folder of their own"
        without = place.whole(
            {"ignore": (masks[1],), "unlabelled": True}, "images without labels, and without the masks"
        )
        commands = [without, commands[-1]]  # "mask" in a name is no class
    where = "the top folder"
    if paths:
        shown = " and ".join(f"{printable(path)}/" for path in paths)
        where = shown if len(paths) == len(names) else f"{where} and {shown}"
        # A refusal offers few commands. A class alone may be appended to a dataset.
        if len(by_name) < _MAX_READINGS and (are_numbered(paths) or len(paths) == len(names) == 1):
            commands.append(
                place.tree(FORCED, f"{shown} {'is the only class' if len(paths) == 1 else 'are the classes'}")
            )
    commands = readings_of_masks(folder, [], place) or commands  # the others would take the masks for images
    examples = " and ".join(map(printable, every[:_EXAMPLES]))
    if flat.why:
        raise RefusalError(f"{place.shown}: {flat.why}{remark}", commands)
    problem = f"{place.shown}: there are no label folders, only images such as {examples} in {where}{remark}"
    raise UnrecognisedError(problem, commands)


def _by_name(flat: FlatFolders, names: dict[str, list[str]], place: SourcePlace) -> list[Change]:
    """Return the commands that read labels from the names of at least one folder's files, if they can be guessed."""
    changes: list[Change] = []
    guesses = {path: pattern for path, found in names.items() if (pattern := guess_pattern(found))}
    if guesses:
        path, guess = next(iter(guesses.items()))
        others = [one for one in names if guesses.get(one) != guess]
        changes.append(_reading(flat, place, names[path][0], guess, others, "the label is in the file name"))
    forms = {path: form for path, found in names.items() if (form := form_of(found))}
    if guesses:  # cat_001.jpg is no name of fields
        forms = {path: form for path, form in forms.items() if form.num_fields > _NAME_AND_NUMBER}
    if forms:
        form = next(iter(forms.values()))
        others = [path for path in names if forms.get(path) != form]
        every = [name for path, found in names.items() if path not in others for name in found]
        fitting = [name for name in every if form.fits(name)]
        odd = {"max_rejected": len(every) - len(fitting)} if len(fitting) < len(every) else {}
        for field in form.repeating_fields(fitting):
            if all(_label(field.pattern, fitting[0]) != _label(one, fitting[0]) for one in guesses.values()):
                meaning = f"the label is field {field.number} of the file name"
                changes.append(_reading(flat, place, fitting[0], field.pattern, others, meaning, odd))
    return changes[:_MAX_READINGS]


def _reading(
    flat: FlatFolders,
    place: SourcePlace,
    name: str,
    pattern: str,
    others: list[str],
    what: str,
    more: Mapping[str, int] = MappingProxyType({}),
) -> Change:
    """Return the command that reads labels by a pattern, without other folders."""
    meaning = f"{what}: {name} has the class {_label(pattern, name)!r}"
    left_out = tuple(one for one in (*others, *flat.left_out) if one)
    return place.tree({"label_pattern": pattern, **more}, printable(meaning), without=left_out)


def _label(pattern: str, name: str) -> str:
    found = re.search(pattern, name)
    return found[1] if found else ""


def have_word_and_number(names: Sequence[str]) -> bool:
    """Return whether the files' names are ``<word>.<number>.jpg`` with words that repeat, as in Dogs vs Cats."""
    found = [match[1].lower() for name in names if (match := re.match(_WORD_AND_NUMBER, name))]
    counts = Counter(found)
    return (
        bool(names)
        and len(found) == len(names)
        and len(counts) > 1
        and min(counts.values()) > 1
        and not _CAMERAS & counts.keys()
    )


def _have_verdicts(names: Mapping[str, list[str]]) -> bool:
    """Return whether all names are a verdict and numbers, and no two images of a folder differ by the verdict only.

    ``good_1.jpg`` and ``bad_1.jpg`` may be two pictures of one thing.
    """
    verdicts: set[str] = set()
    for found in names.values():
        parts = [match.groups() for name in found if (match := re.match(_VERDICT_AND_NUMBERS, name))]
        if len(parts) < len(found) or len({numbers for _, numbers in parts}) < len(parts):
            return False
        verdicts.update(word for word, _ in parts)
    kinds = {word.lower() for word in verdicts}
    return 1 < len(kinds) == len(verdicts) and kinds <= _VERDICTS


def guess_pattern(names: Sequence[str]) -> str | None:
    """Return a pattern for ``label_pattern`` by which all names have a label and labels repeat; None for none."""
    for pattern in _GUESSES:
        found = [match[1].lower() for name in names if (match := re.search(pattern, name))]
        kinds = set(found)
        if len(found) == len(names) and 1 < len(kinds) <= len(names) / _MIN_IMAGES and not _CAMERAS & kinds:
            return pattern
    return None


def _image_names(folder: Folder, path: str) -> list[str]:
    entries = children(folder, path)
    return [entry.name for entry in entries if not entry.is_folder and ending(entry.name) in IMAGE_ENDINGS]


def refuse_without_images(folder: Folder, place: SourcePlace, remark: str) -> ShardkitError:
    """Return the error for a tree that holds no image."""
    paths = list(itertools.islice(_files(folder), _MAX_FILES))
    kinds = Counter(map(ending, paths))
    shown = ", ".join(f"{count:,} {'without ending' if kind == _NO_ENDING else kind}" for kind, count in _most(kinds))
    found = f"only other files ({shown})" if kinds else "the folder is empty"
    problem = f"{place.shown}: no images found, {found}{remark}"
    archives = [path for path in paths if path.lower().endswith(_ARCHIVES)]
    if archives:
        names = archives[:_KINDS_SHOWN]
        stems = {path: posixpath.basename(path).partition(".")[0] for path in archives}
        splits = {path: split for path, stem in stems.items() if (split := split_of_folder(stem))}
        if len(set(splits.values())) == len(splits) > 1:
            return RefusalError(
                problem, place.as_splits(splits, f"{' and '.join(map(printable, splits))} are the splits")
            )
        commands = [
            Change(f"the images are in {printable(name)}", sources=(f"{place.shown}/{name}",)) for name in names
        ]
        return RefusalError(problem, commands)
    if form := data_format(folder, paths):
        return form.refusal(problem)
    return DataError(f"{problem}; {_remedy(kinds, paths)}")


def _files(folder: Folder) -> Iterator[str]:
    return (path for path, _ in files_below(folder, ""))


def _most(kinds: Counter[str]) -> list[tuple[str, int]]:
    return sorted(kinds.items(), key=lambda one: (-one[1], one[0]))[:_KINDS_SHOWN]


def _remedy(kinds: Counter[str], paths: list[str]) -> str:
    if any(kind in _PACKED for kind in kinds):
        return "unpack them, then give the folder with the images"
    if any(kind in _RECORDS for kind in kinds):
        return "give the folder that has the TFRecord files, itself or in split folders, and no images next to them"
    foreign = next((problem for path in paths if (problem := unsupported_format(path))), None)
    if foreign is not None:
        return f"{foreign.key}: {foreign.message}"
    if any(kind in _ARRAYS for kind in kinds) or kinds[_NO_ENDING]:
        return "images inside arrays or databases are not read; write each image to a file, such as PNG"
    return "give the folder that holds the images"
