import pytest

from shardkit.errors import CallError
from shardkit.sources.filtered_folder import IgnoreGlob

# A glob, paths that it matches, and paths that it does not.
GLOBS = [
    ("test1", ["test1", "test1/1.jpg", "a/test1/b/1.jpg"], ["test12/1.jpg", "a/test1.jpg", "test"]),
    ("test1/", ["test1/1.jpg", "a/test1/1.jpg"], ["test1", "a/test1"]),
    ("*.webp", ["1.webp", "a/b/1.webp", "a.webp/1.jpg"], ["1.webp.jpg", "webp"]),
    ("/test1", ["test1/1.jpg", "test1"], ["a/test1/1.jpg"]),
    ("raw/old", ["raw/old/1.jpg"], ["a/raw/old/1.jpg", "raw/older/1.jpg"]),
    ("raw/*.jpg", ["raw/1.jpg"], ["raw/deep/1.jpg", "raw/1.png"]),
    ("**/cache/*.png", ["cache/1.png", "a/b/cache/1.png"], ["cache/deep/1.png"]),
    ("a/**/b.jpg", ["a/b.jpg", "a/x/y/b.jpg"], ["b.jpg", "x/a/b.jpg"]),
    ("a/**", ["a/1.jpg", "a/b/1.jpg"], ["b/a/1.jpg"]),
    ("./a/", ["a/1.jpg", "b/a/1.jpg"], []),
    ("img_?.jpg", ["img_1.jpg", "x/img_2.jpg"], ["img_10.jpg", "img_/.jpg"]),
    ("[ab].jpg", ["a.jpg", "x/b.jpg"], ["c.jpg", "ab.jpg"]),
    ("[!ab].jpg", ["c.jpg"], ["a.jpg"]),
    ("a+b (1).jpg", ["a+b (1).jpg"], ["aab 1.jpg"]),
    ("Test", ["Test/1.jpg"], ["test/1.jpg"]),
]


@pytest.mark.parametrize(("glob", "inside", "outside"), GLOBS, ids=[glob for glob, *_ in GLOBS])
def test_globs_match_as_in_gitignore(glob, inside, outside):
    found = IgnoreGlob(glob)
    assert [path for path in inside if not found.matches(path)] == []
    assert [path for path in outside if found.matches(path)] == []


def test_a_folder_is_hidden_as_a_whole_only_if_everything_in_it_is():
    assert IgnoreGlob("test1/").matches_folder("a/test1")
    assert IgnoreGlob("test1").matches_folder("test1")
    assert not IgnoreGlob("*.jpg").matches_folder("test1")
    assert not IgnoreGlob("test1/*.jpg").matches_folder("test1")


@pytest.mark.parametrize("glob", ["", "/", "!keep.jpg", "[b-a].jpg"])
def test_what_is_no_glob_is_refused(glob):
    with pytest.raises(CallError, match=r"^ignore="):
        IgnoreGlob(glob)
