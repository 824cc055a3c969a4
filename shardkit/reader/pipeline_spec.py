"""What one input pipeline reads, and how, as one value."""

from dataclasses import dataclass

from shardkit.order import BatchLayout, steps_per_epoch
from shardkit.order.batches import MAX_STEP
from shardkit.reader.arguments.options import ReadOptions
from shardkit.reader.iterators.start_steps import RandomStart, StartStep
from shardkit.reader.orders.training_orders import TrainingOrder
from shardkit.reader.records.damaged_records import DamagedRecords
from shardkit.reader.table.records import RecordTable

# Vectorised ops take about a millisecond for a block, whatever its size up to this one: small batches share a block.
BLOCK_EXAMPLES = 1024


@dataclass(frozen=True, slots=True)
class PipelineSpec:
    """One input pipeline.

    Attributes:
        table: The split's record table.
        layout: The pipeline's part of every global batch.
        options: Options of the reader.
        order: Order of training; None in evaluation, which reads in file order.
        start_step: First step, or an object that is read when an iterator is made.
        damaged: The damaged records that were replaced, shared by all pipelines of an input function; None to stop at
            the first one.
        is_remote: Whether other processes run the graph. Nothing calls Python then, every record is read by itself, and
            the number of batches of each process is not known.
    """

    table: RecordTable
    layout: BatchLayout
    options: ReadOptions
    order: TrainingOrder | None
    start_step: int | StartStep | RandomStart
    damaged: DamagedRecords | None = None
    is_remote: bool = False

    @property
    def end_step(self) -> int:
        """End of the steps, exclusive."""
        if isinstance(self.start_step, RandomStart):
            return self.start_step.end_step
        if self.options.training:
            return MAX_STEP
        return steps_per_epoch(self.table.num_examples, self.layout.global_batch_size)

    @property
    def steps_per_block(self) -> int:
        """Number of steps whose instructions are made at a time."""
        return max(1, BLOCK_EXAMPLES // self.layout.per_worker_batch_size)
