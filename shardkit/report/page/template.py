"""Fill in the template, state the content security policy, and save the page."""

import base64
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shardkit.report.advice.warning import Advice
from shardkit.report.page.class_table import ClassTable
from shardkit.report.page.parts import Section
from shardkit.software import __version__
from shardkit.storage.open_files import whole_file

if TYPE_CHECKING:
    from jinja2 import Environment

# In the list of sections at the top.
_SHORT_TITLES = {
    "conflicts": "Wrong labels?",
    "jpegs": "Storage",
    "leaks": "Leaks",
    "made": "Origin",
    "rejected": "Rejected",
    "sizes": "Sizes",
}
_OPTION = re.compile(r"(--[a-z][a-z-]*[a-z])")
_LEVELS = {"problem": "Problem", "check": "Check", "speed": "Speed"}


def render(
    *,
    title: str,
    kicker: str,
    place: str,
    tiles: Sequence[tuple[str, str, str]],
    sections: Sequence[Section],
    advice: Sequence[Advice] | None = None,
    table: ClassTable | None = None,
) -> str:
    """Return the HTML of a page.

    Args:
        title: Its heading.
        kicker: What kind of page it is.
        place: What it is about: a path or URL.
        tiles: The figures at the top: number, name, detail.
        sections: Its sections. Those of sentences only are listed below the warnings.
        advice: Its warnings; None for a page without any.
        table: The table of classes; None for none.
    """
    from markupsafe import Markup

    environment = _environment()
    style, script = (_source(environment, name) for name in ("report.css", "report.js"))
    shown = [section for section in sections if not section.is_bare]
    return environment.get_template("report.html").render(
        title=title,
        kicker=kicker,
        place=place,
        policy=_policy(style, script),
        style=Markup(style),  # noqa: S704 - a file of this package
        script=Markup(script),  # noqa: S704 - a file of this package
        tiles=tiles,
        advice=advice,
        levels=_LEVELS,
        nothing_found=[sentence for section in sections if section.is_bare for sentence in section.intro],
        sections=shown,
        links=_SHORT_TITLES,
        section_ids={section.id for section in shown},
        table=table,
        table_json=Markup(table.json) if table else "",  # noqa: S704 - see class_table: it has no "<"
        version=__version__,
    )


def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup, escape

    def marked(text: str) -> Markup:
        """Mark options such as splits, so that no line breaks inside them."""
        parts = [escape(part) for part in _OPTION.split(text)]
        parts[1::2] = [Markup("<code>{}</code>").format(part) for part in parts[1::2]]
        return Markup("").join(parts)

    made = Environment(
        loader=PackageLoader("shardkit.report.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["marked"] = marked
    return made


def _source(environment: "Environment", name: str) -> str:
    """Return a file of the templates' folder as it is."""
    loader = environment.loader
    if loader is None:
        raise AssertionError
    return loader.get_source(environment, name)[0]


def _policy(style: str, script: str) -> str:
    """Return a content security policy that allows nothing but this style, this script and embedded pictures."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    return (
        f"default-src 'none'; img-src data:; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )


def save_page(page: str, path: Path) -> None:
    """Write a page under a temporary name until it is whole.

    Raises:
        MachineError: The file cannot be written.
    """
    with whole_file(path, "the page") as temporary:
        temporary.write_text(page, encoding="utf-8", errors="backslashreplace", newline="\n")
