"""What a report says about the encoding of JPEGs is about those that the dataset would have."""

import io

import numpy as np
import pytest
from PIL import Image

from shardkit.conversion.writing.source_plan import planned_source
from shardkit.options.call import Call
from shardkit.options.groups import ConvertOptions
from shardkit.parallel.progress import Silent
from shardkit.parallel.threads import ThreadExecutor
from shardkit.report.facts.jpegs import jpeg_facts
from shardkit.report.source_collection import SourceCollection
from shardkit.sources import SourceOptions
from shardkit.testing import picture, write_tree


def progressive(seed, orientation):
    image, out, exif = Image.open(io.BytesIO(picture(seed, width=24, height=16))), io.BytesIO(), Image.Exif()
    exif[0x0112] = orientation
    image.save(out, "JPEG", progressive=True, exif=exif)
    return out.getvalue()


@pytest.mark.parametrize(("options", "num_stored"), [({}, 2), ({"resize": 16}, 2), ({"resize": 8}, 0)])
def test_files_that_are_encoded_again_do_not_count_as_progressive(options, num_stored, tmp_path):
    """One in three is turned upright, which stores a baseline JPEG."""
    files = {f"ant/{seed}.jpg": progressive(seed, orientation) for seed, orientation in enumerate((1, 6, 1))}
    source = write_tree(tmp_path, {**files, "bee/0.png": picture(9, width=16, height=16)})
    given = SourceOptions(), ConvertOptions.of(options)
    with planned_source(str(source), *given, ThreadExecutor(1), Silent()) as (opened, plan):
        collection = SourceCollection(opened, plan, Call("plan", (str(source),)))
        facts = jpeg_facts(collection.headers(np.arange(4)))
    assert (facts.num_images, facts.num_jpegs, facts.num_progressive) == (4, num_stored, num_stored)
