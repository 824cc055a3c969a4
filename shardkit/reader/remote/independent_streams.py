"""A stream of its own for each worker of a ParameterServerStrategy, set apart at run time.

The coordinator traces the input function once, always with the same context, and every worker runs that one graph. So
nothing that is known while it is traced can tell the workers apart: each draws a number whenever it makes an iterator,
and reads the one endless order from there on, from the beginning of a random epoch. Steps are scheduled to whichever
worker is free and run again when one is lost, so exactly once over all workers cannot be had.
"""

from dataclasses import replace
from typing import Any

import tensorflow as tf

from shardkit.errors import CallError
from shardkit.reader import pipeline
from shardkit.reader.iterators.random_start import RandomStart
from shardkit.reader.pipeline_spec import PipelineSpec


class IndependentStreams:
    """Pipelines that each start somewhere else."""

    def __call__(self, spec: PipelineSpec) -> Any:
        """Return the dataset of every worker; `spec.start_step` is not read.

        Raises:
            CallError: there are several input pipelines, which ParameterServerStrategy does not have.
        """
        if spec.layout.num_workers > 1:
            msg = (
                f"independent_workers is for ParameterServerStrategy, whose workers share one input pipeline; found "
                f"{spec.layout.num_workers}: leave it out, and each example comes once"
            )
            raise CallError(msg)
        start = RandomStart(spec.table.num_examples, spec.layout.global_batch_size)
        dataset = pipeline.build(replace(spec, start_step=start, damaged=None, is_remote=True))
        return dataset.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))
