"""Which files of a reading are images that may be examples."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from shardkit.naming import printable
from shardkit.sources.engine.mask_paths import MASKS, MaskPaths
from shardkit.sources.ignoring.filtered_folder import IgnoreGlob
from shardkit.sources.listing import count_skipped, unicode_problem
from shardkit.sources.walking import files_below, is_image
from shardkit.storage import Entry, Folder


@dataclass(frozen=True, slots=True)
class ImagePaths:
    """Which files are images that label files may name."""

    include: tuple[IgnoreGlob, ...] = ()  # globs of the examples; () for all
    exclude: tuple[IgnoreGlob, ...] = ()  # globs of images that are none
    excluded: str | None = None  # path that is not listed, because it is the output; None for none
    masks: MaskPaths | None = None  # where masks are, which are no examples; None for none

    def files(self, folder: Folder, below: str = "", skip: Collection[str] = ()) -> Iterator[tuple[str, Entry]]:
        """Yield the images of a folder that are below a path in it, but not below some other paths."""
        return self.counted(folder, below, {}, skip=skip)

    def counted(
        self,
        folder: Folder,
        below: str,
        skipped: dict[str, int],
        named: Collection[str] = (),
        skip: Collection[str] = (),
    ) -> Iterator[tuple[str, Entry]]:
        """Yield images as `files` does, but those of `named`; count the other ones that are no examples."""
        for path, entry in files_below(folder, below, (*skip, *self.left_out)):
            if is_image(entry.name) and path not in named:
                if kind := self.why_left_out(path):
                    count_skipped(skipped, kind)
                else:
                    yield path, entry

    def paths(self, folder: Folder, below: str = "") -> Iterator[str]:
        """Yield the paths of the images of a folder that are below a path in it."""
        yield from (path for path, _ in self.files(folder, below) if not unicode_problem(path))

    @property
    def left_out(self) -> tuple[str, ...]:
        return () if self.excluded is None else (self.excluded,)

    @property
    def globs_of_masks(self) -> tuple[str, ...]:
        return () if self.masks is None else self.masks.globs

    @property
    def are_chosen(self) -> bool:
        return bool(self.include or self.exclude or self.masks or self.excluded is not None)

    def why_left_out(self, path: str) -> str | None:
        """Return how an image that is no example is counted; None if it is one."""
        if self.excluded is not None and path.startswith(f"{self.excluded}/"):
            return "images in the folder of the output"
        if self.masks is not None and self.masks.is_mask(path):
            return MASKS
        if glob := next((one for one in self.exclude if one.matches(path)), None):
            return f"excluded by {printable(glob.text)}"
        if self.include and not any(one.matches(path) for one in self.include):
            return "images that the reading does not include"
        return None
