"""A separate stream for each worker of a ParameterServerStrategy.

The coordinator traces the input function once, with the same context for all, and every worker runs that graph. So the
graph cannot contain the worker's index. Instead, each iterator draws a random number when it is made, and reads the
endless order from the start of that epoch. The strategy gives steps to any free worker and repeats those of a lost
worker, so that it cannot read each example exactly once over all workers.
"""

from dataclasses import replace
from typing import Any

import tensorflow as tf

from shardkit.errors import CallError
from shardkit.reader import pipeline
from shardkit.reader.iterators.random_start import RandomStart
from shardkit.reader.pipeline_spec import PipelineSpec


class IndependentStreams:
    """Placement on workers that each start at a random epoch."""

    def __call__(self, spec: PipelineSpec) -> Any:
        """Return the dataset of every worker; `spec.start_step` is not read.

        Raises:
            CallError: There are several input pipelines, which ParameterServerStrategy does not have.
        """
        if spec.layout.num_workers > 1:
            raise CallError(
                f"independent_workers is for ParameterServerStrategy, whose workers share one input pipeline; found "
                f"{spec.layout.num_workers}; leave it out, and each example is read once"
            )
        start = RandomStart(spec.table.num_examples, spec.layout.global_batch_size)
        dataset = pipeline.build(replace(spec, start_step=start, damaged=None, is_remote=True))
        return dataset.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))
