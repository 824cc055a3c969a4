"""The formats of annotations: modules of formats that are alike, each of which parses one file.

A format does not look around: which files are read, where their images are and what happens to images without record
is decided by the reading and by the engine. `format` has the interface, and what a file says about one image;
`registry` has the list of all formats.
"""
