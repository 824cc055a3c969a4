"""Account for every file that names images: lay lists of splits over the source, and say which files are not used."""

from collections.abc import Sequence
from dataclasses import replace

from shardkit.sources.claim import Claim
from shardkit.sources.engine.file_groups import names_file
from shardkit.sources.engine.source import ReadingSource
from shardkit.sources.engine.splits import split_of_file
from shardkit.sources.listing import Source, below
from shardkit.sources.options import Opening
from shardkit.sources.recognising.claims.captions import is_caption
from shardkit.sources.recognising.claims.collecting import NamingFile, naming_files
from shardkit.sources.recognising.claims.files_of_images import claims_of_single_images
from shardkit.sources.recognising.claims.image_names import ImageNames
from shardkit.sources.recognising.split_lists import divided_by_lists, own_columns, repeats_folders, split_columns
from shardkit.sources.recognising.wrapped_source import innermost, replaced
from shardkit.sources.walking import ending


def accounted(source: Source, opening: Opening) -> Source:
    """Return a source with the splits that lists in SOURCE give its images, and with the claims of all files."""
    is_known = source.label_files is not None
    names = ImageNames(opening.folder, opening.excluded)
    used = {below(opening.folder, url) for url in source.label_files or ()}
    files = naming_files(opening.folder, opening.excluded, names, only_lists=not is_known, used=used)
    of_images = [*claims_of_single_images(opening.folder, opening.excluded, names, used)] if is_known else []
    of_images = [one for one in of_images if not names_file(used, one.path)]
    are_folders_labels = source.label_files == ()
    source = divided_by_lists(source, files, opening)
    if source.label_files is None or not (files or of_images):
        return source
    read = [below(opening.folder, url) for url in source.label_files]
    claims = [_claim(one, names, source, read, are_folders_labels=are_folders_labels) for one in files]
    inner = innermost(source)
    if not isinstance(inner, ReadingSource):
        return source
    return replaced(source, replace(inner, claims=(*claims, *of_images)))


def _claim(
    one: NamingFile, names: ImageNames, source: Source, read: Sequence[str], *, are_folders_labels: bool
) -> Claim:
    claim = one.claim(names)
    if names_file(read, one.path):
        has_labels = one.may_be_labels(own_columns(one))
        return replace(claim, is_used=True, gives="labels" if has_labels else "splits")
    kind = ending(one.path)
    if one.file is None:
        of_kind = {".json": "this JSON is no table", ".csv": "it has no header", ".tsv": "it has no header"}
        what = of_kind.get(kind, f"{kind} files are not read")
        return replace(claim, gives="unknown", why=f"{what}; write the names and what belongs to them as a CSV file")
    columns = one.file.columns
    split, of_splits = split_of_file(one.path), split_columns(one)
    others = [i for i in one.others if i not in of_splits]
    if (
        others
        and all(repeats_folders(one, i) for i in [*others, *of_splits])
        and not (of_splits and source.takes_splits)
    ):
        return replace(claim, gives="nothing", why="it repeats the names of the folders")
    if (split or of_splits) and not one.may_be_labels(own_columns(one)):
        why = "the source has splits without it"
        if source.takes_splits:
            why = "its images have no labels"
        return replace(claim, gives="splits", why=why)
    if not others:
        return replace(claim, gives="nothing", why="it has only names, and its own name is not that of a split")
    what = "the labels come from the folders" if are_folders_labels else "the labels come from another file"
    if all(is_caption(str(row[i])) for i in others for row in one.rows if row[i] not in (None, "")):
        claim = replace(claim, gives="nothing")
    return replace(claim, why=f"{what}; its columns are {', '.join(map(repr, (columns[i] for i in others[:5])))}")
