"""Map the numbers of labels to names of classes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from shardkit.errors import CallError, DataError
from shardkit.naming import counted, printable
from shardkit.options.words import named

NO_LABEL_NUMBER = -1  # TFDS's test sets, and words outside of TensorFlow Transform's vocabulary
_IMAGENET_CLASSES = 1000


@dataclass(frozen=True, slots=True)
class LabelNames:
    """Names of consecutive numbers."""

    names: tuple[str, ...]
    first: int  # number of the first one
    origin: str  # where they come from, for messages, such as "label.labels.txt"

    def describe(self) -> str:
        """Return one line for the user, with the first and the last number and their names."""
        last = self.first + len(self.names) - 1
        ends = f"{self.first} is {printable(self.names[0])!r}"
        if last > self.first:
            ends += f", {last} is {printable(self.names[-1])!r}"
        return f"{counted(len(self.names), 'name')} from {self.origin}: {ends}"

    def name_of(self, number: int, where: str) -> str:
        """Return the name of a number; DataError: it has none.

        A number without a name fails the conversion: it is a sign that all names are off by one, or that the list is
        that of another dataset. Rejecting its records would keep the others, with wrong names.
        """
        at = number - self.first
        if 0 <= at < len(self.names):
            return self.names[at]
        last = self.first + len(self.names) - 1
        of = f"{self.first} to {last}" if last > self.first else f"only {self.first}"
        msg = f"{where} has the label {number}, and {self.origin} names {of}"
        if number == last + 1 and self.first == 0:
            remedy = (
                "add the name that is missing; if the labels count from 1, put a line for 0 above the first name (a "
                f"class without images). {named('classes')} takes the list"
            )
        else:
            remedy = f"give the list of these records with {named('classes')}, or leave it out to keep the numbers"
        raise DataError(f"{msg}; {remedy}")


_NUMBERED = re.compile(r"(?P<number>[0-9]+):(?P<name>.*\S)\s*")


def numbered_names(lines: Sequence[str], origin: str) -> LabelNames | None:
    """Return the names in lines such as "0:daisy"; None if there are other lines, or numbers are left out.

    Source: tensorflow/models, research/slim/datasets/dataset_utils.py, write_label_file.
    """
    matches = [_NUMBERED.fullmatch(line) for line in lines]
    found = [(int(match["number"]), match["name"]) for match in matches if match]
    if not found or len(found) < len(lines) or len({name for _, name in found}) < len(found):
        return None
    first = found[0][0]
    is_consecutive = [number for number, _ in found] == list(range(first, first + len(found)))
    return LabelNames(tuple(name for _, name in found), first, origin) if is_consecutive else None


def lines_as_names(classes: Sequence[str], first_line: int) -> LabelNames:
    """Return the names that the lines of `classes` give to numbers; CallError: two lines are equal.

    The first line stands for 1 in the layouts of tensorflow/models, where 0 is the background. A list of 1,001 lines
    for ImageNet has the background in it.
    """
    names = tuple(classes)
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        first, second = [i + 1 for i, name in enumerate(names) if name == twice][:2]
        msg = (
            f"{named('classes')}: lines {first} and {second} are both {printable(twice)!r}, and they name different "
            "numbers; give each number a name of its own"
        )
        raise CallError(msg)
    first = 0 if len(names) == _IMAGENET_CLASSES + 1 else first_line
    return LabelNames(names, first, named("classes"))
