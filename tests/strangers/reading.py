"""What becomes of a folder: read right at once, after a command that shardkit prints, or refused."""

import os
import shlex
import shutil
from dataclasses import dataclass

from shardkit.testing import write_tree

from ..cli.calling import call
from .judging import defects, mistakes


@dataclass(frozen=True)
class Reading:
    """How a folder was read.

    Attributes:
        outcome: "right", "advised", "refused", or "wrong".
        said: What shardkit printed.
        wrong: What a conversion that ended with exit code 0 has wrong; by its command, each.
        meanings: What the printed commands say that they do.
    """

    outcome: str
    said: str
    wrong: dict[str, list[str]]
    meanings: dict[str, str]

    @property
    def number(self):
        """The number of the first printed command that is right, from 1; 0 for none."""
        return next((number for number, wrong in enumerate(self.wrong.values(), 1) if not wrong), 0)

    def losses(self, tree):
        """What printed commands mix or lose of a tree, with each command."""
        return [
            (command, what)
            for command, wrong in self.wrong.items()
            for what in defects(command, self.meanings.get(command, ""), wrong, tree)
        ]


def read(tree, root):
    """Convert a tree as somebody would, then by each command that is printed."""
    write_tree(root / "source", tree.files)
    given = [placed(root / "source", source) for source in tree.sources]
    output = str(root / "OUT")
    first = call("convert", *given, output)
    if first.exit_code == 0:
        wrong = list(mistakes(tree, output))
        said = f"{first.stderr}\n{first.stdout}"
        return Reading("wrong", said, {"convert": wrong}, {}) if wrong else Reading("right", said, {}, {})
    wrong = {}
    meanings = {}
    for command, meaning in printed(first.stderr):
        meanings[shlex.join(command)] = meaning
        shutil.rmtree(output, ignore_errors=True)
        again = call(*command)
        if again.exit_code == 0:
            wrong[shlex.join(command)] = list(mistakes(tree, output)) if os.path.exists(output) else ["no OUT"]
        else:
            wrong[shlex.join(command)] = [f"exit code {again.exit_code}: {again.stderr}"]
    return Reading("refused" if all(wrong.values()) else "advised", first.stderr, wrong, meanings)


def printed(stderr):
    """The words of the commands that a refusal printed, without the program, and the comments on them."""
    for line in stderr.splitlines():
        if line.startswith("  shardkit "):
            yield shlex.split(line, comments=True)[1:], line.rpartition("  # ")[2]


def placed(root, source):
    """The argument of the command line for a source of a tree below a folder."""
    split, equals, path = source.rpartition("=")
    return f"{split}{equals}{root / path if path else root}"
