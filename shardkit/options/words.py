"""Name options in messages as the user writes them: flags on the command line, keywords in Python.

A message is made far below the place where it is printed, so the way of writing is a setting of the process, as the
language is in gettext: Python's, unless the command line is running. The page of `shardkit view` writes options as the
command line does, but quotes what was typed into its fields as text, not for a shell.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from shardkit.naming import printable

if TYPE_CHECKING:
    from shardkit.options.definition import Option

Style = Literal["command", "page", "python"]

_QUOTED = re.compile(r"`(\w+)(?:=([^`\s]+))?`")
_style: Style = "python"


@contextmanager
def written_as(style: Style) -> Iterator[None]:
    """Write options in this style; the command line runs inside of it.

    It holds for all threads, because workers' messages are the user's too.
    """
    global _style  # noqa: PLW0603 - see the module
    before, _style = _style, style
    try:
        yield
    finally:
        _style = before


def message_style() -> Style:
    """Return how this process writes options."""
    return _style


def is_command_line() -> bool:
    """Return whether the user reads messages of the command line, or of the page that it serves."""
    return _style != "python"


def named(option: str, *value: Any) -> str:
    """Return an option, with its value if one is given, as the user writes it.

    Args:
        option: Name of the option, such as ``max_side``.
        *value: At most one: its value, or True for an option that is only given or not.

    Returns:
        ``--max-side 256`` on the command line, ``max_side=256`` in Python.
    """
    if not value:
        return option if _style == "python" else flag_of(option)
    return keyword(option, value[0]) if _style == "python" else shlex.join(words_of(option, value[0]))


def defined(option: str) -> "Option[Any, Any] | None":
    """Return the definition of an option of a conversion; None for options that only other commands have."""
    from shardkit.options import groups  # noqa: F401 - defines the options; later, because messages of its modules
    from shardkit.options.definition import OPTIONS  # are made here too

    return OPTIONS.get(option)


def flag_of(option: str) -> str:
    """Return the flag of an option: ``--max-side``."""
    found = defined(option)
    return "--" + option.replace("_", "-") if found is None else found.flag


def words_of(option: str, value: Any) -> tuple[str, ...]:
    """Return an option and its value as words of a command: ``("--max-side", "256")``.

    Args:
        option: Name of the option.
        value: Its value, or text that stands for it. A repeatable option is repeated for each value of a list.
    """
    found, flag = defined(option), flag_of(option)
    if isinstance(value, bool):
        off = None if found is None else found.off_flag
        return (flag,) if value else () if off is None else (off,)
    if found is None or isinstance(value, str):
        return flag, str(value)
    if found.is_repeatable:
        return tuple(word for one in value for word in (flag, str(one)))
    return flag, found.form.text(value)


def keyword(option: str, value: Any) -> str:
    """Return an option and its value as an argument in Python: ``max_side=256``."""
    found = defined(option)
    return f"{option}={value if found is None else found.form.in_python(value)!r}"


def group_of(option: str) -> str | None:
    """Return the argument that holds an option; None if it is an argument itself, or no option."""
    found = defined(option)
    return found.group or None if found else None


def arguments(values: Mapping[str, Any]) -> str:
    """Return options with their values as the arguments of a call in Python, each in its group.

    Args:
        values: Value of each option by name.

    Returns:
        ``seed=1, stored=Stored(resize=256, fit='pad'), splits={'train': 0.8, 'test': 0.2}``.
    """
    of_groups: dict[str, dict[str, Any]] = {}
    for option, value in values.items():
        of_groups.setdefault(group_of(option) or option, {})[option] = value
    written = []
    for argument, members in of_groups.items():
        first = defined(next(iter(members)))
        if first is None or not first.group or list(members) == [argument]:
            written.append(keyword(argument, members[argument]))
            continue
        ordered = [option for option in members if option == argument]  # which stands for the group
        ordered += [option for option in members if option != argument]
        inner = ", ".join(keyword(option, members[option]) for option in ordered)
        written.append(f"{argument}={first.group_class}({inner})")
    return ", ".join(written)


def rewritten(text: str, style: Style) -> str:
    """Return a text with the options that it names in backquotes as flags or as keywords.

    Args:
        text: Text such as ``with `size`, `fit=pad` adds a border``.
        style: Where it is printed.
    """
    with written_as(style):
        return _QUOTED.sub(lambda found: named(found[1], found[2]) if found[2] else named(found[1]), text)


def shown(text: str) -> str:
    """Return a stored text with the options that it names in backquotes as the user writes them.

    The list of rejected images and a manifest are the same on the command line and in Python, so they name an option
    by its name; the code that prints such a text passes it through this function.
    """

    def written(found: re.Match[str]) -> str:
        if defined(found[1]) is None:
            return found[0]
        return named(found[1], found[2]) if found[2] else named(found[1])

    return _QUOTED.sub(written, text)


def convert_again() -> str:
    """Return the remedy for a damaged dataset, as the end of a sentence.

    Without the option, a damaged file of the right size counts as finished.
    """
    return f"convert again with {named('overwrite', True)}"


def shell_command(command: str, *paths: str, **options: Any) -> str:
    """Return a command for a shell, where there is no function in Python or a page shows it: ``shardkit verify OUT``.

    Args:
        command: Its name.
        *paths: Its arguments.
        **options: Its options by name; True for those without a value.
    """
    words = [word for name, value in options.items() for word in words_of(name, value)]
    return printable(shlex.join(["shardkit", command, *paths, *words]))
