"""Parse a condition into a function that evaluates it on a table; the package describes the syntax."""

import re
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shardkit.dataset.conditions.tokens import Token, as_option, tokenize, unreadable_condition
from shardkit.dataset.features import LABEL
from shardkit.errors import CallError

MAX_INTEGER = (1 << 63) - 1  # of an int64
_SHOWN_DIGITS = 30  # in a message
MAX_DEPTH = 100  # nested parentheses, below Python's own limit for recursion

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
_CLASS_NUMBERS = "a column of lists has class numbers: give the number, as in 3 in labels"
Value = Callable[[pa.Table], Any]  # the values of a table's rows: an array or a scalar


class Parser:
    """A recursive descent parser of one condition.

    Attributes:
        columns: Names of the columns that the condition reads; complete after `parse`.
    """

    def __init__(self, text: str, known: Sequence[str]) -> None:
        """Split a condition into tokens.

        Args:
            text: The condition.
            known: Names of the columns that it may read.

        Raises:
            CallError: It is empty, too long, or has a character that begins no token.
        """
        self._known = known
        self._text, self.columns = text, set[str]()
        self._depth = 0
        self._tokens = tokenize(text)
        self._next = 0

    def parse(self) -> Value:
        """Return a function from a table to the values of the condition: an array, or a scalar without columns.

        Raises:
            CallError: The condition cannot be parsed; the message shows where, and what was expected.
        """
        condition = self._or()
        if self._peek().kind != "end":
            raise self._expected("'and', 'or' or the end")
        return condition

    def _or(self) -> Value:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(f"its parentheses are nested more than {MAX_DEPTH} deep", "simplify it")
        parts = [self._and()]
        while self._take("or"):
            parts.append(self._and())
        self._depth -= 1
        return _reduced(pc.or_kleene, parts)

    def _and(self) -> Value:
        parts = [self._not()]
        while self._take("and"):
            parts.append(self._not())
        return _reduced(pc.and_kleene, parts)

    def _not(self) -> Value:
        negated = False
        while self._take("not"):
            negated = not negated
        condition = self._comparison()
        return _call(pc.invert, condition) if negated else condition

    def _comparison(self) -> Value:
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
            pattern = _unas_option(self._pop().text)
            condition = _call(lambda values: pc.match_like(values, pattern), left)
        elif self._take("in"):
            condition = self._in_column(left) if self._peek().kind == "word" else self._in_list(left)
        elif negated:
            raise self._expected("'in', 'between' or 'like' after 'not'")
        else:
            return left
        return _call(pc.invert, condition) if negated else condition

    def _compare(self, compare: Callable[[Any, Any], Any], left: Value, right: Value) -> Value:
        def evaluate(table: pa.Table) -> Any:
            a, b = left(table), right(table)
            for one, other in ((a, b), (b, a)):
                if _is_text(one.type) and not (_is_text(other.type) or pa.types.is_null(other.type)):
                    msg = f"{as_option(self._text)} compares text with {_shown(other)}; {self._remedy(other, table)}"
                    raise CallError(msg)
            return compare(a, b)

        return evaluate

    def _remedy(self, other: Any, table: pa.Table) -> str:
        """Return what to write instead of a comparison of text with something else."""
        if LABEL in self.columns and isinstance(other, pa.ChunkedArray) and other.equals(table[LABEL]):
            # A quote inside text is doubled, so an even number of them follows what is outside of it.
            by_name = re.sub(rf"\b{LABEL}\b(?=(?:[^']*'[^']*')*[^']*$)", "label_name", self._text)
            return f"{LABEL} is the number of a class; for its name write {as_option(by_name)}"
        if pa.types.is_list(other.type):
            return _CLASS_NUMBERS
        return "put text into single quotes"

    def _in_list(self, left: Value) -> Value:
        self._expect("(")
        choices = [self._sum()]
        while self._take(","):
            choices.append(self._sum())
        self._expect(")")
        return _reduced(pc.or_kleene, [self._compare(pc.equal, left, choice) for choice in choices])

    def _in_column(self, left: Value) -> Value:
        column = self._column()

        def evaluate(table: pa.Table) -> Any:
            lists, wanted = column(table), left(table)
            if pa.types.is_list(lists.type) and _is_text(wanted.type):
                raise CallError(f"{as_option(self._text)} looks for text in numbers; {_CLASS_NUMBERS}")
            if not pa.types.is_list(lists.type) or not isinstance(wanted, pa.Scalar):
                msg = f"{as_option(self._text)}: 'in' takes a list in parentheses, or one number before it and "
                raise CallError(msg + "a column of lists after it, as in 3 in labels")
            lists = lists.combine_chunks() if isinstance(lists, pa.ChunkedArray) else lists
            hits = pc.list_parent_indices(lists).filter(pc.equal(lists.flatten(), wanted))
            return pc.is_in(pa.array(np.arange(len(lists))), hits.cast(pa.int64()))

        return evaluate

    def _sum(self) -> Value:
        left = self._product()
        while self._peek().text in {"+", "-"} and self._peek().kind == "sign":
            left = _call(
                _whole(pc.add_checked) if self._pop().text == "+" else _whole(pc.subtract_checked),
                left,
                self._product(),
            )
        return left

    def _product(self) -> Value:
        left = self._operand()
        while self._peek().text in {"*", "/"} and self._peek().kind == "sign":
            if self._pop().text == "*":
                left = _call(_whole(pc.multiply_checked), left, self._operand())
            else:
                left = _call(
                    lambda a, b: pc.divide(a.cast(pa.float64()), b.cast(pa.float64())),
                    left,
                    self._operand(),
                )
        return left

    def _operand(self) -> Value:
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
            return _call(_whole(pc.negate_checked), self._operand())
        token = self._pop()
        if token.kind == "number":
            return _constant(self._integer(token.text) if token.text.isdecimal() else float(token.text))
        if token.kind == "text":
            return _constant(_unas_option(token.text))
        if token.text in {"true", "false"}:
            return _constant(token.text == "true")
        self._next -= 1
        raise self._expected("a column, a number or 'text'")

    def _integer(self, digits: str) -> int:
        if len(digits.lstrip("0")) > len(str(MAX_INTEGER)) or int(digits) > MAX_INTEGER:
            found = digits if len(digits) <= _SHOWN_DIGITS else f"{digits[:_SHOWN_DIGITS]}…"
            raise self._error(f"the number {found} is too large", f"the largest one is {MAX_INTEGER}")
        return int(digits)

    def _column(self) -> Value:
        name = self._pop().text.lower()
        if name not in self._known:
            columns = f"the columns are {', '.join(self._known)}; text takes single quotes"
            raise self._error(f"there is no column {name!r}", columns)
        self.columns.add(name)
        return lambda table: _decoded(table[name])

    def _peek(self) -> Token:
        return self._tokens[self._next]

    def _pop(self) -> Token:
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
        return unreadable_condition(self._text, found, remedy)


def _decoded(column: Any) -> Any:
    # 'like' has no kernel for dictionaries.
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _call(function: Callable[..., Any], *parts: Value) -> Value:
    return lambda table: function(*(part(table) for part in parts))


def _whole(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return an operation that widens whole numbers: the product of two columns of 32 bits may need more."""

    def wide(value: Any) -> Any:
        return value.cast(pa.int64()) if pa.types.is_integer(value.type) else value

    return lambda *parts: function(*map(wide, parts))


def _reduced(function: Callable[[Any, Any], Any], parts: Sequence[Value]) -> Value:
    """Return a closure that combines its parts in a loop: thousands of them would exceed Python's recursion limit."""
    if len(parts) == 1:
        return parts[0]
    return lambda table: reduce(function, (part(table) for part in parts))


def _constant(value: Any) -> Value:
    scalar = pa.scalar(value)
    return lambda _: scalar


def _unas_option(text: str) -> str:
    return text[1:-1].replace("''", "'")


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _shown(value: Any) -> str:
    kind = "a truth value" if pa.types.is_boolean(value.type) else "a number"
    return f"{kind} ({value})" if isinstance(value, pa.Scalar) else kind
