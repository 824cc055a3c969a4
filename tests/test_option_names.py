"""Messages name options by `named`, so that users of Python read keywords and not flags."""

import ast
import re
from pathlib import Path

import click

import shardkit
from shardkit.cli.main import main

ROOT = Path(shardkit.__file__).parent
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*(?![\w-])")


def flags_of(command):
    """Yield the flags of a command and of those below it."""
    for one in getattr(command, "params", []):
        yield from (*one.opts, *one.secondary_opts)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from flags_of(command.get_command(context, name))


def texts(tree):
    """Yield the line and the text of every string that is not a docstring."""
    docstrings = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
    for one in ast.walk(tree):
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and id(one) not in docstrings:
            yield one.lineno, one.value


def test_no_text_outside_of_the_command_line_has_a_flag():
    flags = set(flags_of(main)) - {"--help", "--version"}
    found = []
    for file in sorted(ROOT.rglob("*.py")):
        path = file.relative_to(ROOT).as_posix()
        if path.startswith(("__main__.py", "cli/", "options/", "programs/")):  # printed programs have own flags
            continue
        for line, text in texts(ast.parse(file.read_text())):
            found += [f"{path}:{line}: {flag}" for flag in FLAG.findall(text) if flag in flags]
    assert not found, "\n".join(found)
