"""Helpers for tests of shardkit, and of datasets, layouts and programs that use it.

`files` writes small images, trees and archives; `listings` opens a source and reads all that it lists; `conversions`
makes datasets without Beam. `strategies`, which needs hypothesis, and `batches`, which needs TensorFlow, are imported
by their own names. Equal arguments give equal results. Images need Pillow.
"""

from shardkit.testing.conversions import (
    append_without_beam,
    convert_without_beam,
    inventory_table,
    plan_without_beam,
    work_on,
    write_job,
    write_plan,
)
from shardkit.testing.files import (
    digests_of,
    encoded,
    files_of,
    picture,
    upload,
    write_archive,
    write_class_folders,
    write_tree,
)
from shardkit.testing.listings import Listed, listed, opened, read_source

__all__ = [
    "Listed",
    "append_without_beam",
    "convert_without_beam",
    "digests_of",
    "encoded",
    "files_of",
    "inventory_table",
    "listed",
    "opened",
    "picture",
    "plan_without_beam",
    "read_source",
    "upload",
    "work_on",
    "write_archive",
    "write_class_folders",
    "write_job",
    "write_plan",
    "write_tree",
]
