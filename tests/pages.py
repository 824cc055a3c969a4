"""The pages of the checkout, all Markdown below its folders, and the fenced blocks that are printed on them.

A comment before a block says how it is tested:

    <!-- run: NAME -->              run: python by tests/reader/test_readme_snippets.py, the others by
                                    tests/cli/test_readme_commands.py, of the first page by tests/cli/test_first_page.py
    <!-- run: NAME, workers=2 -->   run in two processes, each with its TF_CONFIG
    <!-- the test command -->       run by .ci/run, word for word
    <!-- in .ci/run -->             run by .ci/run, line by line
    <!-- torch and grain: NAME -->  run by tests/records/test_torch_and_grain.py, which is slow: needs both packages
    <!-- job: NAME -->             run by tests/programs/test_jobs.py, with stand-ins for the cluster's commands
    <!-- reading -->                made from a case of tests/sources/engine, which lists it
    <!-- options -->                not run: the options are parsed by Beam
    <!-- benchmark -->              not run: the scripts must be there and have these options
"""

import re
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).parent.parent
FOLDERS = ("shardkit", "pipelines", "tests", "sample_data")
PAGES = [
    CHECKOUT / "README.md",
    *sorted(page for name in FOLDERS for page in (CHECKOUT / name).rglob("*.md")),
]
_BLOCK = re.compile(
    r"(?:^<!-- (?P<marker>[^\n]*) -->\n)?^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Block:
    """A fenced block: its page, what the comment before it says, its language and its text."""

    page: str
    marker: str
    language: str
    code: str

    @property
    def name(self):
        """What follows `run:`; empty for blocks that are not run."""
        return self.marker.removeprefix("run: ").split(",")[0] if self.marker.startswith("run: ") else ""

    @property
    def num_workers(self):
        """The number of processes that run it."""
        return int(self.marker.rpartition("workers=")[2]) if "workers=" in self.marker else 1


def name_of(page):
    """A page's path from the checkout."""
    return page.relative_to(CHECKOUT).as_posix()


BLOCKS = [
    Block(name_of(page), found["marker"] or "", found["language"], found["code"])
    for page in PAGES
    for found in _BLOCK.finditer(page.read_text(encoding="utf-8"))
]


def runnable(*languages):
    """The blocks of some languages that are run, by name."""
    return {block.name: block for block in BLOCKS if block.language in languages and block.name}


def marked_with(prefix):
    """The blocks whose marker begins with a prefix, by what follows it: `torch and grain: ` or `job: `."""
    return {block.marker.removeprefix(prefix): block for block in BLOCKS if block.marker.startswith(prefix)}


def marked(marker):
    """The lines of all blocks with a marker; comments are left out."""
    blocks = [block for block in BLOCKS if block.marker == marker]
    return [line for block in blocks for one in block.code.splitlines() if (line := one.partition(" #")[0].strip())]


def plain(page):
    """A page's text without its fenced blocks."""
    return _BLOCK.sub("", page.read_text(encoding="utf-8"))
