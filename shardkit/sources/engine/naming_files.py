"""`NamingFile`: a file of annotations that names many images."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from shardkit.naming import printable
from shardkit.sources.engine.images import ImagePaths
from shardkit.sources.engine.matching import ImageNames, Matching
from shardkit.sources.engine.path_rules import PathRule
from shardkit.storage import Folder


@dataclass(frozen=True, slots=True)
class NamingFile:
    """A file that names images."""

    path: str  # the file, below SOURCE
    paths: PathRule
    matching: Matching | None = None  # how they name images otherwise; None if they are paths
    split: str | None = None  # the split of all its images; None if the file does not give it
    options: Mapping[str, str] = field(default_factory=dict)

    def key_of(self, folder: Folder, images: ImagePaths) -> Callable[[str], str]:
        """Return the function from a name in the file to the key of an image in a folder; it raises BadRecord."""
        if self.matching is None:
            return self.paths.key
        names, plain = ImageNames(images.paths(folder), self.matching), self.paths.without_folders
        return lambda text: (names.find(plain(text)) if text.strip() else None) or self.paths.key(text)

    def describe(self, more: str = "") -> str:
        """Return a phrase for the user; `more` is what else is read."""
        split = f" as {self.split}" if self.split else ""
        place = f"{self.paths.place or '.'}/" if self.matching is None else "the folders below"
        form = f", {self.options['form']}" if "form" in self.options else ""
        return f"{printable(self.path)}{form}, with the images in {place}{more}{split}{self.paths.remark()}"
