"""Files of JSON or JSON Lines with one record for each image: boxes, or classes of whole images."""
