"""Hide the files and folders of a source that `ignore` names, whatever the layout reads it.

The globs are those of .gitignore, without negation.

    thumbs              a file or folder of that name at any depth
    *.webp              files of that ending at any depth
    test1/              a folder of that name at any depth
    /test1, raw/old     with a '/' that is not the last character: a path that begins at SOURCE
    **/cache/*.png      '**' is any number of folders, '*' and '?' stay within one name, [ab] is one of these

A glob that matches a folder matches everything in it. Upper and lower case differ.
"""

import re
from dataclasses import dataclass, field
from functools import cached_property

from shardkit.errors import CallError
from shardkit.naming import printable
from shardkit.options.words import named
from shardkit.storage import Entry, WrappedFolder


@dataclass(frozen=True)
class IgnoreGlob:
    """One glob of `ignore`."""

    text: str
    _pattern: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_pattern", _translate(self.text))

    @cached_property
    def _regex(self) -> "re.Pattern[str]":
        return re.compile(self._pattern, re.DOTALL)

    def matches(self, path: str) -> bool:
        return self._regex.fullmatch(path) is not None

    def matches_folder(self, path: str) -> bool:
        """Return whether everything in the folder at a path, relative to SOURCE, is left out."""
        return self._regex.fullmatch(f"{path}/") is not None


def _translate(text: str) -> str:
    """Return the regular expression of a glob; it is matched with paths of files, and of folders with a final '/'."""
    glob = text.removeprefix("./")
    if not glob.strip("/") or glob.startswith("!"):
        msg = (
            f"{named('ignore', text)} is not a glob; give a name such as 'test1/', an ending such as '*.webp', or "
            "a path"
        )
        raise CallError(msg)
    is_anchored = "/" in glob.rstrip("/")
    only_folders = glob.endswith("/")
    parts = glob.strip("/").split("/")
    made = "" if is_anchored else "(?:.*/)?"
    for i, part in enumerate(parts):
        if part == "**":
            made += ".*" if i == len(parts) - 1 else "(?:.*/)?"
        else:
            made += _translate_name(part, text) + ("/" if i < len(parts) - 1 else "")
    return made + ("/.*" if only_folders else "(?:/.*)?")


def _translate_name(name: str, glob: str) -> str:
    made, at = "", 0
    while at < len(name):
        char = name[at]
        at += 1
        if char == "*":
            made += "[^/]*"
        elif char == "?":
            made += "[^/]"
        elif char == "[" and (end := name.find("]", at + 1)) > 0:
            inside = name[at:end].replace("\\", "\\\\").replace("[", "\\[")
            negated = inside.startswith("!")
            made += f"[{'^' if negated else ''}{inside[negated:]}]"
            at = end + 1
        else:
            made += re.escape(char)
    try:
        re.compile(made)
    except re.error as error:
        msg = f"{named('ignore', printable(glob))}: {printable(name)!r} is not a glob: {error.msg}; correct it"
        raise CallError(msg) from error
    return made


@dataclass(frozen=True, slots=True)
class FilteredFolder(WrappedFolder):
    """A folder of a source without the files that globs match.

    Layouts decide by the names that they see how a tree is read. So hiding comes before every layout, as if the files
    had been moved away; a filter of the listed images could not tell that the only other folder is to be ignored.
    """

    globs: tuple[IgnoreGlob, ...]
    above: str = ""  # path of the folder below SOURCE, where globs begin; '' if it is SOURCE

    def hiding_glob(self, path: str, *, is_folder: bool = False) -> IgnoreGlob | None:
        """Return the first glob that hides a file, or a whole folder; None if none does."""
        full = f"{self.above}/{path}" if self.above and path else path or self.above
        return next((one for one in self.globs if (one.matches_folder if is_folder else one.matches)(full)), None)

    def scan(self, path: str = "") -> list[Entry]:
        prefix = f"{path}/" if path else ""
        entries = self.inner.scan(path)
        return [one for one in entries if self.hiding_glob(prefix + one.name, is_folder=one.is_folder) is None]

    def stat(self, path: str) -> Entry | None:
        found = self.inner.stat(path)
        if found is None or (path and self.hiding_glob(path, is_folder=found.is_folder)):
            return None
        return found
