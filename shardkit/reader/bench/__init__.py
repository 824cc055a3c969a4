"""The stages of the input function that `shardkit bench` measures, and the process that runs one of them.

`shardkit.bench` starts the processes and draws the conclusions.
"""
