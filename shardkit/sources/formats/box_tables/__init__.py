"""Tables with a row for each box: what their columns mean, and the rows of an image joined."""
