"""Conditions on the columns of one example, written as text: ``label_name in ('cat', 'dog') and height >= 64``.

A condition decides about each row by itself, so every worker selects the same examples whatever shards it reads.
That is why the syntax is small, has no functions and no subqueries, and why no SQL engine evaluates it.

    condition:   condition or condition | condition and condition | not condition | (condition) | comparison
    comparison:  value (= | == | != | <> | < | <= | > | >=) value
                 value [not] in (literal, ...) | literal [not] in column     the second: a column of lists
                 value [not] between value and value | value [not] like 'a%_z' | column is [not] null
    value:       column | number | 'text' | true | false | value (+ | - | * | /) value | -value | (value)

Keywords are not case-sensitive. As in SQL, a comparison with a missing value (null) is neither true nor false, and an
example is selected only if its condition is true.
"""

import re
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.errors import CallError

# Columns of the index that a condition may name.
CONDITION_COLUMNS = (
    "key",
    "label",
    "label_name",
    "labels",
    "height",
    "width",
    "format",
    "group",
    "source_bytes",
    "image_bytes",
    "changes",
)
MAX_LENGTH = 100_000  # characters
MAX_DEPTH = 100  # nested parentheses, below Python's own limit for recursion

_SHOWN = 200  # characters of a condition in a message

_KEYWORDS = {"and", "or", "not", "in", "between", "like", "is", "null", "true", "false"}
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": pc.equal,
    "==": pc.equal,
    "!=": pc.not_equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
      | (?P<text>'(?:[^']|'')*')
      | (?P<word>[A-Za-z_]\w*)
      | (?P<sign><>|<=|>=|==|!=|[=<>()+\-*/,])
    )""",
    re.VERBOSE,
)

_Value = Callable[[pa.Table], Any]  # the values of a table's rows: an array or a scalar


class _Token(NamedTuple):
    kind: str  # number, text, word, keyword, sign or end
    text: str
    start: int


class Condition:
    """A parsed condition.

    Attributes:
        text: The condition as it was written.
        columns: Names of the columns that it reads.
    """

    def __init__(self, text: str) -> None:
        """Parse a condition.

        Args:
            text: The condition; the module's docstring has its syntax.

        Raises:
            CallError: It cannot be parsed; the message shows where, and what was expected.
        """
        self.text = text
        parser = _Parser(text)
        self._evaluate = parser.parse()
        self.columns = frozenset(parser.columns)

    def mask(self, table: pa.Table) -> pa.Array:
        """Evaluate the condition.

        Args:
            table: Rows with at least the columns that the condition reads.

        Returns:
            bool[len(table)] without nulls: True where the condition is true.

        Raises:
            CallError: A value cannot be compared with another one, such as text with a number.
        """
        try:
            found = self._evaluate(table)
        except pa.ArrowException as error:
            msg = f"where={_quoted(self.text)} cannot be evaluated: {str(error).splitlines()[0]}"
            raise CallError(msg) from None
        if not pa.types.is_boolean(found.type):
            msg = f"where={_quoted(self.text)} is a value of type {found.type}, no condition; compare it with something"
            raise CallError(msg)
        if isinstance(found, pa.Scalar):
            found = pa.repeat(found, len(table))
        if isinstance(found, pa.ChunkedArray):
            found = found.combine_chunks()
        return pc.fill_null(found, False)  # noqa: FBT003 - the value to fill in


class _Parser:
    """A recursive descent parser that makes a closure of each part."""

    def __init__(self, text: str) -> None:
        self._text, self.columns = text, set[str]()
        self._depth = 0
        if not text.strip():
            raise self._error("it is empty", "leave `where` out to read everything")
        if len(text) > MAX_LENGTH:
            msg = f"where has {len(text):,} characters, at most {MAX_LENGTH:,} are allowed; select by a column instead"
            raise CallError(msg)
        self._tokens = self._tokenize()
        self._next = 0

    def parse(self) -> _Value:
        condition = self._or()
        if self._peek().kind != "end":
            raise self._expected("'and', 'or' or the end")
        return condition

    def _tokenize(self) -> list[_Token]:
        tokens, start, end = [], 0, len(self._text.rstrip())
        while start < end:
            match = _TOKEN.match(self._text, start)
            if match is None:
                start += len(self._text[start:]) - len(self._text[start:].lstrip())
                found = self._text[start]
                remedy = {
                    "'": "the text has no closing quote",
                    '"': "text takes single quotes",
                }.get(found, "remove it")
                raise self._error(f"unexpected {found} at character {start + 1}", remedy)
            kind = group = str(match.lastgroup)
            text = match[group]
            if kind == "word" and text.lower() in _KEYWORDS:
                kind, text = "keyword", text.lower()
            tokens.append(_Token(kind, text, match.start(group)))
            start = match.end()
        return [*tokens, _Token("end", "", end)]

    def _or(self) -> _Value:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(f"its parentheses are nested more than {MAX_DEPTH} deep", "simplify it")
        parts = [self._and()]
        while self._take("or"):
            parts.append(self._and())
        self._depth -= 1
        return _reduced(pc.or_kleene, parts)

    def _and(self) -> _Value:
        parts = [self._not()]
        while self._take("and"):
            parts.append(self._not())
        return _reduced(pc.and_kleene, parts)

    def _not(self) -> _Value:
        negated = False
        while self._take("not"):
            negated = not negated
        condition = self._comparison()
        return _call(pc.invert, condition) if negated else condition

    def _comparison(self) -> _Value:
        left = self._sum()
        if self._peek().text in _COMPARISONS and self._peek().kind == "sign":
            compare = _COMPARISONS[self._pop().text]
            return self._compare(compare, left, self._sum())
        if self._take("is"):
            negated = self._take("not")
            self._expect("null")
            return _call(pc.is_valid if negated else pc.is_null, left)
        negated = self._take("not")
        if self._take("between"):
            low = self._sum()
            self._expect("and")
            high = self._sum()
            condition = _call(
                pc.and_kleene,
                self._compare(pc.greater_equal, left, low),
                self._compare(pc.less_equal, left, high),
            )
        elif self._take("like"):
            if self._peek().kind != "text":
                raise self._expected("a pattern in single quotes after 'like'")
            pattern = _unquoted(self._pop().text)
            condition = _call(lambda values: pc.match_like(values, pattern), left)
        elif self._take("in"):
            condition = self._in_column(left) if self._peek().kind == "word" else self._in_list(left)
        elif negated:
            raise self._expected("'in', 'between' or 'like' after 'not'")
        else:
            return left
        return _call(pc.invert, condition) if negated else condition

    def _compare(self, compare: Callable[[Any, Any], Any], left: _Value, right: _Value) -> _Value:
        def evaluate(table: pa.Table) -> Any:
            a, b = left(table), right(table)
            for one, other in ((a, b), (b, a)):
                if _is_text(one.type) and not (_is_text(other.type) or pa.types.is_null(other.type)):
                    msg = f"where={_quoted(self._text)} compares text with {_shown(other)}; put text into single quotes"
                    raise CallError(msg)
            return compare(a, b)

        return evaluate

    def _in_list(self, left: _Value) -> _Value:
        self._expect("(")
        choices = [self._sum()]
        while self._take(","):
            choices.append(self._sum())
        self._expect(")")
        return _reduced(pc.or_kleene, [self._compare(pc.equal, left, choice) for choice in choices])

    def _in_column(self, left: _Value) -> _Value:
        column = self._column()

        def evaluate(table: pa.Table) -> Any:
            lists, wanted = column(table), left(table)
            if not pa.types.is_list(lists.type) or not isinstance(wanted, pa.Scalar):
                msg = f"where={_quoted(self._text)}: 'in' takes a list in parentheses, or one number before it and "
                raise CallError(msg + "a column of lists after it, as in 3 in labels")
            lists = lists.combine_chunks() if isinstance(lists, pa.ChunkedArray) else lists
            hits = pc.list_parent_indices(lists).filter(pc.equal(lists.flatten(), wanted))
            return pc.is_in(pa.array(np.arange(len(lists))), hits.cast(pa.int64()))

        return evaluate

    def _sum(self) -> _Value:
        left = self._product()
        while self._peek().text in {"+", "-"} and self._peek().kind == "sign":
            left = _call(
                pc.add if self._pop().text == "+" else pc.subtract,
                left,
                self._product(),
            )
        return left

    def _product(self) -> _Value:
        left = self._operand()
        while self._peek().text in {"*", "/"} and self._peek().kind == "sign":
            if self._pop().text == "*":
                left = _call(pc.multiply, left, self._operand())
            else:
                left = _call(
                    lambda a, b: pc.divide(a.cast(pa.float64()), b.cast(pa.float64())),
                    left,
                    self._operand(),
                )
        return left

    def _operand(self) -> _Value:
        if self._peek().kind == "word":
            return self._column()
        if self._take("("):
            value = self._or()
            self._expect(")")
            return value
        negated = False
        while self._take("-"):
            negated = not negated
        if negated:
            return _call(pc.negate, self._operand())
        token = self._pop()
        if token.kind == "number":
            return _constant(int(token.text) if token.text.isdecimal() else float(token.text))
        if token.kind == "text":
            return _constant(_unquoted(token.text))
        if token.text in {"true", "false"}:
            return _constant(token.text == "true")
        self._next -= 1
        raise self._expected("a column, a number or 'text'")

    def _column(self) -> _Value:
        name = self._pop().text.lower()
        if name not in CONDITION_COLUMNS:
            columns = f"the columns are {', '.join(CONDITION_COLUMNS)}; text takes single quotes"
            raise self._error(f"there is no column {name!r}", columns)
        self.columns.add(name)
        return lambda table: _decoded(table[name])

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _pop(self) -> _Token:
        self._next += 1
        return self._tokens[self._next - 1]

    def _take(self, text: str) -> bool:
        token = self._peek()
        if token.text != text or token.kind not in {"keyword", "sign"}:
            return False
        self._next += 1
        return True

    def _expect(self, text: str) -> None:
        if not self._take(text):
            raise self._expected(f"{text!r}")

    def _expected(self, what: str) -> CallError:
        token = self._peek()
        found = f"found {token.text} at character {token.start + 1}" if token.text else "it ends there"
        return self._error(
            f"expected {what}, {found}",
            "see shardkit.dataset.conditions for the syntax",
        )

    def _error(self, found: str, remedy: str) -> CallError:
        return CallError(f"where={_quoted(self._text)} cannot be read: {found}; {remedy}")


def _decoded(column: Any) -> Any:
    # 'like' has no kernel for dictionaries.
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _call(function: Callable[..., Any], *parts: _Value) -> _Value:
    return lambda table: function(*(part(table) for part in parts))


def _reduced(function: Callable[[Any, Any], Any], parts: Sequence[_Value]) -> _Value:
    """Return a closure that combines its parts in a loop: thousands of them would exceed Python's recursion limit."""
    if len(parts) == 1:
        return parts[0]
    return lambda table: reduce(function, (part(table) for part in parts))


def _constant(value: Any) -> _Value:
    scalar = pa.scalar(value)
    return lambda _: scalar


def _unquoted(text: str) -> str:
    return text[1:-1].replace("''", "'")


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _shown(value: Any) -> str:
    kind = "a truth value" if pa.types.is_boolean(value.type) else "a number"
    return f"{kind} ({value})" if isinstance(value, pa.Scalar) else kind
