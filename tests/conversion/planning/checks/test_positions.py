"""The finding about GPS positions: how many images have one, and how many are stored with it."""

import pyarrow as pa
import pytest

from shardkit.conversion.inventory.parts import Inventory
from shardkit.conversion.planning.checks.finding import findings_text
from shardkit.conversion.planning.plan import make_plan
from shardkit.options.groups import ConvertOptions
from shardkit.testing import inventory_table


def found(has_gps, changes=None, **options):
    """The finding of a source with these images of 8 x 8 pixels; None without one."""
    table = inventory_table(["cat", "dog"] * (len(has_gps) // 2), keys=[f"{i:03d}.jpg" for i in range(len(has_gps))])
    for name, values in (("has_gps", has_gps), ("changes", changes or [""] * len(has_gps))):
        at = table.schema.get_field_index(name)
        table = table.set_column(at, table.schema.field(at), pa.array(values, table.schema.field(at).type))
    plan = make_plan(Inventory(table, "class folders", {}), ConvertOptions.of(options))
    findings = [finding for finding in plan.findings if finding.code == "gps_positions"]
    assert len(findings) < 2
    return findings[0] if findings else None


GPS = [True, True, True, False]


def test_images_without_a_position_are_no_finding():
    assert found([False] * 4) is None


def test_images_that_were_not_opened_are_no_finding():
    assert found([None] * 4, check="header") is None


def test_images_that_are_stored_with_their_position_are_listed():
    finding = found(GPS)
    assert findings_text([finding]) == (
        "Check these:\n  - 3 of 4 images have GPS positions in the metadata, and 3 are stored with them; "
        "before you hand the dataset on, add strip_metadata=True, which changes no pixel"
    )
    assert found([True, False]).sentence == (
        "1 of 2 images has a GPS position in the metadata, and 1 is stored with it"
    )


@pytest.mark.parametrize(
    ("options", "stored"),
    [
        ({"resize": 8}, "3 are"),  # none is larger
        ({"resize": 7}, None),
        ({"size": (8, 8)}, "3 are"),
        ({"size": (8, 9)}, None),
        ({"strip_metadata": True}, None),
        ({"jpeg": "baseline"}, "up to 3 are"),
        ({"subsampling": "4:2:0"}, "up to 3 are"),
        ({"jpeg": "baseline", "max_side": 4}, None),
    ],
)
def test_images_that_are_encoded_again_are_not_stored_with_it(options, stored):
    finding = found(GPS, **options)
    assert finding.sentence.startswith("3 of 4 images have GPS positions in the metadata")
    if stored is None:
        assert (finding.kind, finding.remedy.partition(",")[0]) == ("hints", "none is stored")
    else:
        assert (finding.kind, finding.sentence.partition("and ")[2]) == ("warns", f"{stored} stored with them")


def test_images_that_are_changed_anyway_are_not_counted():
    assert found(GPS, changes=["orientation", "", "format:heif", ""]).sentence.endswith("and 1 is stored with it")
