"""Images and masks whose folders may mean something else are a question, with other masks and classes as answers."""

import pytest

from shardkit.errors import CallError
from shardkit.sources.opening import open_source
from shardkit.testing import write_tree
from shardkit.testing.refusals import command_text

from ..folders.test_masks import drawn, pairs

# name: files, why it asks, and what is offered
ASKED = {
    "classes above both folders": (
        pairs(*((f"{c}/images/{j}.png", f"{c}/masks/{j}.png") for c in ("covid", "normal") for j in range(3))),
        "the folders covid, normal mean something, or nothing",
        "the class is covid/, normal/, without the masks",
    ),
    "classes below both folders": (
        pairs(*((f"image/{c}/{j}.png", f"mask/{c}/{j}.png") for c in ("glass", "stone") for j in range(3))),
        "the folders glass, stone mean something, or nothing",
        "the class is glass/, stone/, without the masks",
    ),
    "masks of two observers": (
        pairs(*((f"images/{j}.png", f"1st_manual/{j}.png") for j in range(5)))
        | {f"2nd_manual/{j}.png": drawn(seed=j) for j in range(5)},
        "5 images that the reading does not include",
        "mask from 2nd_manual/",
    ),
    "before and after": (
        pairs(*((f"A/{j}.png", f"label/{j}.png") for j in range(5)))
        | {f"B/{j}.png": drawn("photograph", 9) for j in range(5)},
        "5 images that the reading does not include",
        "as it was recognised",
    ),
    "masks of unknown names": (
        pairs(*((f"aerial/c{j}.png", f"atlas/c{j}.png") for j in range(3))),
        "atlas/{dir}/{stem} is not called like masks",
        "as it was recognised",
    ),
}


@pytest.mark.parametrize("name", ASKED)
def test_pairs_that_may_mean_something_else_are_asked_about(name, tmp_path):
    files, says, offered = ASKED[name]
    with pytest.raises(CallError) as raised:
        open_source(str(write_tree(tmp_path / "source", files)))
    assert says in str(raised.value)
    assert offered in command_text(raised.value)
