"""Tell files of one image each that name another image than the one they are called like."""

import posixpath
from collections.abc import Sequence

from shardkit.naming import printable
from shardkit.sources.formats.format import ImageFormat
from shardkit.sources.name_index import stems_of_file
from shardkit.sources.walking import files_below, is_image, parent_of, read_label_file, stem_of
from shardkit.storage import Folder

_NUM_READ = 8  # the first files, and as many evenly from all


def note_of_other_names(folder: Folder, kind: ImageFormat, paths: Sequence[str]) -> str:
    """Return a note if some files name another image, which exists, too; '' if the first few do not.

    A file has the stem of its image. If images or files were numbered again, what it says may be right instead. A name
    of no image here is no doubt: files are renamed together with their images.
    """
    said: dict[str, str] = {}
    for path in dict.fromkeys((*paths[:_NUM_READ], *paths[:: 1 + len(paths) // _NUM_READ])):
        data = read_label_file(folder, path, 0, kind.max_bytes)
        name = "" if isinstance(data, str) else posixpath.basename(kind.parse(data, {}).image)
        stem = stem_of(path)
        if name and stem_of(name) not in {stem, *stems_of_file(stem)}:
            said[path] = name
    if not said:
        return ""
    wanted = {*map(stem_of, said), *map(stem_of, said.values())}
    places: dict[str, set[str]] = {}  # of the images of each stem
    for path, entry in files_below(folder, ""):
        if is_image(entry.name) and (stem := stem_of(path)) in wanted:
            places.setdefault(stem, set()).add(parent_of(path))
    others = [
        (path, name)
        for path, name in said.items()
        if places.get(stem_of(path), set()) & places.get(stem_of(name), set())
    ]
    if not others:
        return ""
    path, name = others[0]
    return f"; note: files name other images than those they are called like: {printable(path)} names {printable(name)}"
