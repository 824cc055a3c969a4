"""Staging images: what is written, how often, and what a rerun does again."""

import pytest

from shardkit import images
from shardkit.conversion.inventory import parts
from shardkit.conversion.inventory.columns import INVENTORY_SCHEMA
from shardkit.conversion.staging import stager as staging
from shardkit.conversion.staging.rows import RowReader
from shardkit.conversion.staging.stager import STAGED, StagedBefore, Stager, begin_staging
from shardkit.dataset.foreign.inferring import LayoutOverrides
from shardkit.errors import StaleRunError
from shardkit.naming import WORK_FOLDER
from shardkit.sources.listing import Listing
from shardkit.storage import open_folder
from shardkit.testing import inventory_table, picture

GIVEN = RowReader(1 << 20), LayoutOverrides()
ROWS = [
    {"key": f"{i:02d}.png", "image": picture(i, width=20, height=20, kind="PNG"), "label": "ab"[i % 2]}
    for i in range(20)
]


@pytest.fixture
def output(tmp_path):
    folder = open_folder(str(tmp_path))
    begin_staging(folder)
    return folder


def staged(output, *bundles, before=None):
    """The rows of the inventory after staging these bundles."""
    names = []
    for rows in bundles:
        stager = Stager(output, *GIVEN, before)
        assert [one for row in rows for one in stager.add(row)] == []
        names.append(stager.flush().name)
    return parts.read_parts(output, names)[0]


def files(output):
    """Sizes of the files of images by path."""
    folders = [one.name for one in output.scan(STAGED) if one.is_folder]
    return {f"{name}/{entry.name}": entry.num_bytes for name in folders for entry in output.scan(f"{STAGED}/{name}")}


def test_a_bundle_that_is_tried_again_writes_the_same_files(output):
    first = staged(output, ROWS)
    found = files(output)
    assert len(found) == 1
    assert staged(output, ROWS).equals(first)
    assert files(output) == found
    assert len(output.scan(parts.PARTS)) == 1


def test_an_image_under_several_keys_is_stored_once(output):
    table = staged(output, [ROWS[0], ROWS[0] | {"key": "copy.png", "label": "b"}])
    assert len(set(table["offset"].to_pylist())) == 1
    assert table["label_name"].to_pylist() == ["a", "b"]


def test_a_rerun_in_other_bundles_decodes_and_stores_nothing(output, monkeypatch):
    first = staged(output, ROWS[:10], ROWS[10:])
    found = files(output)
    before = StagedBefore(output)
    checked = []
    monkeypatch.setattr(images, "check_fully", checked.append)
    again = staged(output, ROWS[::-2], ROWS[::2], before=before)
    assert again.select(first.column_names).to_pylist() == first.to_pylist()
    assert (files(output), checked) == (found, [])


def test_parts_of_another_conversion_hold_no_staged_images(output):
    listing = Listing(INVENTORY_SCHEMA, columns=inventory_table(["a", "b"]))
    parts.write_rows(output, parts.part_path("other-2.arrow"), listing.table(), listing)
    before = StagedBefore(output)
    assert len(staged(output, ROWS, before=before)) == len(ROWS)


def test_files_and_memory_are_bounded(output, monkeypatch):
    monkeypatch.setattr(staging, "FILE_BYTES", 2000)
    stager, names = Stager(output, *GIVEN), []
    for row in ROWS:
        assert list(stager.add(row)) == []
        if stager.is_full:
            names.append(stager.flush().name)
    sizes = files(output).values()
    assert len(names) == len(sizes) > 5
    assert all(2000 <= size < 2000 + max(len(row["image"]) for row in ROWS) for size in sizes)


def test_a_worker_that_still_runs_when_the_dataset_is_published_leaves_nothing(output, tmp_path):
    late = Stager(output, *GIVEN)
    assert list(late.add(ROWS[0])) == []
    output.remove_tree(WORK_FOLDER)
    with pytest.raises(StaleRunError, match="another run has published or cleared this output"):
        late.flush()
    assert list(tmp_path.iterdir()) == []
