"""The inventory: the files of a source and what checking found, as columns sorted by key."""
