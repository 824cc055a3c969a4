"""Find a table's images: the column that names them, prefixes of paths, and folders nearby."""
