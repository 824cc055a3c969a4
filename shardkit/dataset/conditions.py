"""Conditions on the columns of one example, written as text: ``label_name in ('cat', 'dog') and height >= 64``.

A condition is evaluated for each row separately, so every worker selects the same examples whatever shards it reads.
To keep that so, the syntax is small, without functions and subqueries, and no SQL engine evaluates it.

    condition:   condition or condition | condition and condition | not condition | (condition) | comparison
    comparison:  value (= | == | != | <> | < | <= | > | >=) value
                 value [not] in (literal, ...) | literal [not] in column     the second: a column of lists
                 value [not] between value and value | value [not] like 'a%_z' | column is [not] null
    value:       column | number | 'text' | true | false | value (+ | - | * | /) value | -value | (value)

Keywords are not case-sensitive. As in SQL, a comparison with a missing value (null) is neither true nor false, and an
example is selected only if its condition is true.
"""

import pyarrow as pa
import pyarrow.compute as pc

from shardkit.dataset.condition_parser import MAX_INTEGER, Parser
from shardkit.dataset.condition_tokens import quoted
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
        parser = Parser(text, CONDITION_COLUMNS)
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
            found = str(error).splitlines()[0]
            if found == "overflow":
                found = f"a number in it becomes larger than {MAX_INTEGER}; write smaller ones"
            msg = f"where={quoted(self.text)} cannot be evaluated: {found}"
            raise CallError(msg) from None
        if not pa.types.is_boolean(found.type):
            msg = f"where={quoted(self.text)} is a value of type {found.type}, no condition; compare it with something"
            raise CallError(msg)
        if isinstance(found, pa.Scalar):
            found = pa.repeat(found, len(table))
        if isinstance(found, pa.ChunkedArray):
            found = found.combine_chunks()
        return pc.fill_null(found, False)  # noqa: FBT003 - the value to fill in
