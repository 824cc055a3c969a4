"""Checks of a runner before a long job, and the words for what an engine's errors mean. No Beam.

Here belong checks that the driver makes without a job (addresses, versions, environment, paths, disk and memory), the
tiny job in which workers look around (`look_job`), the comparison of what they report with what the driver sees, and
the reading of engines' error texts.
"""
