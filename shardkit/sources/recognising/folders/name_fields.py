"""Find words and fields in file names: cat in ``cat.0.jpg``; age, gender and race in ``25_0_2_20170116174525125.jpg``.

Each field may be the label. Only the user knows which one, so a refusal has a pattern for each that repeats.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

# Usual names whose first words may be the class, tried in this order.
_GUESSES = (
    r"^([A-Za-z][A-Za-z_-]*)\.[0-9]+\.",
    r"^(.+?)[ _-]*\([0-9]+\)\.",
    r"^(.+[^_])_{2,}[0-9]+\.",
    r"^(.+?)(?:_[0-9]+){2,}\.",
    r"^(.+?)[ ._-]+(?:19|20)[0-9]{2}[-_.]?[01][0-9][-_.]?[0-3][0-9](?![0-9])",
    r"^(.+)_[0-9]+\.",
    r"^(.+)-[0-9]+\.",
    r"^([^0-9]*[^0-9 ._-])[ ._-]*[0-9]+\.",
    r"^[0-9]+[ ._-]+([^0-9]+)\.",
    r"^([^0-9.]+)\.[^.]+$",
)
_CAMERAS = frozenset({"dsc", "dscn", "frame", "image", "img", "photo", "pic", "picture", "pxl", "scan", "screenshot"})
_SEPARATORS = "_-@ ,"  # none of them has a meaning in a regular expression
_MIN_IMAGES = 2  # of each class on average: other fields are numbers or dates of single images
_MIN_FITTING = 0.95  # share of names with the same number of fields: in UTKFace three of 23,708 lack one


@dataclass(frozen=True, slots=True)
class NameField:
    """A field that all names have."""

    number: int  # its place in the names, from 1
    pattern: str  # the regular expression that finds it in a name with the same number of fields, and in no other


@dataclass(frozen=True, slots=True)
class NameForm:
    """How names are divided into fields."""

    separator: str  # what is between fields
    num_fields: int  # their number

    def fits(self, name: str) -> bool:
        """Return whether a name has as many fields."""
        return name.count(self.separator) + 1 == self.num_fields

    def repeating_fields(self, names: Sequence[str]) -> list[NameField]:
        """Return the fields whose values repeat as classes do, in the order of the names."""
        fields = [NameField(number, self.pattern(number)) for number in range(1, self.num_fields + 1)]
        return [field for field in fields if _repeats(field, names)]

    def pattern(self, number: int) -> str:
        """Return the regular expression that finds a field in a name, by its number from 1."""
        other = f"[^{self.separator}]"
        parts = [f"{other}*"] * self.num_fields
        # The last field ends before the file's ending, or several of them: ``.jpg.chip.jpg``.
        is_last = number == self.num_fields
        parts[number - 1] = f"([^{self.separator}.]+)\\.{other}*" if is_last else f"({other}+)"
        return f"^{self.separator.join(parts)}$"


def form_of(names: Sequence[str]) -> NameForm | None:
    """Return how names are divided into fields, the same in nearly all of them; None if they are not.

    Of several separators the one that gives the most fields counts.
    """
    found = []
    for separator in _SEPARATORS:
        numbers = Counter(name.count(separator) + 1 for name in names)
        number, fitting = numbers.most_common(1)[0] if numbers else (1, 0)
        if number > 1 and fitting >= _MIN_FITTING * len(names):
            found.append(NameForm(separator, number))
    return max(found, key=lambda form: form.num_fields, default=None)


def _repeats(field: NameField, names: Sequence[str]) -> bool:
    found = [match[1] for name in names if (match := re.search(field.pattern, name))]
    return len(found) == len(names) and 1 < len(set(found)) <= len(names) / _MIN_IMAGES


def guess_pattern(names: Sequence[str]) -> str | None:
    """Return a pattern for ``label_pattern`` by which all names have a label and labels repeat; None for none."""
    for pattern in _GUESSES:
        found = [match[1].lower() for name in names if (match := re.search(pattern, name))]
        kinds = set(found)
        if len(found) == len(names) and 1 < len(kinds) <= len(names) / _MIN_IMAGES and not _CAMERAS & kinds:
            return pattern
    return None
