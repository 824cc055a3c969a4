"""Values for single arguments of the reader that need more than a word or a path."""

import os
import re
from dataclasses import dataclass
from typing import Annotated

from shardkit.arguments.checks import flag, folder, normalise_fields, optional, refused, text, whole_number
from shardkit.arguments.suggestions import suggest_arguments

CACHE_BYTES = 1 << 40  # 1 TiB
AUTO_BYTES = 256 << 20  # 256 MiB: the largest split that is held in memory without being asked for


@suggest_arguments(example="reader.Cache('cache', max_bytes=500 << 30)")
@dataclass(frozen=True, slots=True)
class Cache:
    """Local folder that shards are copied to before they are read.

    Copies are verified by their sha256, and shared by all processes of a host and by later runs. The shards that were
    not used for longest are removed first. Users of one folder need write access to it and read access to each other's
    files.

    Attributes:
        folder: Path of the folder; becomes a string.
        max_bytes: Maximum size of the folder.

    Raises:
        CallError: The folder is not a path, or the size is not a whole number of at least 1.
    """

    folder: Annotated[str | os.PathLike[str], folder]
    max_bytes: Annotated[int, whole_number(1)] = CACHE_BYTES

    def __post_init__(self) -> None:
        normalise_fields(self)


@suggest_arguments(example="reader.Memory(max_bytes=4 << 30)")
@dataclass(frozen=True, slots=True)
class Memory:
    """Hold what is read in memory, once per process, from the first epoch on.

    Attributes:
        max_bytes: Maximum size, in bytes; None for no limit. A split that needs more is refused.
        decoded: False to hold the encoded records, or small images that all have one size and are not cropped as
            pixels. True to hold all images as they are after decoding and resizing, height * width * channels values
            each; not for random crops.

    Raises:
        CallError: The size is not a whole number of at least 1.
    """

    max_bytes: Annotated[int | None, optional(whole_number(1))] = None
    decoded: Annotated[bool, flag] = False

    def __post_init__(self) -> None:
        normalise_fields(self)


def _address(name: str, found: object) -> str:
    if not re.fullmatch(r"grpc://.+:\d+", text(name, found)):
        raise refused(name, "the dispatcher's address, 'grpc://host:port'", found)
    return text(name, found)


@suggest_arguments(example="reader.Service('grpc://host:5000')")
@dataclass(frozen=True, slots=True)
class Service:
    """A tf.data service, whose workers read and decode.

    Attributes:
        address: "grpc://host:port" of the dispatcher.
        job: Name of a stream that several trainers divide among them, each batch to one of them; None for a stream of
            its own for each trainer.

    Raises:
        CallError: The address or the name is not a string of that form.
    """

    address: Annotated[str, _address]
    job: Annotated[str | None, optional(text)] = None

    def __post_init__(self) -> None:
        normalise_fields(self)
