"""Pair the masks of two folders with the images, by what their paths have in common."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field

from shardkit.reject_reasons import BAD_MASK, NO_LABEL, NO_SPLIT
from shardkit.sources.folders.masks.matching import MASK_SUFFIX, split_inside, stem_in_part
from shardkit.sources.folders.masks.part import Part
from shardkit.sources.folders.unsupported_formats import unsupported_format
from shardkit.sources.listing import RecordProblem, unicode_problem
from shardkit.sources.walking import join
from shardkit.storage import Entry


@dataclass(slots=True)
class MaskFiles:
    """Masks by stem, and by stem without suffix.

    Attributes:
        exact: Paths by stem.
        suffixed: Paths by stem without its suffix, such as ``_mask``.
        entries: Stem and entry by path.
        problems: Masks whose paths cannot be stored.
        paired: Paths that `find` returned.
    """

    exact: dict[str, list[str]] = field(default_factory=dict)
    suffixed: dict[str, list[str]] = field(default_factory=dict)
    entries: dict[str, tuple[str, Entry]] = field(default_factory=dict)
    problems: list[RecordProblem] = field(default_factory=list)
    paired: set[str] = field(default_factory=set)

    def add(self, stem: str, path: str, entry: Entry) -> None:
        """Add a mask."""
        if problem := unicode_problem(path) or unsupported_format(path):
            self.problems.append(problem)
            return
        self.entries[path] = (stem, entry)
        self.exact.setdefault(stem, []).append(path)
        above, name = posixpath.split(stem)
        if suffix := MASK_SUFFIX.search(name, 1):
            self.suffixed.setdefault(join(above, name[: suffix.start()]), []).append(path)

    def find(self, stem: str) -> list[str]:
        """Return the masks of an image."""
        found = self.exact.get(stem) or self.suffixed.get(stem) or []
        self.paired.update(found)
        return found

    def unpaired(self, part: Part) -> Iterator[tuple[str, Entry, str | None]]:
        """Yield path, entry and split of the masks that `find` has not returned."""
        for path, (stem, entry) in self.entries.items():
            if path not in self.paired:
                yield path, entry, split_below(stem, part)


def mask_problem(path: str, candidates: list[str], conflict: str | None) -> RecordProblem | None:
    """Return why an image is rejected: two lists name it, or it has no mask, or several; None if it has one."""
    if conflict:
        return RecordProblem(path, NO_SPLIT, conflict)
    if not candidates:
        return RecordProblem(path, NO_LABEL, "there is no mask of its name; add one, or move the image away")
    if len(candidates) > 1:
        names = " and ".join(sorted(candidates))
        return RecordProblem(path, BAD_MASK, f"{names} both match this image by name; keep one")
    return None


def split_below(below: str, part: Part) -> str | None:
    """Return the split of an image or mask, by its path below the part's folder."""
    first, separator, _ = below.partition("/")
    return split_inside(first) if part.with_splits and separator else part.split


def common_stem(below: str, part: Part, *, of_mask: bool) -> str | None:
    """Return what an image and its mask have in common.

    Args:
        below: Path below the part's folder.
        part: The part.
        of_mask: Whether it is the path of a mask.

    Returns:
        The stem; None if it does not begin and end as those of the part.
    """
    prefix, suffix = (part.mask_prefix, part.mask_suffix) if of_mask else (part.image_prefix, part.image_suffix)
    above, name = posixpath.split(stem_in_part(below, part))
    is_named = name.startswith(prefix) and name.endswith(suffix)
    return join(above, name.removeprefix(prefix).removesuffix(suffix)) if is_named else None
