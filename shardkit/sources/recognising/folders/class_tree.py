"""Decide how a tree of folders is read: where its splits, its labels and its unlabelled images are.

    cat/1.jpg                    labels
    Train_set/cat/1.jpg          splits, then labels; folders of the same names between them are skipped
    cat/train/1.jpg              labels, then splits
    flowers/rose/1.jpg           one folder around everything: the tree in it is read instead
    train/1.jpg                  no labels: see `flat_folders`

A tree that can be read in two ways is refused with a command for each. Only the folders of the first levels are listed,
and of the label folders the first few.
"""

import posixpath

from shardkit.naming import IMAGE_ENDINGS, printable
from shardkit.refusals import RefusalError
from shardkit.sources.file_names import ending
from shardkit.sources.recognising.folders.annotated_trees import refuse_annotated
from shardkit.sources.recognising.folders.beside_classes import (
    Without,
    decide_about_others,
    few_loose_images,
    other_test_sets,
    reading_without,
    unlabelled_next_to_classes,
    without_classes,
    without_repeated,
)
from shardkit.sources.recognising.folders.class_folders import (
    ClassFolders,
    LabelRoot,
    NamedFolder,
    label_folders,
    named_remark,
    read_as_classes,
    unlabelled_remark,
)
from shardkit.sources.recognising.folders.class_levels import (
    are_initials,
    inner_splits,
    innermost,
    longer_names,
    refuse_inner_classes,
    refuse_unclear_level,
    trees_alone,
)
from shardkit.sources.recognising.folders.coded_names import refuse_coded_names
from shardkit.sources.recognising.folders.copies import (
    copies_among,
    copies_by_name,
    is_same_tree,
    refuse_variants,
    repeated_trees,
)
from shardkit.sources.recognising.folders.first_images import NUM_SAMPLED, has_images, holds_image, listed
from shardkit.sources.recognising.folders.mixed_folders import are_classes, refusal_of_mixture
from shardkit.sources.recognising.folders.no_classes import (
    are_parts_of_classes,
    classes_in_names,
    parts_of_data,
    refuse_no_classes,
    refuse_parts_of_data,
)
from shardkit.sources.recognising.folders.source_place import FORCED, SourcePlace
from shardkit.sources.recognising.folders.split_folders import (
    is_of_project,
    is_unlabelled,
    splits_in_names,
    splits_of,
)
from shardkit.sources.recognising.folders.tree_forms import FlatFolders, Wrapper
from shardkit.sources.recognising.folders.unlabelled_tests import tests_in_parts, unlabelled_tests
from shardkit.sources.walking import children, files_below, join
from shardkit.storage import Folder

_SOUNDS = frozenset({".flac", ".m4a", ".mp3", ".ogg", ".wav"})
_MAX_WITH_LISTS = 8  # folders of which all but one may hold lists only; more of them are classes


def read_tree(
    folder: Folder, excluded: str | None, place: SourcePlace
) -> ClassFolders | FlatFolders | Wrapper | Without:
    """Decide how a tree is read that no other layout recognises."""
    names = label_folders(folder, "", excluded)
    if not names:
        return FlatFolders((LabelRoot("", None),))
    rest = [name for name in names if not is_of_project(name)]
    if 1 < len(rest) <= _MAX_WITH_LISTS:
        without = [name for name in rest if not _holds_only_others(folder, name)]
        rest = without if len(without) == 1 and len(label_folders(folder, without[0], excluded)) > 1 else rest
    if len(rest) == 1 < len(names) and not splits_of(names) and _is_data(folder, names):
        names = rest
    splits = splits_of(names)
    refuse_annotated(folder, names, splits, excluded, place)
    ordinary = [name for name in names if name not in splits and not is_unlabelled(name)]
    if splits and ordinary:
        # Folders such as docs/ hold no images; class folders do.
        ordinary = [name for name in ordinary if holds_image(folder, name)]
        splits |= unlabelled_tests(folder, ordinary, [*splits], excluded)
        ordinary = [name for name in ordinary if name not in splits]
    if splits and ordinary:
        more, others = other_test_sets(folder, splits, ordinary, excluded)
        if others:
            return reading_without(
                others, "holds no classes as the splits do and is", "hold no classes as the splits do and are"
            )
        splits |= more
        ordinary = [name for name in ordinary if name not in more]
    if splits and not ordinary:
        unused = tuple(name for name in names if name not in splits and not is_unlabelled(name))
        unlabelled = [name for name in names if is_unlabelled(name) and name not in splits]
        return _below_splits(folder, excluded, place, splits, unlabelled, unused)
    if splits and (repeated := repeated_trees(folder, ordinary, excluded)):
        return without_repeated(repeated)
    if splits and unlabelled_next_to_classes(folder, splits, ordinary, excluded):
        return reading_without(
            [*splits], "holds test images without labels and is", "hold test images without labels and are"
        )
    if splits and not are_classes(folder, list(splits), ordinary):
        copies = copies_among(folder, names)
        if ordinary == [*copies] and all(is_same_tree(folder, *one) for one in copies.items()):
            return without_repeated([*copies])
        raise refusal_of_mixture(folder, place, list(splits), ordinary, excluded)
    if len(names) == 1 and not splits:
        return _one_folder(folder, names[0], excluded, place)
    return _labels(folder, names, excluded, place, list(splits))


def _holds_only_others(folder: Folder, name: str) -> bool:
    """Return whether a folder holds lists or sounds and no image; an empty one may be a class, one of texts boxes."""
    if any(not entry.is_folder for entry in children(folder, name)):
        return not holds_image(folder, name)
    first = next(files_below(folder, name), None)
    return first is not None and ending(first[0]) in _SOUNDS and not holds_image(folder, name)


def _is_data(folder: Folder, names: list[str]) -> bool:
    """Return whether only one of some folders holds images: the others are those of a program."""
    return sum(holds_image(folder, name) for name in names) == 1 and not has_images(folder, "")


def _below_splits(
    folder: Folder,
    excluded: str | None,
    place: SourcePlace,
    splits: dict[str, str],
    unlabelled: list[str],
    unused: tuple[str, ...],
) -> ClassFolders | FlatFolders | Wrapper | Without:
    roots = [LabelRoot(innermost(folder, name, excluded, of_split=True), split) for name, split in splits.items()]
    inner = {root: label_folders(folder, root.path, excluded) for root in roots}
    without = tests_in_parts({root: inner[root] for root in roots})
    unlabelled = [*unlabelled, *(root.path for root in without)]
    roots = [root for root in roots if root not in without]
    labelled = tuple(root for root in roots if inner[root])
    # train/{train,test}/…, or train_data/rec/{train,test}/…
    if len(roots) == 1 and labelled and _hold_splits(folder, roots[0].path, inner[roots[0]], excluded):
        is_alone = not unlabelled and not unused and not has_images(folder, "")
        if is_alone and not has_images(folder, roots[0].path):
            return Wrapper(roots[0].path)
    nested = [root.path for root in labelled if len(splits_of(inner[root])) > 1]
    if nested:
        problem = f"{place.shown}: {listed(nested)} itself contains split folders: {listed(inner[labelled[0]])}"
        remedy = f"unpack the archive, and give {listed(nested)} as SOURCE" if place.in_archive else ""
        raise RefusalError(problem, place.inside(nested, "the splits are in this folder"), remedy=remedy)
    flat = [root for root in roots if not inner[root]]
    if not labelled:
        return FlatFolders(tuple(flat), tuple(unlabelled))
    with_images = [root for root in flat if holds_image(folder, root.path)]
    if no_labels := [root.path for root in with_images if root.split == "train"]:
        problem = (
            f"{place.shown}: {listed(no_labels)} has images and no label folders, unlike {listed([labelled[0].path])}"
        )
        commands = [
            place.without(no_labels, f"without {listed(no_labels)}"),
            place.whole({"unlabelled": True}, "all images, without labels"),
        ]
        raise RefusalError(problem, commands)
    for root in labelled:
        copies = {join(root.path, one): join(root.path, of) for one, of in copies_by_name(inner[root]).items()}
        if copies and all(is_same_tree(folder, *pair) for pair in copies.items()):
            return without_repeated([*copies])
        refuse_variants(folder, root.path, inner[root], place)
        sampled = [join(root.path, name) for name in inner[root] if not is_unlabelled(name)][:NUM_SAMPLED]
        refuse_unclear_level(folder, sampled, excluded, place, are_in_split=True)
        refuse_parts_of_data(inner[root], place)
    named = longer_names({root.path: inner[root] for root in labelled}, place)
    left_out = (*unlabelled, *(root.path for root in with_images))
    remark = unlabelled_remark(left_out) + named_remark(named)
    return ClassFolders(folder, labelled, excluded, remark, left_out, unused, skips_unlabelled=True, named=tuple(named))


def _hold_splits(folder: Folder, path: str, inner: list[str], excluded: str | None) -> bool:
    return splits_of(inner).keys() == set(inner) or bool(inner_splits(folder, path, excluded))


def _one_folder(folder: Folder, name: str, excluded: str | None, place: SourcePlace) -> FlatFolders | Wrapper:
    loose = [one.name for one in children(folder) if not one.is_folder and ending(one.name) in IMAGE_ENDINGS]
    kinds = sorted({posixpath.splitext(path)[1] for path in loose})  # globs distinguish .jpg and .JPG
    if kinds and not has_images(folder, name):
        problem = f"{place.shown}: there are images next to the only folder, {printable(name)}/"
        inner = place.without([f"*{kind}" for kind in kinds], f"only the images in {printable(name)}/", files=True)
        raise RefusalError(problem, [inner, place.whole({"unlabelled": True}, "all images, without labels")])
    if kinds:
        return FlatFolders((LabelRoot("", None), LabelRoot(name, None)))
    is_flat = has_images(folder, name) and not few_loose_images(folder, name, label_folders(folder, name, excluded))
    return FlatFolders((LabelRoot(name, None),)) if is_flat else Wrapper(name)


def _labels(
    folder: Folder, names: list[str], excluded: str | None, place: SourcePlace, as_labels: list[str]
) -> ClassFolders | FlatFolders | Without:
    if are_parts_of_classes(folder, names, excluded):
        roots = tuple(LabelRoot(name, None) for name in names)
        remark = f"; note: {listed(names)} {parts_of_data(names)}; the folders in them are the classes"
        return ClassFolders(folder, roots, excluded, remark)
    if are_initials(folder, names, excluded):
        remark = f"; note: {listed(names)} are the first letters of the classes in them"
        return ClassFolders(folder, tuple(LabelRoot(name, None) for name in names), excluded, remark)
    if repeated := repeated_trees(folder, names, excluded):
        return without_repeated(repeated)
    if parts := splits_in_names(names):
        named = [NamedFolder(name, split, label) for name, (label, split) in parts.items()]
        return ClassFolders(folder, excluded=excluded, remark=named_remark(named), named=tuple(named))
    if classes := classes_in_names(names) if all(has_images(folder, name) for name in names) else {}:
        named = [NamedFolder(name, None, label) for name, label in classes.items()]
        return ClassFolders(folder, excluded=excluded, remark=named_remark(named), named=tuple(named))
    if why := refuse_no_classes(folder, names, place):
        return FlatFolders(tuple(LabelRoot(name, None) for name in names), why=why)
    if bare := without_classes(folder, names, excluded):
        return reading_without(bare, "holds images without classes and is", "hold images without classes and are")
    if (found := decide_about_others(folder, names, excluded, place)) is not None:
        return found
    if copies := copies_among(folder, names):
        if len(copies) < len(names) and all(is_same_tree(folder, *one) for one in copies.items()):
            return without_repeated([*copies])
        problem = f"{place.shown}: {listed([*copies])} may be a copy of what is next to it, with other files"
        if len(copies) > 1:
            problem = f"{place.shown}: {listed([*copies])} may be copies of what is next to them, with other files"
        without = place.without([*copies], f"without {listed([*copies])}, a copy")
        raise RefusalError(problem, [without])
    refuse_variants(folder, "", names, place)
    remark = read_as_classes(as_labels, names)
    left_out = [name for name in names if is_unlabelled(name)]
    remark += unlabelled_remark(left_out)
    sampled = [name for name in names if name not in left_out][:NUM_SAMPLED]
    if len(sampled) == 1 < len(names) and not has_images(folder, sampled[0]):
        problem = f"{place.shown}: {listed(left_out)} next to the only other folder, {listed(sampled)}, has no labels"
        raise RefusalError(
            problem,
            [place.without(left_out, f"without {listed(left_out)}"), place.tree(FORCED, "each folder is a class")],
        )
    inner = {name: label_folders(folder, name, excluded) for name in sampled}
    without_images = all(inner[name] and not has_images(folder, name) for name in sampled)
    if without_images and all(splits_of(below).keys() == set(below) for below in inner.values()):
        refuse_inner_classes(folder, inner, excluded, place)
        refuse_parts_of_data(names, place)
        return ClassFolders(folder, excluded=excluded, remark=remark, splits_below=True, skips_unlabelled=True)
    if split_up := [name for name, below in inner.items() if len(set(splits_of(below).values())) > 1]:
        problem = (
            f"{place.shown}: {listed(split_up)} {'contains' if len(split_up) == 1 else 'contain'} split folders "
            f"({listed(inner[split_up[0]])}), but other class folders do not"
        )
        remedy = f"divide the images of every class, or move those of {listed(split_up)} out of the split folders"
        others = tuple(name for name in names if name not in split_up)
        raise RefusalError(problem, trees_alone(folder, split_up, excluded, place, others), remedy=remedy)
    refuse_unclear_level(folder, sampled, excluded, place)
    refuse_parts_of_data(names, place)
    refuse_coded_names(folder, sampled, place)
    if loose := few_loose_images(folder, "", names):
        be, are = ("is an image", "is") if len(loose) == 1 else ("are images", "are")
        return Without(tuple(loose), f"{be} next to the classes and {are} not read")
    if without_images and sampled:
        first = sampled[0]
        remark += f"; note: folders in a class, such as {printable(join(first, inner[first][0]))}/, are parts of it"
    return ClassFolders(folder, excluded=excluded, remark=remark, skips_unlabelled=True)
