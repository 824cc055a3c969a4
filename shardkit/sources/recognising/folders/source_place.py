"""Where a tree is in the source, for the changes of a refusal."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shardkit.options.call import Change
from shardkit.sources.context import Opening
from shardkit.sources.walking import join

FORCED = {"layout": "class-folders"}  # options that read each folder as a class


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A tree in the source."""

    url: str  # SOURCE as the user gave it
    above: str = ""  # path of the tree below SOURCE, or below the top of the archive; '' if it is SOURCE itself
    in_archive: bool = False  # whether SOURCE is an archive, so that no folder in it can be SOURCE
    # Of several sources, the folder of each in the tree and the source as the user gave it
    given: tuple[tuple[str, str], ...] = ()
    ignored: tuple[str, ...] = ()  # the globs of `ignore` that the user gave: changes that ignore more repeat them
    left_out: tuple[str, ...] = ()  # the globs of what is not read: changes ignore it, or a layout would read it

    @property
    def shown(self) -> str:
        """The tree as messages and commands name it."""
        return self.url if self.in_archive or not self.above else join(self.url.rstrip("/"), self.above)

    def whole(self, options: Mapping[str, Any], meaning: str) -> Change:
        """Return a change that reads all of SOURCE; `ignore` among the options adds to the user's."""
        if more := (*self.left_out, *options.get("ignore", ())):
            options = {**options, "ignore": (*self.ignored, *more)}
        return Change(meaning, options, sources=(self.url,))

    def tree(self, options: Mapping[str, Any], meaning: str, *, without: tuple[str, ...] = ()) -> Change:
        """Return a change that reads the tree, without some of its folders; in an archive, all of the archive."""
        if self.in_archive:
            globs = tuple(f"/{join(self.above, path)}/" for path in without)
            return self.whole({**options, **_ignoring(globs)}, meaning)
        # Globs that begin at SOURCE begin at the tree then.
        above = f"/{self.above}/" if self.above else "/"
        hidden = (*self.ignored, *self.left_out)
        globs = tuple(f"/{glob.removeprefix(above)}" if glob.startswith(above) else glob for glob in hidden)
        every = (*globs, *(f"/{path}/" for path in without))
        changed = _ignoring(every) if every != self.ignored else {}
        return Change(meaning, {**options, **changed}, sources=(self.shown,))

    def without(self, paths: list[str], meaning: str, *, files: bool = False) -> Change:
        """Return a change that reads all of SOURCE without some folders or files of the tree."""
        end = "" if files else "/"
        return self.whole(_ignoring(tuple(f"/{join(self.above, path)}{end}" for path in paths)), meaning)

    def as_splits(self, splits: Mapping[str, str], meaning: str) -> list[Change]:
        """Return the changes that read folders of the tree as splits; none in an archive."""
        given = dict(self.given)
        if self.in_archive and not all(join(self.above, path) in given for path in splits):
            return []
        places = {path: given.get(join(self.above, path)) or join(self.shown.rstrip("/"), path) for path in splits}
        return [Change(meaning, sources=tuple(f"{splits[path]}={place}" for path, place in places.items()))]

    def inside(self, paths: list[str], meaning: str) -> list[Change]:
        """Return the changes that read files or folders of the tree; none in an archive."""
        if self.in_archive:
            return []
        return [Change(meaning, sources=(join(self.shown.rstrip("/"), path),)) for path in paths]


def place_of(opening: Opening) -> SourcePlace:
    """Return the place of SOURCE itself."""
    return SourcePlace(
        opening.url,
        in_archive=opening.is_in_archive,
        given=opening.given,
        ignored=opening.options.ignore,
        left_out=opening.left_out,
    )


def _ignoring(globs: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    return {"ignore": globs} if globs else {}
