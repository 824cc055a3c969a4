"""Verify a dataset: shards (`shards`), examples (`examples`) and leaks between splits (`leaks`). No Beam."""
