"""The tables of pages that are made from the code. To write them again: `python tests/generated_tables.py`.

A table stands between two comments, and is a function of TABLES:

    <!-- generated: NAME -->
    | … |
    <!-- end -->
"""

import inspect
import re
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
_TABLE = re.compile(r"(?<=^<!-- generated: )(?P<name>[\w-]+)( -->\n)(?P<text>.*?)(?=^<!-- end -->$)", re.MULTILINE | re.DOTALL)


def reader_arguments():
    """The arguments of `reader.make_dataset_fn`, with the first sentence about each."""
    from shardkit import reader

    return table_of_arguments(reader.make_dataset_fn, "Args", without={"dataset", "split"})


def reader_images():
    """The arguments of `reader.Images`."""
    from shardkit import reader

    return table_of_arguments(reader.Images, "Attributes")


TABLES = {"reader-arguments": reader_arguments, "reader-images": reader_images}


def table_of_arguments(of, section, without=()):
    """A row for each argument of a function or a class: name, first sentence of its docstring, default."""
    said = described(inspect.getdoc(of), section)
    parameters = inspect.signature(of).parameters.values()
    rows = [(f"`{one.name}`", said[one.name], default_of(one)) for one in parameters if one.name not in without]
    return "".join(f"| {' | '.join(row)} |\n" for row in [("argument", "meaning", "default"), ("---",) * 3, *rows])


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
