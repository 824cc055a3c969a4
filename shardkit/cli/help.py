"""The command ``shardkit help [PAGE | WORD...]``: print or search the documentation that is installed with shardkit."""

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
_LINES_SHOWN, _EXCERPT = 3, 100  # of a page that has what was searched, and characters of a line


@click.command("help")
@click.argument("words", nargs=-1, metavar="[PAGE | WORD...]")
def help(words: tuple[str, ...]) -> None:  # noqa: A001 - the command's name
    """Print a page of the documentation, or find words in all pages; without an argument, list the pages.

    A terminal shows the page in its pager; a pipe gets Markdown.
    """
    pages, asked = _pages(), " ".join(words)
    if not words:
        click.echo(_contents(pages))
    elif name := _found(asked, pages):
        text = _readable(pages[name], pages)
        if sys.stdout.isatty():
            click.echo_via_pager(_rendered(text))
        else:
            click.echo(text)
    else:
        click.echo(_pages_with(asked, pages))


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
    hints = ["Print a page with `shardkit help PAGE`, the options of a command with --help."]
    hints += ["Find words in all pages with `shardkit help WORD`."]
    return "\n".join([*hints, "", *lines])


def _found(page: str, pages: dict[str, Path]) -> str | None:
    """Return the name of the page that was asked for; its folder may be left out if only one page has the name."""
    name = page.strip("/").removesuffix(".md").removesuffix("/README")
    if name in pages:
        return name
    same = [full for full in pages if full.rpartition("/")[2] == name]
    if len(same) > 1:
        raise CallError(f"there are several pages {page!r}; choose {' or '.join(same)}")
    from shardkit.cli.main import main

    if not same and name in main.list_commands(click.get_current_context()):
        raise CallError(f"there is no page {page!r}; `shardkit {name} --help` describes the command")
    return same[0] if same else None


def _pages_with(words: str, pages: dict[str, Path]) -> str:
    """Return the pages that have all words, those with most headings and lines about them first, with some lines."""
    wanted = words.casefold().split()
    found = []
    for name, file in pages.items():
        title, *lines = [line for line in _readable(file, pages).splitlines() if line]
        # The number of the words that a line has; headings come first.
        hits = {line: sum(word in line.casefold() for word in wanted) + line.startswith("#") / 2 for line in lines}
        if all(any(word in line.casefold() for line in [title, *lines]) for word in wanted):
            lines = sorted((line for line in hits if hits[line] >= 1), key=lambda line: -hits[line])
            rank = sum(hits[line] > len(wanted) for line in lines), sum(hits[line] >= len(wanted) for line in lines)
            shown = [f"    {_excerpt(line, wanted)}" for line in lines[:_LINES_SHOWN]]
            found.append((rank, ["", f"{name}: {title.lstrip('# ')}", *shown]))
    if found:
        found.sort(key=lambda one: one[0], reverse=True)
        rows = [row for _, rows in found for row in rows]
        return "\n".join([f"Pages with {words!r}; print one with `shardkit help PAGE`.", *rows])
    names = {full.rpartition("/")[2]: full for full in pages} | {full: full for full in pages}
    close = closest(words, names)
    hint = f"did you mean {names[close]}?" if close else "`shardkit help` lists the pages"
    raise CallError(f"no page has the name or the words {words!r}; {hint}")


def _excerpt(line: str, wanted: list[str]) -> str:
    """Return the part of a line around the first of the words."""
    text = " ".join(line.strip("#|- ").split())
    first = min((place for word in wanted if (place := text.casefold().find(word)) >= 0), default=0)
    start = max(0, min(first - _EXCERPT // 3, len(text) - _EXCERPT))
    return f"{'…' * (start > 0)}{text[start : start + _EXCERPT]}{'…' * (len(text) > start + _EXCERPT)}"


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
