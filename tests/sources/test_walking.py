"""Folders are listed once while a source is opened, also if they do not all fit into what is kept."""

from shardkit.sources import walking
from shardkit.storage import open_folder
from shardkit.testing import write_tree


def test_the_folders_that_were_asked_for_last_are_kept(tmp_path, monkeypatch):
    folder = open_folder(str(write_tree(tmp_path, {f"{name}/{i}.jpg": b"x" for name in "abc" for i in range(4)})))
    monkeypatch.setattr(walking, "_MAX_KEPT", 9)  # two of the three
    listed = []
    scan = type(folder).scan
    monkeypatch.setattr(type(folder), "scan", lambda self, path="": (listed.append(path), scan(self, path))[1])
    with walking.listing_once():
        names = {path: [entry.name for entry in walking.children(folder, path)] for path in "abbacbc"}
    assert listed == ["a", "b", "c", "b"]  # c took the place of b, which was asked for before a
    assert names == {path: [f"{i}.jpg" for i in range(4)] for path in "abc"}
    walking.children(folder, "a")
    assert listed[-1] == "a"
