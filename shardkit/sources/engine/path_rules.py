"""How the image paths of a label file become keys."""

import posixpath
import re
from dataclasses import dataclass

from shardkit.naming import IMAGE_ENDINGS, relative_path_problem
from shardkit.reject_reasons import BAD_PATH
from shardkit.sources.formats.format import encodable
from shardkit.sources.listing import BadRecord
from shardkit.sources.walking import ending

MAX_PATH = 4096  # characters: Linux's PATH_MAX
_START = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")  # of a URL, or a drive letter
# Paths that are keys already, found without a loop over their characters in Python.
_PLAIN = re.compile(r"(?!\.{1,2}(?:/|\Z))[A-Za-z0-9_.-]+(?:/(?!\.{1,2}(?:/|\Z))[A-Za-z0-9_.-]+)*")
_SHOWN = 100  # characters of a bad path


@dataclass(frozen=True, slots=True)
class PathRule:
    """How the image paths of a label file become keys."""

    place: str  # folder that the paths start at, below the source's folder
    num_dropped: int = 0  # number of leading folders of each path that do not exist here
    ending: str = ""  # ending to add to names without one; '' to add none
    by_name: bool = False  # whether images are in several folders below and are found by their names; see `NameIndex`

    def key(self, text: object) -> str:
        if self.num_dropped == 0 and isinstance(text, str) and len(text) <= MAX_PATH and _PLAIN.fullmatch(text):
            name = f"{self.place}/{text}" if self.place else text
            has_ending = not self.ending or ("." in text and ending(text) in IMAGE_ENDINGS)
            return name if has_ending else name + self.ending
        if not isinstance(text, str) or not text.strip():
            msg = "the path of the image is missing"
            raise BadRecord(BAD_PATH, msg)
        parts = path_parts(text)
        parts = parts[min(self.num_dropped, len(parts) - 1) :] if parts else []
        path = posixpath.normpath("/".join([*([self.place] if self.place else []), *parts]))
        if self.ending and ending(path) not in IMAGE_ENDINGS:
            path += self.ending
        problem = "it is too long" if len(text) > MAX_PATH else relative_path_problem(path)
        if not problem and encodable(path) != path:
            problem = "it is not Unicode"
        if problem:
            msg = f"the path {text[:_SHOWN]!r} may not be followed: {problem}; write it relative to the image folder"
            raise BadRecord(BAD_PATH, msg)
        return path

    def without_folders(self, text: str) -> str:
        """Return a path without its first folders, if it has some that are dropped."""
        return "/".join(path_parts(text)[self.num_dropped :]) or text if self.num_dropped else text

    def remark(self) -> str:
        if self.by_name:
            return ", found by their names in the folders below"
        if self.num_dropped:
            if self.num_dropped == MAX_PATH:
                return ", paths without their folders"
            return f", paths without their first {self.num_dropped} {'folders' if self.num_dropped > 1 else 'folder'}"
        return f", names with {self.ending} added" if self.ending else ""


def path_parts(text: str) -> list[str]:
    """Return the parts of a path or URL, without drive letter, scheme and empty parts."""
    text = _START.sub("", text.strip().replace("\\", "/"), count=1)
    return [part for part in text.split("/") if part not in {"", "."}]
