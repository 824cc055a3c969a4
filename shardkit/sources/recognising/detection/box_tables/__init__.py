"""Read tables with one row for each box, such as those of Open Images."""
