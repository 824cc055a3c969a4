"""Name or replace the records that were not read, among those of some examples."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from shardkit.reader.python_calls import callable_in_graph, without_autograph
from shardkit.reader.records.instructions import LOCATION_COLUMNS
from shardkit.reader.records.recovery import RecordRecovery


class RepairRecords:
    """The graph function; Python is called only if something is wrong."""

    def __init__(
        self, recovery: RecordRecovery, of_examples: Callable[[Any, Any], dict[str, Any]], *, keeps_ids: bool = False
    ) -> None:
        """Make the function.

        Args:
            recovery: Reads damaged records again, and names or replaces them.
            of_examples: Returns the instructions of examples by ids and epochs, int64[n] each.
            keeps_ids: Whether the column "id" is needed after reading.
        """
        self._dropped = LOCATION_COLUMNS - {"id"} if keeps_ids else LOCATION_COLUMNS
        self._replaces, self._of_examples = recovery.replaces, of_examples
        self._repair = callable_in_graph(recovery.repair, [tf.int64, tf.string])

    @without_autograph
    def __call__(self, columns: dict[str, Any]) -> dict[str, Any]:
        """Return the columns that are needed after reading; of other examples where these were replaced.

        Args:
            columns: Instructions of n examples and their records, [n] each. An empty record was not read. If damaged
                records are replaced, with `epoch` and, of images, `is_undecodable`.
        """
        is_bad = tf.equal(tf.strings.length(columns["record"]), 0)
        if "is_undecodable" in columns:
            is_bad |= columns["is_undecodable"]
        kept = {name: column for name, column in columns.items() if name not in self._dropped}
        names = kept if self._replaces else ("record",)  # only what may change: each branch copies it

        def repaired() -> dict[str, Any]:
            made = self._repaired(columns)
            return {name: made[name] for name in names}

        changed: dict[str, Any] = tf.cond(tf.reduce_any(is_bad), repaired, lambda: {name: kept[name] for name in names})
        return kept | changed

    def _repaired(self, columns: dict[str, Any]) -> dict[str, Any]:
        count = columns["record"].shape
        is_undecodable = columns.get("is_undecodable", tf.zeros_like(columns["id"], tf.bool))
        ids, records = self._repair(columns["id"], columns["record"], is_undecodable)
        ids.set_shape(count)
        records.set_shape(count)
        if not self._replaces:
            return columns | {"record": records}
        # The columns of the position stay. In evaluation, another example in its place has weight 0.
        made = self._of_examples(ids, columns["epoch"])
        kept = columns | made | {"record": records}
        if "weight" in made:  # a class without an intact example
            kept["weight"] *= tf.cast(tf.equal(kept["label"], columns["label"]), tf.float32)
        elif "weight" in columns:
            kept["weight"] *= tf.cast(tf.equal(ids, columns["id"]), tf.float32)
        return kept
