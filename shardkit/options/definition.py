"""Define what an option is, and the groups that hold the values of options.

An option is a field of a frozen dataclass, with an `Option` as its descriptor: it reads what the user gives into the
value that the program works with. Everything else is made from it too: the click options, the arguments of the Python
functions, the options in a manifest, the text of a command, and the table of the page.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar, get_args, overload

from shardkit.errors import UnknownArgumentError
from shardkit.options.forms import ClassNames, Form, Several, Switch
from shardkit.spelling import closest

if TYPE_CHECKING:
    from typing_extensions import Self

Heading = Literal["Source", "Reading", "Splits", "Shards", "Images", "Run"]
Rule = Literal["fixed", "changeable"]
HEADINGS: Final[tuple[Heading, ...]] = ("Source", "Reading", "Splits", "Shards", "Images", "Run")
Given = TypeVar("Given")
Value = TypeVar("Value")


@dataclass(eq=False)
class Option(Generic[Given, Value]):
    """One option of a conversion: what users give, and what it is read as."""

    # What it means: phrases without a final full stop where they are short. `` `fit=pad` `` is an option with its
    # value, which is printed as a flag or as a keyword.
    help: str
    _: KW_ONLY
    heading: Heading | None = None  # the section of the help and of the page; that of its group by default
    form: Form = Form()  # noqa: RUF009 - frozen
    default: Any = None  # value if nothing is given, and for rules: if the source is no dataset
    default_text: str | None = None  # what the help says about the default in place of the value, such as ``detected``
    flag: str = ""  # ``--max-side``; that of its name by default
    other_flags: tuple[str, ...] = ()  # other spellings of the flag
    off_flag: str | None = None  # the flag of False, ``--keep-metadata``; None if False is only the default
    metavar: str | None = None  # placeholder of its value in the help; None for choices and switches
    json_name: str | None = None  # its key in the options of a manifest, if it is there; that of a rule is its name
    changes_bytes: bool = True  # whether it can change the bytes that are written
    # Whether a dataset's later life keeps it: ``fixed`` if appended images have to follow it, ``changeable`` if an
    # append may give another one. None if it is no rule. That of its group by default.
    rule: Rule | None = None
    is_common: bool = False  # whether most people need it; the short help shows these
    commands: tuple[str, ...] = ("convert", "plan", "append")  # those that have it
    name: str = field(init=False, default="")  # in Python and in messages, such as ``max_side``: that of the field
    group: str = field(init=False, default="")  # the argument of the functions that holds it, or "": ``stored``
    group_class: str = field(init=False, default="")  # name of the group's class: ``Stored``

    @overload
    def __get__(self, group: None, owner: type) -> Given: ...
    @overload
    def __get__(self, group: "Group", owner: type) -> Value: ...
    def __get__(self, group: "Group | None", owner: type) -> Any:
        """Return the value in a group. None is the default of its constructor: nothing is given."""
        return None if group is None else vars(group)[self.name]

    def __set__(self, group: "Group", given: Given | None) -> None:
        """Read what is given; only the constructor of a group, which is frozen, calls it."""
        values = vars(group)
        values[self.name] = self.default if given is None else self.form.read(self.name, given)
        if given is not None:
            values["given_options"] = group.given_options | {self.name}

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


OPTIONS: dict[str, Option[Any, Any]] = {}
"""Every option by name, in the order of the definitions."""
GROUPS: dict[str, type] = {}
"""The class of each argument of the Python functions that holds several options, such as ``stored``."""


class Group:
    """Values of several options, each of which is read and checked alone: others may be those of a dataset.

    A subclass names the argument of the Python functions that holds it; without one, its options are arguments
    themselves. Its heading and rule are those of its options that name no others. `given_options` has the names of
    those that were given: the others are defaults, in whose place the rules of a dataset count. None is the same as not
    given; ``"none"`` is what overrules a rule.
    """

    given_options: frozenset[str] = frozenset()

    def __init_subclass__(cls, argument: str = "", heading: Heading | None = None, rule: Rule | None = None) -> None:
        options = {name: one for name, one in vars(cls).items() if isinstance(one, Option)}
        for name, one in options.items():
            one.name, one.group, one.group_class = name, argument, cls.__name__ if argument else ""
            one.heading, one.rule = one.heading or heading, one.rule or rule
            one.flag = one.flag or "--" + name.replace("_", "-")
            one.json_name = one.json_name or (name if one.rule else None)
            cls.__annotations__[name] = get_args(cls.__annotations__[name])[0] | None  # what the constructor takes
        OPTIONS.update(options)
        if argument:
            GROUPS[argument] = cls
        if options:
            cls.__doc__ = f"{cls.__doc__}\n\nAttributes:\n" + "\n".join(f"    {one}: {meaning(one)}" for one in options)

    def __new__(cls, *args: Any, **kwargs: Any) -> "Self":
        """Suggest names for unknown arguments, before the constructor of the dataclass refuses them."""
        del args
        refuse_unknown(cls.__name__, kwargs, [one.name for one in fields(cls)])  # type: ignore[arg-type]
        return object.__new__(cls)

    def given_values(self) -> dict[str, Any]:
        """Return the values of the options that were given, by name."""
        return {one: getattr(self, one) for one in OPTIONS if one in self.given_options}


def written_options() -> dict[str, Option[Any, Any]]:
    """Return the options that a manifest has, by their names there."""
    return {one.json_name: one for one in OPTIONS.values() if one.json_name is not None}


def refuse_unknown(called: str, given: Mapping[str, Any], known: list[str]) -> None:
    """Refuse arguments that a function or a group does not have.

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
