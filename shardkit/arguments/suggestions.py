"""Suggest the closest valid argument, where Python's TypeError only says that the given one is unexpected."""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin

from shardkit.errors import SignatureError, UnknownArgumentError
from shardkit.spelling import closest

_Callable = TypeVar("_Callable", bound=Callable[..., Any])


def suggest_arguments(
    moved: Mapping[str, str] | None = None, other_words: Mapping[str, str] | None = None, example: str | None = None
) -> Callable[[_Callable], _Callable]:
    """Return a decorator for functions and classes whose error for an unknown argument suggests the closest valid one.

    The signature stays: IDEs complete it and mypy checks calls. The constructor of a class is replaced in place.

    Args:
        moved: Arguments of the function's value objects, and how to write them; see `words_of`.
        other_words: Arguments that do not exist, and what to use instead.
        example: A call, for those that lack an argument or have too many by position; None to let Python answer them.

    Raises:
        UnknownArgumentError: The decorated function is called with an argument that does not exist.
        SignatureError: It is called without a required argument, or with too many by position.
    """

    def decorate(decorated: _Callable) -> _Callable:
        is_class = isinstance(decorated, type)
        inner: Any = vars(decorated)["__init__"] if is_class else decorated
        signature = inspect.signature(inner)
        known = [word for word in signature.parameters if word != "self"]
        named = inspect.Parameter.KEYWORD_ONLY
        by_position = [word for word in known if signature.parameters[word].kind is not named]

        @functools.wraps(inner)
        def call(*args: Any, **kwargs: Any) -> Any:
            for given in kwargs:
                if given not in known:
                    message = _message(decorated.__name__, given, known, moved or {}, other_words or {})
                    raise UnknownArgumentError(message)
            if example is not None:
                try:
                    signature.bind(*args, **kwargs)
                except TypeError as error:
                    problem = str(error)
                    if "too many" in problem:
                        problem = f"takes {_positions(by_position, known)}"
                    raise SignatureError(f"{decorated.__name__}() {problem}; write it as in {example}") from None
            return inner(*args, **kwargs)

        # Without the checks in annotations, for `help` and for IDEs.
        setattr(call, "__signature__", signature.replace(parameters=_plain(signature)))  # noqa: B010 - unknown to mypy
        if not is_class:
            return cast("_Callable", call)
        setattr(decorated, "__init__", call)  # noqa: B010 - mypy refuses the plain assignment to a class
        return decorated

    return decorate


def _plain(signature: inspect.Signature) -> list[inspect.Parameter]:
    return [
        one.replace(annotation=get_args(one.annotation)[0]) if get_origin(one.annotation) is Annotated else one
        for one in signature.parameters.values()
    ]


def words_of(values: Mapping[str, type]) -> dict[str, str]:
    """Return how to write the arguments of value objects: {"flip": "images=reader.Images(flip=...)", ...}.

    Args:
        values: The dataclass of each argument that takes one.
    """
    return {
        field.name: f"{argument}=reader.{kind.__name__}({field.name}=...)"
        for argument, kind in values.items()
        for field in fields(kind)
    }


def _positions(by_position: list[str], known: list[str]) -> str:
    """Return how arguments are given: "split by position, all others by name"."""
    if not known:
        return "no arguments"
    if not by_position:
        return "its arguments by name"
    others = ", all others by name" if len(by_position) < len(known) else ""
    return f"{' and '.join(by_position)} by position{others}"


def _message(
    function: str, given: str, known: list[str], moved: Mapping[str, str], other_words: Mapping[str, str]
) -> str:
    found = f"{function}() has no argument {given!r}"
    if given in other_words:
        return f"{found}: {other_words[given]}"
    for word in (given, closest(given, [*known, *moved]) or given):
        if word in moved:
            return f"{found}; write {moved[word]}"
        if word in known:
            return f"{found}; did you mean {word!r}?"
    return f"{found}; it takes {', '.join(known)}"
