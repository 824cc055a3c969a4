"""The tables of pages that are made from the code. To write them again: `python tests/generated_tables.py`.

A table stands between two comments, and is a function of TABLES:

    <!-- generated: NAME -->
    | … |
    <!-- end -->
"""

import inspect
import re
import textwrap
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
MOST_CHOICES = 6  # that are written out
_TABLE = re.compile(
    r"(?<=^<!-- generated: )(?P<name>[\w-]+)( -->\n)(?P<text>.*?)(?=^<!-- end -->$)", re.MULTILINE | re.DOTALL
)


def reader_arguments():
    """The arguments of `reader.make_dataset_fn`, with the first sentence about each."""
    from shardkit import reader

    return table_of_arguments(reader.make_dataset_fn, "Args", without={"dataset", "split"})


def reader_images():
    """The arguments of `reader.Images`."""
    from shardkit import reader

    return table_of_arguments(reader.Images, "Attributes")


def options():
    """The options of a conversion, under their headings."""
    from shardkit.options import groups
    from shardkit.options.definition import HEADINGS, OPTIONS

    assert groups  # defines them
    rows = []
    for heading in HEADINGS:
        rows.append((f"**{heading}**", "", "", ""))
        rows += [
            (f"`{call_of(one)}`", flags_in(one.help).replace("<", r"\<"), shown_default(one), "yes" if one.rule else "")
            for one in OPTIONS.values()
            if one.heading == heading
        ]
    return table(("option", "meaning", "default", "rule"), rows)


def call_of(one):
    """An option as a user writes it, with a placeholder or the choices of its value."""
    choices = getattr(one.form, "choices", ())
    value = one.metavar or ("NAME" if len(choices) > MOST_CHOICES else "|".join(choices))
    return " ".join([one.flag, value.replace("|", r"\|")] if value else [one.flag])


def flags_in(help_text):
    """A text in which options are flags: `` `fit=pad` `` is `--fit pad`."""
    from shardkit.options.words import defined, flag_of

    def flag(found):
        if defined(found[1]) is None:
            return found[0]
        return f"`{flag_of(found[1])}`" if found[2] is None else f"`{flag_of(found[1])} {found[2]}`"

    return re.sub(r"`(\w+)(?:=([^`\s]+))?`", flag, help_text)


def shown_default(one):
    """What the table says about an option's default: values as code, descriptions as text."""
    return one.shown_default if one.default_text or not one.shown_default else f"`{one.shown_default}`"


def layouts():
    """The layouts, in the order of the help."""
    from typing import get_args

    from shardkit.layouts import LAYOUTS, Layout
    from shardkit.options.words import flag_of

    rows = []
    for name in get_args(Layout):
        flags = [flag_of(option) for option in LAYOUTS[name].options if option != "also"]  # an argument
        rows.append(
            (
                f"`{name}`",
                LAYOUTS[name].title,
                flags_in(LAYOUTS[name].reads),
                ", ".join(f"`{flag}`" for flag in flags),
            )
        )
    return table(("`--layout`", "name", "what is read", "options"), rows)


def reasons():
    """The reasons to reject an image."""
    from shardkit.reject_reasons import REJECT_REASONS

    rows = [(f"`{code}`", flags_in(found.removesuffix("."))) for code, found in REJECT_REASONS.items()]
    return table(("reason", "found"), rows)


def known_datasets():
    """The datasets whose readings are shipped."""
    from shardkit.sources.known.finding import shipped

    rows = [(name, what, f"`{command}`") for content in shipped() for name, what, command in content.get("page", ())]
    return table(("dataset", "what is read", "command"), rows)


def reading_examples():
    """The worked examples of readings: the tree, and the reading that says what it means."""
    import yaml

    from shardkit.sources.readings.text import from_data, to_yaml

    parts = []
    text = (CHECKOUT / "tests" / "sources" / "engine" / "examples.yaml").read_text(encoding="utf-8")
    for one in yaml.load(text, yaml.BaseLoader):  # noqa: S506 - it makes texts only
        tree = [*one["images"], *(f"{path}    {shown_lines(text)}" for path, text in one.get("files", {}).items())]
        reading = to_yaml(from_data(one["reading"], "")).replace("version: 1\n", "")
        indented = "".join(f"  {line}\n" for line in reading.splitlines())
        said = "\n".join(textwrap.wrap(f"**{one['name']}.** {one['says']}", 120))
        parts.append(f"{said}\n\n```text\n" + "\n".join(tree) + "\n```\n")
        parts.append(f"<!-- reading -->\n```yaml\nreading:\n{indented}```\n")
    return "\n" + "\n".join(parts) + "\n"


def shown_lines(text):
    """The first lines of a small file, on one line."""
    lines = text.split("\n")[:2]
    return " ⏎ ".join(line for line in lines if line)


TABLES = {
    "known-datasets": known_datasets,
    "layouts": layouts,
    "options": options,
    "reading-examples": reading_examples,
    "reasons": reasons,
    "reader-arguments": reader_arguments,
    "reader-images": reader_images,
}


def table(header, rows):
    """A table in Markdown."""
    lines = (f"| {' | '.join(row)} |\n" for row in [header, ("---",) * len(header), *rows])
    return "".join(re.sub(" {2,}", " ", line) for line in lines)


def table_of_arguments(of, section, without=()):
    """A row for each argument of a function or a class: name, first sentence of its docstring, default."""
    said = described(inspect.getdoc(of), section)
    parameters = inspect.signature(of).parameters.values()
    rows = [(f"`{one.name}`", said[one.name], default_of(one)) for one in parameters if one.name not in without]
    return table(("argument", "meaning", "default"), rows)


def described(docstring, section):
    """The first sentence about each argument in a section of a docstring; by name, without its full stop."""
    text = re.search(rf"^{section}:\n((?:    .*\n|\n)+)", docstring + "\n", re.MULTILINE)[1]
    entries = re.findall(r"^    (\w+): (.*\n(?:        .*\n)*)", text, re.MULTILINE)
    return {name: re.match(r".*?(?=\.(?: [A-Z(\"`{]|$))", " ".join(entry.split()))[0] for name, entry in entries}


def default_of(parameter):
    """What a page says about a default."""
    if parameter.default is inspect.Parameter.empty:
        return "required"
    return "`" + re.sub(r"(\d\.\d{3})\d+", r"\1", repr(parameter.default)).replace("'", '"') + "`"


def written(text):
    """A page's text with all its tables made anew."""
    return _TABLE.sub(lambda found: f"{found['name']}{found[2]}{TABLES[found['name']]()}", text)


def pages_with_tables():
    """The pages that have such tables."""
    pages = (page for folder in ("shardkit", "pipelines") for page in (CHECKOUT / folder).rglob("*.md"))
    return sorted(page for page in pages if _TABLE.search(page.read_text(encoding="utf-8")))


if __name__ == "__main__":
    for page in pages_with_tables():
        page.write_text(written(page.read_text(encoding="utf-8")), encoding="utf-8")
