"""The command ``shardkit view DATASET``: a local page to look at a dataset and to correct it."""

import contextlib
import os
from pathlib import Path

import click


@click.command()
@click.argument("dataset")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the page.  [default: a free one]")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="Folder of fixes.csv and drop.txt, which are continued.  [default: the current one]",
)
@click.option(
    "--source-folder", metavar="FOLDER", help="Folder that DATASET was made from, for pictures of rejected files."
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def view(dataset: str, port: int, out: Path, source_folder: str | None, no_browser: bool) -> None:  # noqa: FBT001 - click's flag
    """Open a local page to browse a dataset and to correct it.

    \b
    shardkit view OUT

    The page filters by split, class, condition and size, lists conflicting labels, copies, images unlike their class,
    and rejected files, and writes what you decide to fixes.csv and drop.txt. The command that applies them is shown on
    the page; OUT is not changed. Only this machine can open the page, with the address that is printed. Ctrl-C ends it.
    """  # noqa: D301 - click's mark is the character, not a backslash
    from shardkit.cli.terminal import Terminal
    from shardkit.extras import require_extra

    require_extra("view", "the page")
    from shardkit.dataset.manifest import read_manifest
    from shardkit.options.words import written_as
    from shardkit.records.rejected_pictures import open_source_folder
    from shardkit.view.guard import new_token
    from shardkit.view.server import View
    from shardkit.view.serving import address, has_browser, listen, redirecting_file, serve, way_from_elsewhere

    terminal, token = Terminal(), new_token()
    manifest, source = read_manifest(dataset), open_source_folder(source_folder)
    listening = listen(port)
    out.mkdir(parents=True, exist_ok=True)
    with terminal.phase("reading", None):  # all indexes, if there are decisions to continue
        page = View(manifest, dataset, out, token, source)
    url = address(listening, token)
    terminal.show(url)
    if way := way_from_elsewhere(listening, os.environ):
        terminal.show(f"On your own machine, run this, then open the address there: {way}")
    terminal.say("Ctrl-C ends it.")
    is_opened = not no_browser and has_browser(os.environ)
    with written_as("page"), redirecting_file(out, url) if is_opened else contextlib.nullcontext() as file:

        def signed_in() -> None:
            if file is not None:
                file.unlink(missing_ok=True)

        serve(page.app(signed_in), listening, opened=file)
    if command := page.fixes.command():
        terminal.show("", "To apply what was decided:", f"  {command}")
