"""Define what an option is, and the groups that hold the values of options.

An option is a field of a frozen dataclass. All there is to know about it is in the metadata of the field, an `Option`,
from which everything else is made: the click options, the arguments of the Python functions and their checks, the
options in a manifest, the text of a command, and the table of the page.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal, TypeVar

from shardkit.errors import UnknownArgumentError
from shardkit.options.forms import ClassNames, Form, Several, Switch
from shardkit.spelling import closest

Heading = Literal["Source", "Reading", "Splits", "Shards", "Images", "Run"]
Rule = Literal["fixed", "changeable"]
HEADINGS: Final[tuple[Heading, ...]] = ("Source", "Reading", "Splits", "Shards", "Images", "Run")
_METADATA = "option"
_Group = TypeVar("_Group", bound=type)


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a conversion.

    Attributes:
        name: Its name in Python and in messages, such as ``max_side``.
        help: What it means: phrases without a final full stop where they are short. `` `fit=pad` `` is an option with
            its value; who prints the text writes it as a flag or as a keyword.
        heading: The section of the help and of the page.
        form: Notation of its values.
        default: Value if nothing is given, and for rules: if the source is no dataset.
        default_text: What the help says about the default in place of the value, such as ``detected``.
        flag: Its flag: ``--max-side``.
        other_flags: Other spellings of the flag.
        off_flag: The flag of False, ``--keep-metadata``; None if False is only the default.
        metavar: Placeholder of its value in the help; None for choices and switches.
        json_name: Its key in the options of a manifest; None if it is not there.
        changes_bytes: Whether it can change the bytes that are written.
        rule: Whether a dataset's later life keeps it: ``fixed`` if appended images have to follow it, ``changeable`` if
            an append may give another one. None if it is no rule.
        is_common: Whether most people need it; the short help shows these.
        commands: The commands that have it, of convert, plan and append.
        group: The argument of the Python functions that holds it: ``stored``. "" if it is an argument itself.
        group_class: Name of the group's class: ``Stored``.
    """

    name: str
    help: str
    heading: Heading
    form: Form
    default: Any
    default_text: str | None
    flag: str
    other_flags: tuple[str, ...]
    off_flag: str | None
    metavar: str | None
    json_name: str | None
    changes_bytes: bool
    rule: Rule | None
    is_common: bool
    commands: tuple[str, ...]
    group: str = ""
    group_class: str = ""

    @property
    def shown_default(self) -> str:
        """What a help text and a page say about its default; '' if there is nothing to say."""
        if self.default_text is not None:
            return self.default_text
        is_nothing = self.default is None or self.default is False or self.default == ()
        return "" if is_nothing else self.form.text(self.default)

    @property
    def is_repeatable(self) -> bool:
        """Whether it may be given several times on a command line."""
        return isinstance(self.form, Several) and not isinstance(self.form, ClassNames)

    @property
    def is_switch(self) -> bool:
        """Whether its flag takes no value."""
        return isinstance(self.form, Switch)


OPTIONS: dict[str, Option] = {}
"""Every option by name, in the order of the definitions."""
GROUPS: dict[str, type] = {}
"""The class of each argument of the Python functions that holds several options, such as ``stored``."""


def option(
    help_text: str,
    *,
    heading: Heading,
    form: Form = Form(),  # noqa: B008 - frozen
    default_text: str | None = None,
    flag: str | None = None,
    other_flags: tuple[str, ...] = (),
    off_flag: str | None = None,
    metavar: str | None = None,
    json_name: str | None = None,
    changes_bytes: bool = True,
    rule: Rule | None = None,
    is_common: bool = False,
    commands: tuple[str, ...] = ("convert", "plan", "append"),
) -> Mapping[str, Any]:
    """Return the metadata of a field that is an option; see `Option`."""
    made = Option(
        name="",
        help=help_text,
        heading=heading,
        form=form,
        default=None,
        default_text=default_text,
        flag=flag or "",
        other_flags=other_flags,
        off_flag=off_flag,
        metavar=metavar,
        json_name=json_name,
        changes_bytes=changes_bytes,
        rule=rule,
        is_common=is_common,
        commands=commands,
    )
    return {_METADATA: made}


class Group:
    """Values of several options, which are read and checked on construction.

    `given_options` has the names of those that were given: the others are defaults, in whose place the rules of a
    dataset count. None is the same as not given; ``"none"`` is what overrules a rule.
    """

    given_options: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for one in fields(self):  # type: ignore[arg-type]  # subclasses are dataclasses
            defined, value = OPTIONS.get(one.name), getattr(self, one.name)
            if defined is None:
                continue
            read = defined.default if value is None else defined.form.read(one.name, value)
            object.__setattr__(self, one.name, read)

    def given_values(self) -> dict[str, Any]:
        """Return the values of the options that were given, by name."""
        return {one: getattr(self, one) for one in OPTIONS if one in self.given_options}


def written_options() -> dict[str, Option]:
    """Return the options that a manifest has, by their names there and in ConvertOptions."""
    return {one.json_name: one for one in OPTIONS.values() if one.json_name is not None}


def group(argument: str = "") -> Callable[[_Group], _Group]:
    """Return a decorator that enters the fields of a dataclass as options, and suggests names for misspelt ones.

    Args:
        argument: The argument of the Python functions that holds the group; "" if its options are arguments themselves.
    """

    def decorate(made: _Group) -> _Group:
        names = [one.name for one in fields(made)]
        for one in fields(made):
            described: Option = one.metadata[_METADATA]
            OPTIONS[one.name] = replace(
                described,
                name=one.name,
                default=one.default,
                flag=described.flag or "--" + one.name.replace("_", "-"),
                json_name=described.json_name or (one.name if described.rule else None),
                group=argument,
                group_class=made.__name__ if argument else "",
            )
        if argument:
            GROUPS[argument] = made
        made.__doc__ = f"{made.__doc__}\n\nAttributes:\n" + "\n".join(f"    {name}: {meaning(name)}" for name in names)
        plain: Any = vars(made)["__init__"]

        @functools.wraps(plain)
        def construct(self: Any, *args: Any, **kwargs: Any) -> None:
            refuse_unknown(made.__name__, kwargs, names)
            given = {**dict(zip(names, args, strict=False)), **kwargs}
            object.__setattr__(self, "given_options", frozenset(name for name in given if given[name] is not None))
            plain(self, *args, **kwargs)

        setattr(made, "__init__", construct)  # noqa: B010 - mypy refuses the plain assignment to a class
        return made

    return decorate


def refuse_unknown(called: str, given: Mapping[str, Any], known: list[str]) -> None:
    """Refuse arguments that a function or a group does not have.

    Args:
        called: Its name.
        given: The arguments by name.
        known: The arguments that it has.

    Raises:
        UnknownArgumentError: One is unknown; the message says where it belongs, or suggests another one.
    """
    for name in given:
        if name in known:
            continue
        found = f"{called}() has no argument {name!r}"
        words = [*known, *(one for one, defined in OPTIONS.items() if defined.group or defined.name in known)]
        for word in (name, closest(name, words) or name):
            if word in known:
                raise UnknownArgumentError(f"{found}; did you mean {word!r}?")
            if word in words:
                defined = OPTIONS[word]
                raise UnknownArgumentError(f"{found}; write {defined.group}={defined.group_class}({word}=...)")
        raise UnknownArgumentError(f"{found}; it takes {', '.join(known)}")


def meaning(name: str) -> str:
    """Return what an option means, with its default, as in a docstring."""
    defined = OPTIONS[name]
    return f"{defined.help}; {defined.shown_default} by default." if defined.shown_default else f"{defined.help}."
