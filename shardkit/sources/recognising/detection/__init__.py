"""Find the files of boxes and their images: a package or a module for each format.

What they share is in `found_files`, which opens what was found as a reading; in `files_of_images`, for formats with a
file for each image; in `image_paths` and in `rows`.
"""
