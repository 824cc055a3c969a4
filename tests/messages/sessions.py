"""Run the sessions of the catalogue of messages: calls as a user makes them, each with the message that it gives.

A page of the catalogue is Markdown. Each fenced block of it is one session, which runs in a folder of its own that
holds

- ``photos``: class folders of 6, 4 and 2 small pictures,
- ``OUT``: their dataset, with the splits train and test of two shards each.

A line ``$ shardkit …`` is a call on the command line. ``>>> …`` is a statement of Python, with the names of `NAMES`,
`reader` and `tf`; its further lines begin with ``... ``. Below is what the user reads: the error and the exit code, or
the class and the text of the exception; nothing if the call succeeds. ``/data`` is the path of the session's folder.

    python -m tests.messages.sessions            write the present messages into all pages
    python -m tests.messages.sessions reader.md  write them into one page

Review what the command changed with `git diff`: each line is a sentence that users read.
"""

import ast
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner

import shardkit
from shardkit import testing
from shardkit.cli import main

from ..cli.calling import call, own_logging

PAGES = Path(__file__).parent
FOLDER = "/data"  # how the session's folder is written
_BLOCK = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CALL = re.compile(r"^(?:\$ .*|>>> .*(?:\n\.\.\. .*)*)$", re.MULTILINE)
# Without those that load TensorFlow.
NAMES = {"shardkit": shardkit, "Path": Path, **{name: getattr(testing, name) for name in testing.__all__}}


class Session(NamedTuple):
    """One block of a page.

    Attributes:
        title: The page and the heading above the block.
        text: The block without its fences.
        start: Offset of the text in the page.
    """

    title: str
    text: str
    start: int


def sessions(page: Path) -> Iterator[Session]:
    """Yield the sessions of a page."""
    text = page.read_text(encoding="utf-8")
    for block in _BLOCK.finditer(text):
        headings = re.findall(r"^#+ (.*)$", text[: block.start()], re.MULTILINE)
        yield Session(f"{page.stem}: {headings[-1]}", block[1], block.start(1))


def make_template(folder: Path) -> None:
    """Write the files that each session starts with."""
    testing.write_class_folders(folder / "photos", {"ant": 6, "bee": 4, "cat": 2})
    options = ["--splits", "train=0.75,test=0.25", "--split-by", "stratified", "--shards", "2"]
    result = call("convert", folder / "photos", folder / "OUT", *options)
    assert result.exit_code == 0, result.output


def rendered(session: Session, template: Path, folder: Path) -> str:
    """Return the session with the messages that its calls give now.

    Args:
        session: The session.
        template: What `make_template` wrote.
        folder: An empty folder for this session.
    """
    shutil.copytree(template, folder, dirs_exist_ok=True)
    names: dict[str, Any] = dict(NAMES)
    if "reader." in session.text:
        import tensorflow as tf

        from shardkit import reader

        names |= {"reader": reader, "tf": tf}
    lines: list[str] = []
    before = os.getcwd()
    os.chdir(folder)
    try:
        for one in _CALL.finditer(session.text):
            said = _command(one[0][2:]) if one[0].startswith("$") else _statement(one[0], names)
            lines += [one[0], *said.replace(os.path.realpath(folder), FOLDER).splitlines()]
    finally:
        os.chdir(before)
    return "\n".join(lines) + "\n"


def _command(line: str) -> str:
    program, *arguments = shlex.split(line)
    assert program == "shardkit", line
    with own_logging():
        result = CliRunner().invoke(main, arguments, prog_name=program)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if not result.exit_code:
        return ""
    # What the command says before it fails, such as the layout that it found, is no part of the message.
    start = re.search(r"^(?:Usage|Error): ", result.stderr, re.MULTILINE)
    message = result.stderr[start.start() :] if start else result.output
    return f"{message}[exit code {result.exit_code}]"


def _statement(text: str, names: dict[str, Any]) -> str:
    source = re.sub(r"^(?:>>>|\.\.\.) ", "", text, flags=re.MULTILINE)
    try:
        exec(compile(ast.parse(source), "session", "exec"), names)  # noqa: S102 - the session of our own page
    except Exception as error:  # noqa: BLE001 - it is what the page shows
        return f"{type(error).__name__}: {error}"
    return ""


def update(page: Path, template: Path) -> None:
    """Write the present messages into a page."""
    text = page.read_text(encoding="utf-8")
    for session in reversed([*sessions(page)]):
        with tempfile.TemporaryDirectory() as folder:
            found = rendered(session, template, Path(folder))
        text = text[: session.start] + found + text[session.start + len(session.text) :]
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        make_template(Path(made))
        for name in sys.argv[1:] or sorted(page.name for page in PAGES.glob("*.md")):
            update(PAGES / name, Path(made))
