"""Split the text of a condition into tokens, and quote it in errors; the package describes the syntax."""

import re
from typing import NamedTuple

from shardkit.errors import CallError
from shardkit.options.words import message_style, named

MAX_LENGTH = 100_000  # characters
_SHOWN = 200  # characters of a condition in a message

_KEYWORDS = {"and", "or", "not", "in", "between", "like", "is", "null", "true", "false"}
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
      | (?P<text>'(?:[^']|'')*')
      | (?P<word>[A-Za-z_]\w*)
      | (?P<sign><>|<=|>=|==|!=|[=<>()+\-*/,])
    )""",
    re.VERBOSE,
)
_REMEDIES = {"'": "the text has no closing quote", '"': "text takes single quotes"}


class Token(NamedTuple):
    """A token of a condition.

    Attributes:
        kind: "number", "text", "word", "keyword", "sign" or "end".
        text: Characters of the token; a keyword in lower case.
        start: Position in the condition, from 0.
    """

    kind: str
    text: str
    start: int


def tokenize(condition: str) -> list[Token]:
    """Return the tokens of a condition; the last one is its end.

    Raises:
        CallError: The condition is empty or too long, or has a character that begins no token.
    """
    if not condition.strip():
        raise unreadable_condition(condition, "it is empty", "leave `where` out to read everything")
    if len(condition) > MAX_LENGTH:
        msg = f"where has {len(condition):,} characters, at most {MAX_LENGTH:,} are allowed; select by a column instead"
        raise CallError(msg)
    tokens, start, end = [], 0, len(condition.rstrip())
    while start < end:
        match = _TOKEN.match(condition, start)
        if match is None:
            start += len(condition[start:]) - len(condition[start:].lstrip())
            found = condition[start]
            problem = f"unexpected {found} at character {start + 1}"
            raise unreadable_condition(condition, problem, _REMEDIES.get(found, "remove it"))
        kind = group = str(match.lastgroup)
        text = match[group]
        if kind == "word" and text.lower() in _KEYWORDS:
            kind, text = "keyword", text.lower()
        tokens.append(Token(kind, text, match.start(group)))
        start = match.end()
    return [*tokens, Token("end", "", end)]


def unreadable_condition(condition: str, problem: str, remedy: str) -> CallError:
    """Return the error for a condition that cannot be parsed."""
    return CallError(f"{as_option(condition)} cannot be read: {problem}; {remedy}")


def as_option(condition: str) -> str:
    """Return a condition for a message, as the option or the field that it was given by; a long one is cut."""
    text = condition if len(condition) <= _SHOWN else f"{condition[:_SHOWN]}…"
    return f"the condition “{text}”" if message_style() == "page" else named("where", text)
