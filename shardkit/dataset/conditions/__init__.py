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

from shardkit.dataset.conditions.condition import CONDITION_COLUMNS, Condition

__all__ = ["CONDITION_COLUMNS", "Condition"]
