"""Find the columns of a table that nobody has named: which names the images, which are labels."""
