"""The records of a split: where each one is stored, which are selected, and how datasets are mixed."""
