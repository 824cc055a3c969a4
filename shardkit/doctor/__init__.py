"""Checks of a runner and its workers before a long job. No Beam.

Here belong what the driver checks without a job (addresses, versions, environment, paths, disk and memory), and the
tiny job that shows whether the workers see SOURCE and write into OUTPUT.
"""
