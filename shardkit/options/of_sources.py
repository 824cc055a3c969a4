"""The options that say how a source is read, and what is taken from a dataset that is converted again."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from shardkit.options.definition import Group, group, option
from shardkit.options.forms import (
    Choice,
    ClassNames,
    Hashed,
    NamedOrigins,
    Number,
    Several,
    Switch,
    WholeReading,
)
from shardkit.options.values import (
    LabelType,
    Layout,
    Match,
    Missing,
    Uncertain,
)

OF_NEW_DATASETS = ("convert", "plan")


@group()
@dataclass(frozen=True, kw_only=True)
class SourceArguments(Group):
    """How any source is read."""

    layout: Layout | None = field(
        default=None,
        metadata=option(
            "layout of SOURCE, one of those that `shardkit help layouts` lists",
            heading="Source",
            form=Choice(
                words=get_args(Layout),
                other_names=tuple((name, "class-folders") for name in ("imagefolder", "image-folder", "image_folder")),
            ),
            metavar="NAME",
            default_text="detected",
        ),
    )
    root: str | None = field(
        default=None,
        metadata=option(
            "folder that relative paths in a table, list or label file start from",
            heading="Source",
            default_text="its folder",
            metavar="FOLDER",
        ),
    )
    ignore: Sequence[str] = field(
        default=(),
        metadata=option(
            "files and folders to leave out, as in .gitignore: test1/ or '*.webp'; repeat it for more",
            heading="Source",
            form=Several(),
            metavar="GLOB",
            is_common=True,
        ),
    )
    classes: Sequence[str] | None = field(
        default=None,
        metadata=option(
            "names of the classes in label order, in a file one per line; a table's integers are positions, from 0",
            heading="Source",
            form=ClassNames(),
            default_text="the source's order, or sorted (integers by value)",
            metavar="FILE",
            is_common=True,
            commands=OF_NEW_DATASETS,
        ),
    )
    unlabelled: bool = field(
        default=False,
        metadata=option(
            "images without labels, from any tree of folders",
            heading="Source",
            form=Switch(),
            other_flags=("--unlabeled",),
        ),
    )
    without_annotation: Missing | None = field(
        default=None,
        metadata=option(
            "images that no file of boxes, labels or masks names: rejected, examples without objects, or left out",
            heading="Source",
            form=Choice(words=get_args(Missing)),
            default_text="reject",
        ),
    )
    drop_repeated_boxes: bool = field(
        default=False,
        metadata=option(
            "leave out boxes that repeat an earlier box of their image, with the same class",
            heading="Source",
            form=Switch(),
        ),
    )
    readmit: bool = field(
        default=False,
        metadata=option(
            "take in images that `drop` removed from a dataset before; otherwise they stay out",
            heading="Source",
            form=Switch(),
        ),
    )
    reading: Any = field(
        default=None,
        metadata=option(
            "how SOURCE is read, in a YAML file as `plan --write-config FILE` writes it; in Python also a mapping; "
            "detected: not as the dataset remembers",
            heading="Reading",
            form=WholeReading(),
            metavar="FILE",
        ),
    )


@group("facts")
@dataclass(frozen=True, kw_only=True)
class Facts(Group):
    """How a source is read, fact by fact: then nothing is detected, and every file is accounted for."""

    label: str | None = field(
        default=None,
        metadata=option(
            "where labels come from: path:0 (folder), name:REGEX, TABLE:COLUMN, LIST=VALUE,… or FORMAT:GLOB, as in "
            "`shardkit help layouts`",
            heading="Reading",
            default_text="detected",
            metavar="ORIGIN",
            is_common=True,
        ),
    )
    split: str | None = field(
        default=None,
        metadata=option(
            "where splits come from: path:0, TABLE:COLUMN, or lists such as train.txt=train,val.txt=validation",
            heading="Reading",
            metavar="ORIGIN",
            is_common=True,
        ),
    )
    group: str | None = field(
        default=None,
        metadata=option(
            "where the group comes from whose images stay in one split", heading="Reading", metavar="ORIGIN"
        ),
    )
    boxes: str | None = field(
        default=None,
        metadata=option(
            "files with boxes: coco:annotations/*.json, voc, yolo and others",
            heading="Reading",
            metavar="FORMAT:GLOB",
            is_common=True,
        ),
    )
    mask: str | None = field(
        default=None,
        metadata=option(
            "the mask of each image: masks/{stem}_m.png, with {0} for a folder and {dir} for all folders of the image; "
            "masks/{stem}=images/{stem}_sat where {stem} is a part of the image's name",
            heading="Reading",
            metavar="TEMPLATE",
            is_common=True,
        ),
    )
    features: Mapping[str, str] | Sequence[str] = field(
        default=(),
        metadata=option(
            "further feature of each example, such as age=meta.csv:age; repeat it for more",
            heading="Reading",
            form=NamedOrigins(),
            flag="--feature",
            metavar="NAME=ORIGIN",
        ),
    )
    images: Sequence[str] = field(
        default=(),
        metadata=option(
            "images that are examples, such as 'photos/**'; repeat it for more",
            heading="Reading",
            form=Several(),
            default_text="all",
            metavar="GLOB",
        ),
    )
    match: Match | None = field(
        default=None,
        metadata=option(
            "how tables, lists and label files name images: by path, end of the path, name, name without "
            "ending, or (several images) by the start of their names",
            heading="Reading",
            form=Choice(words=get_args(Match)),
            default_text="what names most images",
        ),
    )


@group("table")
@dataclass(frozen=True, kw_only=True)
class Table(Group):
    """How tables and the fields of annotations are read."""

    image_column: str | None = field(
        default=None,
        metadata=option(
            "column of a table with the image paths",
            heading="Source",
            default_text="image, path, file_name …",
            metavar="NAME",
        ),
    )
    label_columns: Sequence[str] = field(
        default=(),
        metadata=option(
            "column, field or kind of the labels; repeat it for multiple labels",
            heading="Source",
            form=Several(),
            default_text="label, class …",
            flag="--label-column",
            metavar="NAME",
        ),
    )
    label_separator: str | None = field(
        default=None,
        metadata=option("separator of multiple labels in one column", heading="Source", metavar="TEXT"),
    )
    label_type: LabelType = field(
        default="auto",
        metadata=option(
            "whether labels are classes, or numbers for regression",
            heading="Source",
            form=Choice(words=get_args(LabelType)),
        ),
    )
    uncertain: Uncertain | None = field(
        default=None,
        metadata=option(
            "what -1 means in columns of 0 and 1, as in CheXpert: the class does not apply, it applies, or the image "
            "is left out",
            heading="Source",
            form=Choice(words=get_args(Uncertain)),
            default_text="such columns are refused",
        ),
    )
    path_prefix: Sequence[str] = field(
        default=(),
        metadata=option(
            "replacement of the beginning of a table's paths, such as 'C:\\data=/home/me/data'; repeatable, the "
            "first that fits counts",
            heading="Source",
            form=Several(),
            metavar="OLD=NEW",
        ),
    )
    split_column: str | None = field(
        default=None,
        metadata=option(
            "column of a table with the split",
            heading="Splits",
            default_text="split, if it exists",
            metavar="NAME",
        ),
    )


@group("folders")
@dataclass(frozen=True, kw_only=True)
class Folders(Group):
    """How the names of folders and files are read."""

    label_pattern: str | None = field(
        default=None,
        metadata=option(
            "label in the file name: the first group of a regular expression, or its groups label, split and group",
            heading="Source",
            metavar="REGEX",
        ),
    )
    class_level: int = field(
        default=1,
        metadata=option(
            "level of the class folders in SOURCE or its split folders: 2 for <patient>/<label>/image",
            heading="Source",
            form=Number(low=1, high=1 << 16),
            metavar="N",
        ),
    )


@group("tfrecord")
@dataclass(frozen=True, kw_only=True)
class TFRecord(Group):
    """How TFRecords that others wrote are read."""

    image_feature: str | None = field(
        default=None,
        metadata=option("feature of TFRecords with the image", heading="Source", default_text="found", metavar="NAME"),
    )
    label_feature: str | None = field(
        default=None,
        metadata=option("feature of TFRecords with the labels", heading="Source", default_text="found", metavar="NAME"),
    )
    keep_truncated: bool = field(
        default=False,
        metadata=option(
            "convert the first records of a TFRecord file that cannot be read to its end, instead of stopping",
            heading="Source",
            form=Switch(),
        ),
    )


@group("selection")
@dataclass(frozen=True, kw_only=True)
class Selection(Group):
    """What is taken from a dataset that is converted again, and corrected in it."""

    where: str | None = field(
        default=None,
        metadata=option(
            "condition on the examples of a dataset, of which the others are left out: \"label_name != 'blurred' and "
            'height >= 64"',
            heading="Source",
            form=Hashed(placeholder="CONDITION"),
            metavar="CONDITION",
            json_name="where",
            commands=OF_NEW_DATASETS,
        ),
    )
    drop: str | os.PathLike[str] | Sequence[str] | None = field(
        default=None,
        metadata=option(
            "keys of examples of a dataset that are left out, in a file one per line",
            heading="Source",
            form=Hashed(),
            metavar="FILE",
            json_name="drop",
            commands=OF_NEW_DATASETS,
        ),
    )
    labels: str | os.PathLike[str] | Mapping[str, str] | None = field(
        default=None,
        metadata=option(
            "corrected labels of a dataset by key, in a CSV file with the columns key and label",
            heading="Source",
            form=Hashed(),
            metavar="FILE",
            json_name="labels",
            commands=OF_NEW_DATASETS,
        ),
    )
    key_prefix: bool = field(
        default=False,
        metadata=option(
            "with several datasets: put the name of its folder before each key",
            heading="Source",
            form=Switch(),
            commands=OF_NEW_DATASETS,
        ),
    )
