"""Read the XML files of CVAT for images 1.1."""
