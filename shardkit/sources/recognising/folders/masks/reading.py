"""Write how pairs of folders are read as a reading: templates of the masks, splits and class names."""

import glob
import posixpath
from collections.abc import Iterable, Sequence
from itertools import islice

from shardkit.naming import split_of_folder
from shardkit.sources.formats.list_fields import read_fields
from shardkit.sources.mask_pixels import images_below
from shardkit.sources.readings.values import Constant, Images, Listed, Origin, Paired, Reading
from shardkit.sources.recognising.detection.image_sets import chosen_lists
from shardkit.sources.recognising.folders.class_folders import with_words
from shardkit.sources.recognising.folders.masks.matching import MASK_SUFFIX, split_inside, stem_in_part
from shardkit.sources.recognising.folders.masks.part import Part
from shardkit.sources.walking import file_or_folder, folders_in, is_image, join
from shardkit.storage import Folder

_NUM_SAMPLED = 400  # masks whose ends are looked at
_FIRST = 20  # lines
_FIELDS = r"(?P<image>\S+)\s.*"  # the image and its mask, or numbers


def reading_of(folder: Folder, parts: Sequence[Part], palette: str, classes: tuple[str, ...]) -> Reading:
    """Return how pairs of folders are read."""
    of_parts = [_templates(folder, part) for part in parts]
    templates = {mask: image for pairs in of_parts for mask, image in pairs}
    (pair, image), *others = _with_field(parts, of_parts) or templates.items()
    has_lists = parts[0].lists is not None  # VOC has five times more images than masks, and lists of the others
    return Reading(
        Images(
            include=_included(folder, parts),
            exclude=tuple(_bare_tests(folder, parts)),
            unnamed="ignore" if has_lists else "reject",
        ),
        split=_split(folder, parts),
        mask=Paired(pair, image, dict(others), palette),
        classes=classes,
    )


def _templates(folder: Folder, part: Part) -> list[tuple[str, str]]:
    """Return the templates of a pair's masks, and of their images."""
    if part.masks is None:
        return []
    folders = _inner_pairs(folder, part) if part.with_splits else [(part.images, part.masks)]
    return [
        (
            join(masks, f"{{dir}}/{part.mask_prefix}{{stem}}{end}{part.mask_suffix}{part.mask_ending}"),
            join(images, f"{{dir}}/{part.image_prefix}{{stem}}{part.image_suffix}"),
        )
        for end in _ends(folder, part)
        for images, masks in folders
    ]


def _inner_pairs(folder: Folder, part: Part) -> list[tuple[str, str]]:
    """Return the folders of splits below both, if their names differ, such as val/ and validation/."""
    masks = {split_inside(name): name for name in folders_in(folder, part.masks or "")}
    inner = folders_in(folder, part.images)
    if all(masks.get(split_inside(name), name) == name for name in inner):
        return [(part.images, part.masks or "")]
    return [(join(part.images, name), join(part.masks or "", masks.get(split_inside(name), name))) for name in inner]


def _ends(folder: Folder, part: Part) -> list[str]:
    """Return the usual ends of the masks' stems that are no part of the images'; '' first, for none."""
    images = {
        stem_in_part(path[len(part.images) :].lstrip("/"), part)
        for path in islice(images_below(folder, part.images), _NUM_SAMPLED)
    }
    stems = (
        _without(stem_in_part(path[len(part.masks or "") :].lstrip("/"), part), part.mask_prefix, part.mask_suffix)
        for path in islice(part.masks_of(folder), _NUM_SAMPLED)
    )
    ends = set()
    for stem in stems:
        found = MASK_SUFFIX.search(posixpath.basename(stem), 1)
        ends.add(found[0] if found and f"{stem}{part.image_suffix}" not in images else "")
    return sorted(ends) or [""]


def _without(stem: str, prefix: str, suffix: str) -> str:
    above, name = posixpath.split(stem)
    return join(above, name.removeprefix(prefix).removesuffix(suffix))


def _with_field(parts: Sequence[Part], of_parts: Sequence[Sequence[tuple[str, str]]]) -> list[tuple[str, str]] | None:
    """Return the templates of parts that differ in their first folder only, with {0} in its place."""
    if len(parts) < 2:
        return None
    common = set[tuple[tuple[str, str], ...]]()
    for part, pairs in zip(parts, of_parts, strict=True):
        first, _, rest = part.images.partition("/")
        texts = [text for pair in pairs for text in pair]
        if not first or not all(text.startswith(f"{first}/") for text in texts):
            return None
        general = [f"{{0}}{text[len(first) :]}" for text in texts]
        if pairs:
            common.add(tuple(zip(general[::2], general[1::2], strict=True)))
        elif rest == "":
            return None
    return list(common.pop()) if len(common) == 1 else None


def _included(folder: Folder, parts: Sequence[Part]) -> tuple[str, ...]:
    """Return the globs of the images; () if they are in all folders."""
    places = list(dict.fromkeys(part.images for part in parts))
    if "" in places or {*places} == {*folders_in(folder)}:
        return ()
    return tuple(f"/{glob.escape(path)}/" for path in places)


def _bare_tests(folder: Folder, parts: Sequence[Part]) -> Iterable[str]:
    """Yield the globs of test images below folders without masks for them: a benchmark keeps these."""
    for part in parts:
        if part.with_splits and part.masks is not None:
            splits = {split_inside(name) for name in folders_in(folder, part.masks)}
            for name in folders_in(folder, part.images):
                if split_inside(name) == "test" and "test" not in splits:
                    yield f"/{glob.escape(join(part.images, name))}/"


def _split(folder: Folder, parts: Sequence[Part]) -> Origin | None:
    """Return where splits come from: lists, folders below the images', or names of folders above them."""
    first = parts[0]
    if first.lists is not None:
        return _listed(folder, first)
    if all(part.with_splits for part in parts):
        inner = {name: split_inside(name) for part in parts for name in folders_in(folder, part.images)}
        return with_words(len(first.images.split("/")), inner)
    splits = {part.images: part.split for part in parts if part.split is not None}
    if not splits:
        return None
    folders = {path: path.split("/") for path in splits}
    for index in range(min(map(len, folders.values()))):
        names = {(folders[path][index], split) for path, split in splits.items()}
        is_told = len({name for name, _ in names}) == len(names)
        if is_told and (len(set(splits.values())) > 1 or all(split_of_folder(name) == one for name, one in names)):
            return with_words(index, dict(names))
    return Constant(next(iter(splits.values()))) if len(set(splits.values())) == 1 else None


def _listed(folder: Folder, part: Part) -> Listed:
    place = part.lists or ""
    lists = {join(place, name): split for name, split in chosen_lists(folder, place).items()}
    lines = [one.values[0] for path in lists for one in islice(read_fields(folder, path, "\n"), _FIRST)]
    has_fields = all(len(line.split()) > 1 for line in lines)
    names = [line.split()[0] if has_fields else line for line in lines]
    bases = [base for base in ("", part.images) if any(file_or_folder(folder, join(base, name)) for name in names)]
    expression = _FIELDS if has_fields else ""
    if bases and all(map(is_image, names)):
        return Listed(lists, match="path", base=bases[0], lines=expression)
    in_folder = any(name.removeprefix("./").startswith(f"{part.images}/") for name in names)
    return Listed(lists, match="end", base="" if in_folder else part.images, lines=expression)
