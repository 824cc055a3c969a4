"""The console script, as pip writes it."""

from shardkit.__main__ import main

main()
