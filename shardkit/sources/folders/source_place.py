"""Where a tree is in the source, for the commands of a refusal."""

from dataclasses import dataclass

from shardkit.sources.commands import Command
from shardkit.sources.walking import join


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A tree in the source.

    Attributes:
        url: SOURCE as the user gave it.
        above: Path of the tree below SOURCE, or below the top of the archive; '' if it is SOURCE itself.
        in_archive: Whether SOURCE is an archive, so that no folder in it can be SOURCE.
        ignored: The globs of `ignore` that the user gave: every command repeats them.
    """

    url: str
    above: str = ""
    in_archive: bool = False
    ignored: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """The tree as messages and commands name it."""
        return self.url if self.in_archive or not self.above else join(self.url.rstrip("/"), self.above)

    def whole(self, options: tuple[str, ...], meaning: str) -> Command:
        """Return a command that reads all of SOURCE."""
        return Command(self.url, (*_ignoring(self.ignored), *options), meaning)

    def tree(self, options: tuple[str, ...], meaning: str, *, without: tuple[str, ...] = ()) -> Command:
        """Return a command that reads the tree, without some of its folders; in an archive, all of the archive."""
        if self.in_archive:
            globs = tuple(f"/{join(self.above, path)}/" for path in without)
            return self.whole((*options, *_ignoring(globs)), meaning)
        # Globs that begin at SOURCE begin at the tree then.
        above = f"/{self.above}/" if self.above else "/"
        globs = tuple(f"/{glob.removeprefix(above)}" if glob.startswith(above) else glob for glob in self.ignored)
        return Command(
            self.shown, (*_ignoring(globs), *options, *_ignoring(tuple(f"/{path}/" for path in without))), meaning
        )

    def without(self, paths: list[str], meaning: str, *, files: bool = False) -> Command:
        """Return a command that reads all of SOURCE without some folders or files of the tree."""
        end = "" if files else "/"
        return self.whole(_ignoring(tuple(f"/{join(self.above, path)}{end}" for path in paths)), meaning)

    def inside(self, paths: list[str], meaning: str) -> list[Command]:
        """Return the commands that read files or folders of the tree; none in an archive."""
        if self.in_archive:
            return []
        return [Command(join(self.shown.rstrip("/"), path), (), meaning) for path in paths]


def _ignoring(globs: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for glob in globs for word in ("--ignore", glob))
