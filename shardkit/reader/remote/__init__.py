"""Pipelines that run in other processes: on a tf.data service, or on the workers of a ParameterServerStrategy.

Here belongs what is particular to those processes: how steps are divided among them, and what may not be sent to them.
The pipeline that they run does not: it is `shardkit.reader.pipeline`, made of `operations`.
"""
