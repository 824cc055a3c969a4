"""Refuse annotations next to a dataset that was made from them, in which the images have splits."""

from collections.abc import Callable, Sequence

from shardkit.layouts import Layout
from shardkit.naming import printable, split_of_folder
from shardkit.options.words import named
from shardkit.refusals import RefusalError
from shardkit.sources.context import Opening
from shardkit.sources.recognising.folders.source_place import SourcePlace
from shardkit.sources.walking import folders_in
from shardkit.storage import Folder

_MAX_FOLDERS = 16  # that are looked at
_MADE: set[Layout | None] = {"yolo", "coco", "voc"}  # layouts that converters write


def refuse_other_form(
    opening: Opening, names: Sequence[str], recognise: Callable[[Folder], Layout | None], place: SourcePlace
) -> None:
    """Refuse Labelme's files next to what Labelme2YOLO and others made of them."""
    for name in names[:_MAX_FOLDERS]:
        below = opening.below(name).folder
        inner = [one for path in ("", *folders_in(below)) for one in folders_in(below, path)]
        layout = recognise(below) if any(map(split_of_folder, inner)) else None
        if layout in _MADE:
            made = f"{printable(name)}/ holds a dataset of the layout {layout} with splits"
            problem = f"{place.shown}: {made}, and Labelme's files of the same images may be next to it"
            hiding = named("ignore", f"/{name}/")
            remedy = f"hide {printable(name)}/ with {hiding} to read Labelme's files without these splits"
            raise RefusalError(problem, place.inside([name], f"only {printable(name)}/ with its splits"), remedy=remedy)
