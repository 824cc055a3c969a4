"""Find and read a table's labels: which columns hold them, of which kind they are, and the label of each record."""
