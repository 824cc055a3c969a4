"""Read Pascal VOC: an XML file for each image, and lists of the splits."""
