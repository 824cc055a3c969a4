"""Trees of files as a folder and as a zip, and what shardkit reads in them."""

from shardkit.testing import read_source, write_archive, write_tree

KINDS = ("folder", "zip")


def made(tmp_path, kind, files):
    """The path of a source with these files, a mapping or paths of files whose content does not matter."""
    if kind == "folder":
        return str(write_tree(tmp_path / "source", files))
    return str(write_archive(tmp_path / "source.zip", files))


def read(url, **options):
    """(layout, {key: (split, label or labels)}, {key: reason}, skipped) of a source."""
    found = read_source(url, **options)
    bad = dict(found.problems)
    good = {key: (split, label) for key, split, label in found.labels if key not in bad}
    return found.source.layout, good, bad, found.skipped


def commands_in(error):
    """The options of the commands that a refusal gives, without SOURCE, and the folders below it that are SOURCE."""
    lines = [line.strip().split("  #")[0].split() for line in error.splitlines() if "shardkit convert" in line]
    return [" ".join(line[2:]) for line in lines]
