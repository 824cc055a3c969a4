"""The command ``shardkit help [PAGE]``: print a page of the documentation, which is installed with shardkit."""

import posixpath
import re
import sys
from pathlib import Path
from typing import ClassVar

import click

from shardkit.errors import CallError
from shardkit.spelling import closest

_PACKAGE = Path(__file__).parent.parent
_LINK = re.compile(r"(!?)\[([^\]]+)\]\(([^)\s]+)\)")
_MAX_COLUMNS = 120


@click.command("help")
@click.argument("page", required=False)
def help(page: str | None) -> None:  # noqa: A001 - the command's name
    """Print a page of the documentation; without PAGE, list the pages.

    A terminal shows the page in its pager; a pipe gets Markdown.
    """
    pages = _pages()
    if page is None:
        click.echo(_contents(pages))
        return
    text = _readable(pages[_found(page, pages)], pages)
    if sys.stdout.isatty():
        click.echo_via_pager(_rendered(text))
    else:
        click.echo(text)


def _pages() -> dict[str, Path]:
    """Return the pages by their names: `sources` is sources/README.md, `sources/layouts` is sources/layouts.md."""
    files = sorted(_PACKAGE.glob("*/*.md"), key=lambda file: (file.parent.name, file.name != "README.md", file.name))
    pages = {
        file.parent.name if file.name == "README.md" else f"{file.parent.name}/{file.stem}": file for file in files
    }
    return pages | {"map": _PACKAGE / "README.md"}  # last: it is for people who change shardkit


def _contents(pages: dict[str, Path]) -> str:
    rows = [(name, file.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")) for name, file in pages.items()]
    width = max(map(len, pages))
    lines = [f"  {name:<{width}}  {title}" for name, title in rows]
    return "\n".join(["Print a page with `shardkit help PAGE`, the options of a command with --help.", "", *lines])


def _found(page: str, pages: dict[str, Path]) -> str:
    """Return the name of the page that was asked for; its folder may be left out if only one page has the name.

    Raises:
        CallError: There is no such page, or there are several.
    """
    name = page.strip("/").removesuffix(".md").removesuffix("/README")
    if name in pages:
        return name
    same = [full for full in pages if full.rpartition("/")[2] == name]
    if len(same) == 1:
        return same[0]
    from shardkit.cli.main import main

    if same:
        hint = f"choose {' or '.join(same)}"
    elif name in main.list_commands(click.get_current_context()):
        hint = f"`shardkit {name} --help` describes the command"
    elif close := closest(name, {full.rpartition("/")[2]: full for full in pages}) or closest(name, pages):
        hint = f"did you mean {next(full for full in pages if close in (full, full.rpartition('/')[2]))}?"
    else:
        hint = f"the pages are {', '.join(pages)}"
    msg = f"there is no page {page!r}; {hint}" if not same else f"there are several pages {page!r}; {hint}"
    raise CallError(msg)


def _readable(file: Path, pages: dict[str, Path]) -> str:
    """Return a page's Markdown with commands for its links to other pages, and without pictures and comments."""
    # The last two parts of a path are enough, and `pipelines` is outside of this package in a checkout.
    names = {f"{path.parent.name}/{path.name}": name for name, path in pages.items()}

    def command(link: re.Match[str]) -> str:
        is_picture, text, target = link.groups()
        if is_picture or ":" in target:
            return "" if is_picture else link[0]
        path = posixpath.normpath(posixpath.join(file.parent.name, target.partition("#")[0]))
        name = names.get("/".join(path.split("/")[-2:]))
        if target.startswith("#") or name is None:
            return text
        return f"`shardkit help {name}`" if text == name.rpartition("/")[2] else f"{text} (`shardkit help {name}`)"

    text = re.sub(r"^<!--.*-->\n", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", _LINK.sub(command, text)).rstrip()


def _rendered(text: str) -> str:
    """Return Markdown as plain text for a terminal, which every pager shows."""
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.markdown import Heading, Markdown, TableElement
    from rich.table import Table
    from rich.text import Text

    from shardkit.cli.progress import displays

    class PlainHeading(Heading):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            heading = self.text.plain
            yield Text(f"\n{heading}\n{('═' if self.tag == 'h1' else '─') * len(heading)}")

    class WholeTable(TableElement):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            for made in super().__rich_console__(console, options):
                if isinstance(made, Table):
                    for column in made.columns:
                        column.overflow = "fold"  # long paths are divided, not cut
                yield made

    class PlainMarkdown(Markdown):
        elements: ClassVar = {**Markdown.elements, "heading_open": PlainHeading, "table_open": WholeTable}

    console = Console(width=min(displays.width(), _MAX_COLUMNS), color_system=None)
    with console.capture() as captured:
        console.print(PlainMarkdown(text, hyperlinks=False))
    return "\n".join(line.rstrip() for line in captured.get().split("\n")).strip("\n")
