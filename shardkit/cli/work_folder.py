"""Where workers leave what `plan` and `verify` collect: these two write nothing beside the user's data."""

import contextlib
import secrets
import tempfile
from collections.abc import Iterator

from shardkit.storage import Folder, open_folder


@contextlib.contextmanager
def work_folder(beam_options: tuple[str, ...]) -> Iterator[Folder]:
    """A folder that is removed at the end: below Beam's own --temp_location where given, so that all workers reach it."""
    location = _temp_location(beam_options)
    if location is None:
        with tempfile.TemporaryDirectory(prefix="shardkit-") as path:
            yield open_folder(path)
        return
    folder = open_folder(f"{location.rstrip('/')}/shardkit-{secrets.token_hex(8)}")
    try:
        yield folder
    finally:
        folder.remove_tree("")


def _temp_location(beam_options: tuple[str, ...]) -> str | None:
    from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions

    location: str | None = PipelineOptions(list(beam_options)).view_as(GoogleCloudOptions).temp_location
    return location
