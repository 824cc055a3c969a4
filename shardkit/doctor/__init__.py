"""Checks of a runner before a long job, and the words for what an engine's errors mean. No Beam.

Here belong checks that the driver makes without a job (addresses, versions, environment, paths, disk and memory), what
a worker reports about itself, the comparison of the two, and the reading of engines' error texts. The tiny job that
carries the reports is in `pipelines/doctor.py`.
"""
