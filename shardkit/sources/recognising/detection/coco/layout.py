"""COCO: a JSON file of images, categories and annotations, and folders of images next to it.

The split comes from the name of the file or of its folder: ``annotations/instances_train2017.json`` is ``train``.
"""

from shardkit.layouts import LAYOUTS
from shardkit.sources.context import Opening
from shardkit.sources.formats.coco.panoptic import PANOPTIC
from shardkit.sources.formats.coco.records import CATEGORY, COCO
from shardkit.sources.listing import Source
from shardkit.sources.recognising.detection.coco.classes import (
    Kind,
    choose_kind,
    gives_several,
    ids_disagree,
    kind_of,
    refuse_kind,
)
from shardkit.sources.recognising.detection.coco.files import (
    AnnotationFiles,
    find_annotation_files,
    find_image_folders,
    is_coco,
)
from shardkit.sources.recognising.detection.found_files import open_found_files

__all__ = ["is_coco", "open_coco"]


def open_coco(opening: Opening) -> Source:
    """Find the annotation files and their images, which may be in the folder above a file that is the source."""
    folder, options, json_path = opening.folder, opening.options, opening.file
    found = find_annotation_files(folder) if json_path is None else AnnotationFiles((json_path,))
    chosen, has_boxes, remark = choose_kind(folder, found)
    if not chosen and (panoptic := [path for path in found.paths if kind_of(folder, path) is Kind.PANOPTIC]):
        root, files = find_image_folders(folder, panoptic, options, may_leave=json_path is not None)
        return open_found_files(opening, root, PANOPTIC.name, LAYOUTS["coco"].titles[-1], files, {}, gives_masks=True)
    root, files = find_image_folders(folder, chosen or found.paths, options, may_leave=json_path is not None)
    if not chosen:
        refuse_kind(folder, found.paths[0])  # after the files' first images, which tell more if a file is damaged
    settings = {} if has_boxes else {"boxes": "none"}
    if ids_disagree(folder, chosen):
        settings["classes"] = "names"
        remark += "; note: the files have different category ids, and classes are those of the same name"
    has_several = not has_boxes and gives_several(folder, chosen)
    remark += "; images may have several classes" if has_several else ""
    with_boxes, without, _ = LAYOUTS["coco"].titles
    return open_found_files(
        opening,
        root,
        COCO.name,
        with_boxes if has_boxes else without,
        files,
        settings,
        field=None if has_boxes else CATEGORY,
        has_several=has_several,
        remark=remark,
    )
