"""The options of an addition, and its commands in errors."""

from fractions import Fraction

import pytest
from shardkit.planning.user_call import completed_commands
from shardkit.sources.commands import Command, for_append, refusal

from shardkit.errors import CallError
from shardkit.sources.options import SourceOptions
from shardkit.writing.appending.options import append_call


@pytest.mark.parametrize(
    ("changed", "options"),
    [({"splits": None}, " --splits own"), ({"splits": {"train": Fraction(1)}}, " --splits train=1"), ({}, "")],
)
def test_commands_in_errors_keep_what_the_user_said_of_splits(changed, options):
    call = append_call("D", "new", SourceOptions(), changed)
    assert call.command("").line == f"shardkit append D new{options}"
    with pytest.raises(CallError) as raised, completed_commands(call):
        raise refusal("unclear", [Command("new", ("--layout", "coco"), "boxes")])
    said = str(for_append(raised.value, "D"))
    assert said == f"unclear; run:\n  shardkit append D new --layout coco{options}  # boxes"
