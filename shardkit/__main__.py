"""Run the command line as ``python -m shardkit``."""

from shardkit.cli import main

main(prog_name="shardkit")
