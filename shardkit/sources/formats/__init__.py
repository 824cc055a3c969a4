"""The formats of annotations: a module or a package for each, which parses one open file.

A format never sees a folder: which files are read, where their images are and what happens to images without record is
decided by the reading and by the engine. `format` has the interface and the list of all formats, `record` what a file
says about one image.
"""
