"""Find classes whose files are called or written unlike those of all others: unsorted images, drawings, references.

In a folder of classes the files come from one camera, program or person. A folder beside them whose files do not, such
as ``da_vedere/WhatsApp Image 3.jpeg`` beside ``bolla/IMG_1.jpg``, is seldom a class, whatever language it is named in.
"""

import itertools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from shardkit.sources.walking import ending

_MAX_FILES = 20  # of a class that are looked at
_BETWEEN_WORDS = re.compile(r"[\W_]+")
_NUMBER = re.compile("[a-f]*[0-9][0-9a-f]*")  # also in hexadecimal digits
_NUMBER_BEFORE = re.compile(r"^[0-9]+[\W_]+")  # 001.Albatross
END = re.compile(r"[_-](?=[^/]*[^\W\d_])(?=[^/]*\Z)")  # begins an end of a name that has a letter
_ENDINGS = {".jpeg": ".jpg", ".tiff": ".tif"}


def unlike_in_files(labels: Sequence[str | None], paths: Sequence[str]) -> list[str]:
    """Return the few classes none of whose files has a form that most others share."""
    names = defaultdict[str, list[str]](list)
    for label, path in zip(labels, paths, strict=True):
        if label is not None and len(names[label]) < _MAX_FILES:
            names[label].append(path.rpartition("/")[2])
    forms = {label: {*itertools.chain(*(_forms(name, label) for name in some))} for label, some in names.items()}
    counts = Counter(itertools.chain(*forms.values()))
    usual = {form: num for form, num in counts.items() if num > 1 and 2 * num >= len(forms) - 1}

    def is_odd(own: set[str]) -> bool:
        of_others = {form: num - (form in own) for form, num in usual.items()}
        shared = {form for form, num in of_others.items() if num > 1 and 2 * num >= len(forms) - 1}
        return bool(shared) and own.isdisjoint(shared)

    odd = [label for label, own in forms.items() if len(names[label]) > 1 and is_odd(own)]
    return sorted(odd) if len(odd) <= max(1, len(forms) // 3) else []


def views_of(paths: Iterable[str]) -> list[str]:
    """Return the ends of names under which most files are there: _nir and _rgb for 12_nir.png and 12_rgb.png."""
    ends = defaultdict[str, set[str]](set)
    stems = {path.rpartition(".")[0] for path in paths}
    for stem in stems:
        end = max((one.start() for one in END.finditer(stem)), default=0)
        if end and not any(map(str.isdigit, stem[end:])):
            ends[stem[:end]].add(stem[end:])
    alike = Counter(frozenset(some) for some in ends.values() if len(some) > 1)
    views, num = alike.most_common(1)[0] if alike else (frozenset[str](), 0)
    return sorted(views) if num * len(views) * 2 > len(stems) and num > len(views) else []


def _forms(name: str, label: str) -> Iterator[str]:
    """Yield a file's name without its numbers, as it is and without the name of its class."""
    kind = ending(name)
    words = _words(name[: len(name) - len(kind)])
    folder = _words(_NUMBER_BEFORE.sub("", label))
    kind = _ENDINGS.get(kind, kind)
    yield _NUMBER.sub("0", words) + kind
    for own in (folder, folder.replace(" ", "")) if len(folder) > 1 else ():
        if own in words:
            yield _NUMBER.sub("0", words.replace(own, "=", 1)) + kind
    if len(folder) == 1:
        own = rf"(?<![^\W\d]){re.escape(folder)}(?![^\W\d])"
        yield _NUMBER.sub("0", re.sub(own, "=", words, count=1)) + kind


def _words(name: str) -> str:
    return _BETWEEN_WORDS.sub(" ", unicodedata.normalize("NFC", name).casefold()).strip()
