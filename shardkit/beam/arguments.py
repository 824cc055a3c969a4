"""The arguments of the transforms: those of `shardkit.convert`, each at the transform that it belongs to."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Literal

from shardkit.conversion.arguments import argument_names, grouped, read_arguments
from shardkit.errors import CallError
from shardkit.options.definition import OPTIONS, refuse_unknown
from shardkit.options.words import named
from shardkit.sources import SourceOptions

_OF_THE_PIPELINE = {
    "workers": "the pipeline's runner has the workers",
    "beam_options": "the pipeline has the options of Beam",
    "listener": "the steps run on workers, which log what they say",
}
_OF_ROWS = {"classes", "group_by", "image_feature", "label_feature", "unlabelled"}  # of a source and of a PCollection
_OF_SOURCES = {one.name for one in fields(SourceOptions)}


def read_given(
    transform: Literal["ReadImages", "WriteDataset", "ConvertImages"], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the values of the options that the user gave to a transform, by name."""
    given = grouped(options)
    refuse_unknown(transform, given, argument_names("convert"))
    for name, why in _OF_THE_PIPELINE.items():
        if given.get(name) is not None:
            raise CallError(f"{transform} has no argument {name!r}: {why}")
    read = read_arguments("convert", given)
    for name, value in read.items() if transform != "ConvertImages" else ():
        is_of_source = OPTIONS[name].heading in {"Source", "Reading"} or name in _OF_SOURCES
        if transform == "ReadImages" and not is_of_source:
            raise CallError(f"{name} does not say how a source is read; give it to WriteDataset")
        if transform == "WriteDataset" and is_of_source and name not in _OF_ROWS:
            raise CallError(f"{name} says how a source is read; give it to ReadImages")
        if transform == "WriteDataset" and name == "check" and value == "header":
            msg = f"{named('check', 'header')} leaves images unread, and WriteDataset decodes each before it plans"
            raise CallError(f"{msg}; leave it out, or convert the source by ConvertImages")
    return read
