"""Trees of files as a folder and as a zip, and what shardkit reads in them."""

import zipfile

from shardkit.sources.opening import open_source
from shardkit.sources.options import SourceOptions
from shardkit.testing import write_tree

KINDS = ("folder", "zip")


def made(tmp_path, kind, files):
    """The path of a source with these files, a mapping or paths of files whose content does not matter."""
    if not isinstance(files, dict):
        files = dict.fromkeys(files, b"content")
    if kind == "folder":
        return str(write_tree(tmp_path / "source", files))
    with zipfile.ZipFile(tmp_path / "source.zip", "w") as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return str(tmp_path / "source.zip")


def read(url, **options):
    """(layout, {key: (split, label or labels)}, {key: reason}, skipped) of a source."""
    source = open_source(url, SourceOptions(**options))
    good, bad, skipped = {}, {}, {}
    for part in source.parts():
        for listing in source.list_part(part, 1000):
            for row in listing.table().to_pylist():
                if row["reason"]:
                    bad[row["key"]] = row["reason"]
                else:
                    good[row["key"]] = (row["split"], row["label_name"] or row.get("label_names"))
            for kind, count in listing.skipped.items():
                skipped[kind] = skipped.get(kind, 0) + count
    return source.layout, good, bad, skipped


def commands_in(error):
    """The options of the commands that a refusal gives, without SOURCE, and the folders below it that are SOURCE."""
    lines = [line.strip().split("  #")[0].split() for line in str(error).splitlines() if "shardkit convert" in line]
    return [" ".join(line[2:]) for line in lines]
