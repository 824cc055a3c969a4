"""Sources whose listing says of some images that they have no label on purpose."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shardkit.record_sources.datasets.layout import ShardkitDataset
from shardkit.sources.columns import IS_UNLABELLED, LABEL_NAMES
from shardkit.sources.listing import Source
from shardkit.sources.opening import open_source

NONE = "none"  # the class whose images are listed without a label


@dataclass(frozen=True, slots=True)
class WithUnlabelled(Source):
    """A source, with the images of one of its classes as images without a label."""

    folder: Any
    inner: Source

    @property
    def schema(self):
        return self.inner.schema.append(IS_UNLABELLED)

    @property
    def classes(self):
        return self.inner.classes

    @property
    def layout(self):
        return self.inner.layout

    def describe(self):
        return self.inner.describe()

    def parts(self):
        return self.inner.parts()

    def in_folder(self, folder):
        return dataclasses.replace(self, folder=folder, inner=self.inner.in_folder(folder))

    def list_part(self, part, batch_rows):
        for listing in self.inner.list_part(part, batch_rows):
            yield dataclasses.replace(listing, schema=self.schema, rows=[], columns=_marked(listing.table()))


def _marked(table):
    name = LABEL_NAMES.name if LABEL_NAMES.name in table.column_names else "label_name"
    values = table[name].to_pylist()
    marks = [value == NONE or (isinstance(value, list) and NONE in value) for value in values]
    unmarked = pc.if_else(pa.array(marks), pa.scalar(None, table[name].type), table[name])
    return table.set_column(table.schema.get_field_index(name), table.schema.field(name), unmarked).append_column(
        IS_UNLABELLED, pa.array(marks, pa.bool_())
    )


def patch_sources(monkeypatch):
    """Let conversions, plans and appends in this process list the class `NONE` without labels."""

    def opened(*args, **options):
        source = open_source(*args, **options)
        return source if isinstance(source, ShardkitDataset) else WithUnlabelled(source.folder, source)

    for module in ("conversion", "source_plan"):
        monkeypatch.setattr(f"shardkit.conversion.writing.{module}.open_source", opened)
