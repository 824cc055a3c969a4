"""Pipelines that run in other processes: the tf.data service and ParameterServerStrategy."""
