"""What becomes of a folder: read right at once, after a command that shardkit prints, or refused."""

import os
import shlex
import shutil
from dataclasses import dataclass

from shardkit.testing import write_tree

from ..cli.calling import call
from .judging import mistakes


@dataclass(frozen=True)
class Reading:
    """How a folder was read.

    Attributes:
        outcome: "right", "advised", "refused", or "wrong".
        said: What shardkit printed.
        wrong: What a conversion that ended with exit code 0 has wrong; by its command, each.
    """

    outcome: str
    said: str
    wrong: dict[str, list[str]]


def read(tree, root):
    """Convert a tree as somebody would, then by each command that is printed until one reads it right."""
    write_tree(root / "source", tree.files)
    given = [_place(root / "source", source) for source in tree.sources]
    output = str(root / "OUT")
    first = call("convert", *given, output)
    if first.exit_code == 0:
        wrong = list(mistakes(tree, output))
        said = f"{first.stderr}\n{first.stdout}"
        return Reading("wrong", said, {"convert": wrong}) if wrong else Reading("right", said, {})
    wrong = {}
    for command in commands(first.stderr):
        shutil.rmtree(output, ignore_errors=True)
        again = call(*command)
        if again.exit_code == 0:
            wrong[shlex.join(command)] = list(mistakes(tree, output)) if os.path.exists(output) else ["no OUT"]
            if not wrong[shlex.join(command)]:
                return Reading("advised", first.stderr, wrong)
        else:
            wrong[shlex.join(command)] = [f"exit code {again.exit_code}: {again.stderr}"]
    return Reading("refused", first.stderr, wrong)


def commands(stderr):
    """The words of the commands that a refusal printed, without the program."""
    lines = [line for line in stderr.splitlines() if line.startswith("  shardkit ")]
    return [shlex.split(line, comments=True)[1:] for line in lines]


def _place(root, source):
    split, equals, path = source.rpartition("=")
    return f"{split}{equals}{root / path if path else root}"
