"""What staging writes: its folder, the columns of its rows, and the names that travel on in place of images."""

import hashlib
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

import pyarrow as pa

from shardkit import naming, software
from shardkit.conversion.inventory.schema import inventory_schema
from shardkit.conversion.inventory.staged_images import STAGED_FIELDS
from shardkit.conversion.staging.kinds import Kind, columns_of
from shardkit.dataset.foreign.inferring import LayoutOverrides
from shardkit.errors import StaleRunError
from shardkit.hashing import canonical_json
from shardkit.options.groups import Stored
from shardkit.sources.columns import GROUP, LISTING_SCHEMA
from shardkit.storage import Folder

STAGED = f"{naming.WORK_FOLDER}/staged"
_BEGUN = f"{STAGED}/begun"
_VERSION = 1


def staged_schema(kind: Kind, *, thumbnails: bool = False) -> pa.Schema:
    """Return the columns of staged rows with an annotation of a kind."""
    listed = pa.schema([*LISTING_SCHEMA, GROUP, *columns_of(kind), *STAGED_FIELDS])
    return inventory_schema(listed, thumbnails=thumbnails)


class StagedPart(NamedTuple):
    """A part of the inventory. The others are '' if all of its rows are rejected, `reading` also without records."""

    name: str
    kind: str  # kind of the annotations
    reading: str  # which features of records were read; see `records.ReadRecord`
    key: str


@dataclass(frozen=True, slots=True)
class StagingOptions:
    """What decides how rows are staged."""

    form: Stored  # how images are stored
    max_file_bytes: int  # size above which an image or a mask is rejected
    is_unlabelled: bool = False  # whether rows have no annotation
    # What the user says about the features of records.
    features: LayoutOverrides = field(default_factory=LayoutOverrides)
    thumbnails: bool = False  # whether rows get a small picture of the image, for comparing it with others

    @property
    def folder(self) -> str:
        """The folder of the images that are stored in this form, below the output."""
        decides = {"form": asdict(self.form), "software": software.versions(), "version": _VERSION}
        decides |= {"thumbnails": True} if self.thumbnails else {}
        return f"{STAGED}/{hashlib.sha256(canonical_json(decides)).hexdigest()[:16]}"


def begin_staging(output: Folder) -> str:
    """Create the folder of staged images; each worker process calls this once.

    A worker that an engine has given up and that still runs when the dataset is published must not make it again.

    Return a text that differs once the folder was removed and created again.
    """
    output.create()
    if output.stat(_BEGUN) is None:
        with output.atomic_write(_BEGUN):
            pass  # the file is empty
    return str(output.stat(_BEGUN))


def refuse_ended(output: Folder) -> None:
    """Refuse to stage in an output that was published or cleared since staging began.

    Raises:
        StaleRunError: It was.
    """
    if output.stat(_BEGUN) is None:
        msg = (
            f"{output.url}/{STAGED}: the folder of staged images was removed, so another run has published or cleared "
            "this output; if no other pipeline writes into it, run this one again"
        )
        raise StaleRunError(msg)
