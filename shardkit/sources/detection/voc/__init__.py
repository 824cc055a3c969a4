"""Pascal VOC: `image_folders` finds images and annotations, `annotation_xml` reads one file, `layout` pairs them."""
