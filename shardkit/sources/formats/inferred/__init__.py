"""Any JSON, YAML, XML or text with boxes: its tree, and how the fields of a record become an image with boxes."""
