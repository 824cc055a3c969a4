"""Explain why a source is read as its layout, and which files say something else about its images.

chosen: table, because labels.csv names 40 of 40 images by the path
not used: names.csv names 40 of 40 images by the path; the labels come from the folders
"""

from shardkit.layouts import layout_of_title
from shardkit.naming import counted, printable
from shardkit.options.words import named
from shardkit.sources.listing import Source
from shardkit.sources.options import SourceOptions

_SHOWN = 2  # files


def explained(source: Source, options: SourceOptions, num_images: int, num_classes: int) -> tuple[str, ...]:
    """Return why a source is read as its layout, and a sentence for each of the first files that are not used."""
    chosen = layout_of_title(source.layout)
    because = f"{_asked_for(options)}{_evidence(source, num_images, num_classes)}"
    unused = [f"not used: {one.sentence}; {one.why}" for one in source.claims if not one.is_used]
    return (f"chosen: {chosen or source.layout}, because {because}", *unused[:_SHOWN])


def _asked_for(options: SourceOptions) -> str:
    """Return the clause for a layout that the user named, ending with ': '; '' if shardkit detected it."""
    if options.layout == "unlabelled":
        return f"{named('unlabelled', True)} asks for it: "
    if options.layout is not None:
        return f"{named('layout', options.layout)} asks for it: "
    return "" if options.label_pattern is None else f"{named('label_pattern')} asks for it: "


def _evidence(source: Source, num_images: int, num_classes: int) -> str:
    images = counted(num_images, "image")
    if claims := [one.sentence for one in source.claims if one.is_used]:
        return _shortened(claims)
    if files := source.used_files:
        return f"{_shortened([f'{printable(one.path)} gives {one.gives}' for one in files])}, for {images}"
    layout = layout_of_title(source.layout)
    if layout == "class-folders":
        return f"folders give {images} and {counted(num_classes, 'class')}"
    if layout == "file-names":
        return f"the names of {images} give {counted(num_classes, 'class')}"
    return f"it reads {images}"


def _shortened(phrases: list[str]) -> str:
    more = len(phrases) - _SHOWN
    return " and ".join(phrases[:_SHOWN]) + (f", and so do {counted(more, 'more file')}" if more > 0 else "")
