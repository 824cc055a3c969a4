"""The JSON of labelling tools and datasets with one record for each image; to add one, enter a row in `formats`."""
