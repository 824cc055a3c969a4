"""Account for the files of a source: which ones need no fact, and which ones nothing explains."""

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from shardkit.errors import DataError
from shardkit.naming import counted, first_of, printable
from shardkit.options.words import named
from shardkit.sources.claim import Use, UsedFile
from shardkit.sources.filtered_folder import IgnoreGlob
from shardkit.sources.readings.values import Annotation, Reading, files_of
from shardkit.sources.walking import ending, files_below, is_image, join, parent_of
from shardkit.storage import Folder

UNEXPLAINED = "not explained: "  # begins the phrase that counts such files by folder and ending
_SHOWN = 5  # paths in the message
_PROSE_ENDINGS = frozenset(
    {
        *(".md", ".rst", ".pdf", ".html", ".htm", ".doc", ".docx", ".rtf", ".bib", ".tex"),
        *(".py", ".ipynb", ".sh", ".bat", ".m", ".r", ".js", ".css", ".c", ".h", ".cpp", ".java"),
        *(".log", ".toml", ".cfg", ".ini", ".lock", ".gitignore", ".url", ".lnk", ".torrent"),
        *(".pt", ".pth", ".h5", ".hdf5", ".ckpt", ".onnx", ".pb", ".tflite", ".keras", ".safetensors", ".weights"),
        *(".md5", ".sha1", ".sha256", ".db", ".cache"),
        *(".crdownload", ".download", ".opdownload", ".part", ".partial", ".tmp"),  # unfinished downloads
    }
)
_PROSE_STEMS = ("readme", "license", "licence", "copying", "citation", "changelog", "authors", "notice", "requirements")
# Next to an image of the same stem: what it was developed from, and notes of programs.
_SIDECARS = frozenset(
    {".xmp", ".aae", ".thm", ".cr2", ".cr3", ".nef", ".arw", ".dng", ".raf", ".orf", ".rw2", ".psd", ".xcf", ".mov"}
)


class Accounting:
    """What needs no fact in a source."""

    def __init__(self, used: Sequence[str], above: str = "") -> None:
        self.used = tuple(used)  # globs of the files that facts come from
        self._used = [IgnoreGlob(f"/{one.lstrip('/')}") for one in used]
        self._above = above

    def explains(self, path: str) -> bool:
        name = posixpath.basename(path).lower()
        kind = ending(name)
        is_prose = kind in _PROSE_ENDINGS or name.startswith(_PROSE_STEMS)
        return is_prose or kind in _SIDECARS or self.is_used(path)

    def is_used(self, path: str) -> bool:
        whole = join(self._above, path)
        return any(glob.matches(whole) for glob in self._used)

    def count(self, path: str, skipped: dict[str, int]) -> None:
        if not self.explains(path):
            phrase = f"{UNEXPLAINED}{printable(join(self._above, parent_of(path))) or '.'}/*{ending(path)}"
            skipped[phrase] = skipped.get(phrase, 0) + 1


def check_accounts(tree: Folder, root: str, accounting: Accounting, skipped: Mapping[str, int]) -> None:
    """Check that every file is explained."""
    counts = {
        phrase.removeprefix(UNEXPLAINED): count for phrase, count in skipped.items() if phrase.startswith(UNEXPLAINED)
    }
    if not counts:
        return
    kinds = [f"{glob} ({count:,})" for glob, count in sorted(counts.items(), key=lambda one: -one[1])]
    examples = [printable(path) for path in islice(unexplained(tree, root, accounting), _SHOWN)]
    # A glob that hides a file of the reading, too, is no advice: then the files are named.
    read = {f"{parent_of(one) or '.'}/*{ending(one)}" for one in accounting.used}
    left_out = [*sorted(counts)[:_SHOWN]] if read.isdisjoint(counts) else examples
    globs = tuple(f"/{glob.removeprefix('./')}" for glob in left_out)
    msg = (
        f"{tree.url}: the reading does not explain {counted(sum(counts.values()), 'file')}: "
        f"{first_of(kinds, _SHOWN)}; such as {', '.join(examples)}; name the fact that they give, or leave them out "
        f"with {named('ignore', globs)}"
    )
    raise DataError(msg)


def unexplained(tree: Folder, root: str, accounting: Accounting) -> Iterator[str]:
    """Yield the files that are neither examples nor explained by their names."""
    for path, entry in files_below(tree, ""):
        is_example = is_image(entry.name) and (not root or path.startswith(f"{root}/"))
        if not is_example and not accounting.explains(path):
            yield path


def files_and_uses(reading: Reading, masks: Iterable[str], used: Iterable[str]) -> tuple[UsedFile, ...]:
    """Return what each file of a reading is for: globs of masks, and those of the files that other facts come from."""
    uses: dict[str, Use] = {}
    of_facts: dict[str, Use] = {"split": "splits", "group": "groups", "mask": "class names"}
    # Files of labels may give all other facts, too, and the names of their classes.
    for name, origin in sorted(reading.facts(), key=lambda fact: fact[0] not in {"label", "boxes", "mask"}):
        if isinstance(origin, Annotation):
            uses[origin.names] = "class names"
        for path in files_of(origin):
            uses.setdefault(path, of_facts.get(name, "features" if name.startswith("features.") else "labels"))
    names = reading.label.names if reading.label else ""
    return (
        *(UsedFile(path, "masks") for path in masks),
        *(UsedFile(path, uses.get(path, "class names" if path == names else "labels")) for path in used),
    )
