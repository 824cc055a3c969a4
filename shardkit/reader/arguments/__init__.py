"""Arguments of the reader's functions, validated before anything is read."""
