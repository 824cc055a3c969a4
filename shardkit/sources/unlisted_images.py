"""Images of a source that none of its parts covers: counted by folder, so that no image is lost silently.

A layout reads the folders that its label files lead to; a test set without labels, or a folder that data.yaml does not
name, lies beside them. Folders that a part lists itself are passed over, so that none is listed twice for this, and no
file is opened.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from shardkit.naming import MANIFEST, RUN_LOG, printable
from shardkit.sources.listing import IMAGE_ENDINGS, ending
from shardkit.sources.walking import children, join, parent_of
from shardkit.storage import Folder

FOLDERS_SHOWN = 8  # the others are counted together


@dataclass(frozen=True, slots=True)
class Rest:
    """The part of a source that is what no other part covers."""


def count_uncovered(
    folder: Folder,
    why: str,
    *,
    below: Iterable[str] = ("",),
    covered: Collection[str] = (),
    named: Collection[str] = (),
) -> dict[str, int]:
    """How many images lie outside of what is covered, by what a user is told, such as ``images in test/ that …``.

    A folder with nothing covered in or below it is counted as a whole, under its own name.

    Args:
        folder: the source's root.
        why: what ends the sentence: ``that no annotation names``.
        below: folders that are looked through.
        covered: folders that are passed over with all below them, and with links to them.
        named: images that are passed over.
    """
    walk = _Walk(folder, covered, named)
    for path in below:
        above = [folder.resolve(one) for one in _ancestors(path)]
        walk.look(path, None, tuple(above))
    counts = [(path, count) for path, count in walk.counts.items() if count]
    found = {_phrase(count, path, why): count for path, count in counts[:FOLDERS_SHOWN]}
    if others := counts[FOLDERS_SHOWN:]:
        found[f"images in {len(others):,} more folders {why}"] = sum(count for _, count in others)
    return found


def _phrase(count: int, path: str, why: str) -> str:
    place = f"{printable(path)}/" if path else "the source's own folder"
    return f"{'image' if count == 1 else 'images'} in {place} {why}"


@dataclass(slots=True)
class _Walk:
    """Counts by folder, in the order in which folders are come upon."""

    folder: Folder
    covered: Collection[str]
    named: Collection[str]
    counts: dict[str, int] = field(default_factory=dict)
    _covered: set[str] = field(init=False)  # links resolved
    _partly: set[str] = field(init=False)  # folders with something covered in or below them

    def __post_init__(self) -> None:
        self._covered = {self.folder.resolve(path) for path in self.covered}
        self._partly = {above for path in self.covered for above in _ancestors(path)}
        places = {parent_of(path) for path in self.named}
        self._partly |= places | {above for path in places for above in _ancestors(path)}

    def look(self, path: str, counted_as: str | None, above: tuple[str, ...]) -> None:
        here = self.folder.resolve(path)
        if path in self.covered or here in self._covered or here in above:
            return
        entries = children(self.folder, path)
        if {entry.name for entry in entries} >= {MANIFEST, RUN_LOG}:
            return  # a dataset that was converted into the source
        if counted_as is None and path not in self._partly:
            counted_as = path
        images = [one.name for one in entries if not one.is_folder and ending(one.name) in IMAGE_ENDINGS]
        if self.named:
            images = [name for name in images if join(path, name) not in self.named]
        place = path if counted_as is None else counted_as
        self.counts[place] = self.counts.get(place, 0) + len(images)
        for entry in entries:
            if entry.is_folder:
                self.look(join(path, entry.name), counted_as, (*above, here))


def _ancestors(path: str) -> Iterator[str]:
    """Folders above a path, the root first."""
    parts = path.split("/") if path else []
    return ("/".join(parts[:depth]) for depth in range(len(parts)))
