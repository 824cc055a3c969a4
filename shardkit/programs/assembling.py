"""Make one program of modules: imports first, then one block of numbers, then the functions in the order of their use.

The modules are real: they import each other, and linters and type checkers read them. An import of another part is
replaced by the part itself.
"""

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

PACKAGE = "shardkit.programs"  # an import from here is of another part


@dataclass
class _Parts:
    """What has been collected of the modules.

    Attributes:
        imports: Lines of imports.
        numbers: Lines of constants, with their comments.
        functions: Everything else, a text for each module.
        seen: Names of modules.
    """

    imports: set[str] = field(default_factory=set)
    numbers: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)


def assemble(module: str, heading: str, values: Mapping[str, Any], instead: Mapping[str, str]) -> str:
    """Return the text of a program.

    Args:
        module: The module with `main`, below `shardkit.programs`, such as ``with_keras.training``.
        heading: First paragraphs of the program's docstring; the module's own docstring has the others.
        values: New values of constants, by name.
        instead: The module to take instead of another one, for modules that are alternatives.

    Raises:
        KeyError: A value is of a constant that the program does not have.
    """
    parts = _Parts()
    _collect(module, values, instead, parts)
    text = "\n".join(parts.numbers)
    if missing := [name for name in values if f"{name} = " not in text and f"{name}: " not in text]:
        raise KeyError(missing)
    usage = (ast.get_docstring(ast.parse(_source(module))) or "").partition("\n\n")[2]
    docstring = f'"""{heading}\n\n{usage}\n"""'
    blocks = [docstring, _import_block(parts.imports), text]
    return "\n\n".join(blocks) + "\n\n\n" + "\n\n\n".join(parts.functions) + "\n"


def _collect(module: str, values: Mapping[str, Any], instead: Mapping[str, str], parts: _Parts) -> None:
    module = instead.get(module, module)
    if module in parts.seen:
        return
    parts.seen.add(module)
    source = _source(module)
    lines = source.splitlines()
    rest = list[str]()
    for node, start, stop in _statements(source):
        text = "\n".join(lines[start:stop])
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{PACKAGE}."):
            _collect((node.module or "").removeprefix(f"{PACKAGE}."), values, instead, parts)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            parts.imports.add(text)
        elif (name := _constant(node)) == "__all__":
            continue  # it lets linters see what a part passes on from another one
        elif name is not None:
            parts.numbers.append(_with_value(text, node, values[name]) if name in values else text)
        elif not _is_docstring(node):
            rest += [*_blank_lines(lines, start, rest), text]
    if body := "\n".join(rest).strip("\n"):
        parts.functions.append(body)


def _source(module: str) -> str:
    return files(PACKAGE).joinpath(module.replace(".", "/") + ".py").read_text("utf-8")


def _statements(source: str) -> Iterator[tuple[ast.stmt, int, int]]:
    """Yield the statements of a module with their lines as [start, stop); comments belong to what follows them."""
    before = 0
    lines = source.splitlines()
    for node in ast.parse(source).body:
        start = before
        while not lines[start].strip():
            start += 1
        before = node.end_lineno or node.lineno
        yield node, start, before


def _constant(node: ast.stmt) -> str | None:
    """Return the name of a constant that has a literal value; None for any other statement."""
    if isinstance(node, ast.AnnAssign):
        target: ast.expr | None = node.target
    else:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
    if not isinstance(target, ast.Name) or node.value is None:  # type: ignore[attr-defined] # both have one
        return None
    try:
        ast.literal_eval(node.value)  # type: ignore[attr-defined]
    except ValueError:
        return None
    return target.id


def _with_value(text: str, node: ast.stmt, value: Any) -> str:
    """Return a line of a constant, which has its comment behind it, with another value."""
    old: ast.expr = node.value  # type: ignore[attr-defined]
    return text[: old.col_offset] + literal(value) + text[old.end_col_offset :]


def literal(value: Any) -> str:
    """Return a Python literal, of texts in double quotes."""
    if isinstance(value, str):
        text = repr(value)
        return f'"{text[1:-1]}"' if text[0] == "'" and '"' not in text else text
    return repr(value)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _blank_lines(lines: list[str], start: int, before: list[str]) -> list[str]:
    """Return the blank lines in front of a statement."""
    count = 0
    while start - count > 0 and not lines[start - count - 1].strip():
        count += 1
    return [""] * count if before else []


def _import_block(imports: set[str]) -> str:
    """Return imports in the order of PEP 8: the standard library, then other libraries."""
    groups: list[list[str]] = [[], []]
    for line in imports:
        name = line.split()[1].partition(".")[0]
        groups[0 if name in sys.stdlib_module_names else 1].append(line)
    texts = ["\n".join(sorted(group, key=lambda line: (line.startswith("from"), line.split()[1]))) for group in groups]
    return "\n\n".join(filter(None, texts))
