"""Find files that are called like the images, one for each image, which may be labels that no layout reads."""

import posixpath
import re
from collections.abc import Collection, Iterator

from shardkit.sources.claim import Claim
from shardkit.sources.name_index import stems_of_file
from shardkit.sources.recognising.claims.captions import is_caption
from shardkit.sources.recognising.claims.image_names import ImageNames
from shardkit.sources.recognising.claims.searching import files_by_kind
from shardkit.sources.walking import join, read_head
from shardkit.storage import Folder

_ENDINGS = frozenset({".json", ".xml", ".txt", ".csv", ".mat"})
_STRUCTURED = (".json", ".xml")
_NUM_FILES = 200  # of a folder, which are compared
_MIN_SHARE = 1 / 2  # of these that are called like images
# Words of labels in JSON and XML; those of a photograph's data, as Google Takeout keeps them, have none.
_OF_LABELS = re.compile(
    rb"[\"<](?:bbox|bnd|box|bounding|annotation|categor|class|label|object|points|poly|region|segment|shape|tag)",
    re.IGNORECASE,
)


def claims_of_single_images(
    folder: Folder, excluded: str | None, names: ImageNames, used: Collection[str] = ()
) -> Iterator[Claim]:
    """Yield a claim for each folder with files that are called like the images."""
    kinds = files_by_kind(folder, excluded, _ENDINGS)
    groups = [(path, [name for name in files if join(path, name) not in used]) for path, files in kinds]
    names.look_for([stem for _, files in groups for name in files[:_NUM_FILES] for stem in _stems(name)])
    for path, files in groups:
        some = files[:_NUM_FILES]
        found = {name: one for name in some if (one := next(filter(None, map(names.find, _stems(name))), None))}
        if not found or len(found) < _MIN_SHARE * len(some):
            continue
        first = next(iter(found))
        may_be_labels = may_hold_labels(folder, join(path, first))
        if len(found) == 1 and not (may_be_labels and first.lower().endswith(_STRUCTURED)):
            continue  # a note in a folder
        is_whole = len(some) == len(files) and names.are_counted
        yield Claim(
            join(path, first),
            len(found),
            names.num_images,
            is_whole=is_whole,
            form=found[first].form,
            gives="unknown" if may_be_labels else "nothing",
            why=f"no layout reads such a {posixpath.splitext(first)[1]} for each image",
            num_files=len(found) if is_whole else len(files),
        )


def may_hold_labels(folder: Folder, path: str) -> bool:
    """Return whether the beginning of a file does not look like a caption or like what a camera says."""
    head = read_head(folder, path) or b""
    if path.lower().endswith(_STRUCTURED):
        return _OF_LABELS.search(head) is not None
    return not (path.lower().endswith(".txt") and is_caption(head.decode("utf-8", "replace")))


def _stems(name: str) -> list[str]:
    """Return what an image may be called to which a file belongs."""
    stem = posixpath.splitext(name)[0]
    return [stem, *stems_of_file(stem)]
