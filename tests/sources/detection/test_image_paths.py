import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.naming import relative_path_problem
from shardkit.sources.engine.image_places import find_paths, places_below
from shardkit.sources.engine.paths import PathRule
from shardkit.sources.listing import BadRecord
from shardkit.storage import open_folder
from shardkit.testing import write_tree

# how paths are read, a path as written, and its key; None if it may not be followed
KEYS = (
    (PathRule(""), "a.jpg", "a.jpg"),
    (PathRule("images"), "b/a.jpg", "images/b/a.jpg"),
    (PathRule("images"), "./b\\a.jpg", "images/b/a.jpg"),
    (PathRule("json"), "../images/a.jpg", "images/a.jpg"),
    (PathRule("", ending=".jpg"), "00ab", "00ab.jpg"),
    (PathRule("", ending=".jpg"), "a.b", "a.b.jpg"),
    (PathRule("", ending=".jpg"), "a.png", "a.png"),
    (PathRule("x", num_dropped=2), "gs://bucket/set/a.jpg", "x/a.jpg"),
    (PathRule("x", num_dropped=1), "C:\\set\\a b.jpg", "x/a b.jpg"),
    (PathRule("x", num_dropped=5), "a.jpg", "x/a.jpg"),
    (PathRule("images"), "../../a.jpg", None),
    (PathRule(""), "..", None),
    (PathRule(""), "", None),
    (PathRule(""), 3, None),
    (PathRule(""), "a\0.jpg", None),
    (PathRule(""), "\ud800.jpg", None),
    (PathRule(""), "a/" * 3000, None),
)


@pytest.mark.parametrize(("paths", "text", "key"), KEYS)
def test_a_path_becomes_a_key_below_the_folder(paths, text, key):
    if key is None:
        with pytest.raises(BadRecord):
            paths.key(text)
    else:
        assert paths.key(text) == key


@given(
    st.sampled_from(["", "images", "a/b"]),
    st.integers(0, 2),
    st.text(st.sampled_from("ab./\\: é\n"), max_size=12) | st.text(max_size=8),
)
def test_no_key_leaves_the_folder(place, num_dropped, text):
    try:
        key = PathRule(place, num_dropped).key(text)
    except BadRecord:
        return
    assert relative_path_problem(key) is None


def test_the_whole_path_in_any_folder_comes_before_its_end(tmp_path):
    root = write_tree(tmp_path, {"s/boxes.csv": b"", "s/other/a.jpg": b"x", "s/deep/set/a.jpg": b"x"})
    folder = open_folder(str(root / "s"))
    places = [(folder, place) for place in places_below(folder, folder, "boxes.csv")]
    assert find_paths(["set/a.jpg"], places)[1] == PathRule("deep")
    assert find_paths(["gone/a.jpg"], places)[1] == PathRule("other", num_dropped=1)
    assert find_paths(["gone/b.jpg"], places) is None
