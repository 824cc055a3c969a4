"""For the tests of layouts: what their functions open."""

from shardkit.sources.context import Opening
from shardkit.sources.options import SourceOptions
from shardkit.storage import open_folder


def opening_of(place, file=None, *, excluded=None, work=None, **options):
    """A folder, or a file in it, with the path below it that is the output."""
    output = None if excluded is None else open_folder(f"{place}/{excluded}")
    return Opening(
        open_folder(str(place)),
        SourceOptions(**options),
        paths=() if file is None else (file,),
        output=output,
        work=work,
    )
