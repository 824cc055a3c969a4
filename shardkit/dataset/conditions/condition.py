"""A parsed condition, and the columns of the index that it may name; the package describes the syntax."""

import pyarrow as pa
import pyarrow.compute as pc

from shardkit.dataset.conditions.parser import MAX_INTEGER, Parser
from shardkit.dataset.conditions.tokens import as_option
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
            raise CallError(f"{as_option(self.text)} cannot be evaluated: {found}") from None
        if not pa.types.is_boolean(found.type):
            msg = f"{as_option(self.text)} is a value of type {found.type}, no condition; compare it with something"
            raise CallError(msg)
        if isinstance(found, pa.Scalar):
            found = pa.repeat(found, len(table))
        if isinstance(found, pa.ChunkedArray):
            found = found.combine_chunks()
        return pc.fill_null(found, False)  # noqa: FBT003 - the value to fill in
