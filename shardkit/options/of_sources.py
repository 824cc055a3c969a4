"""The options that say how a source is read, and what is taken from a dataset that is converted again."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from shardkit.options.definition import Group, Option
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


@dataclass(frozen=True, kw_only=True)
class SourceArguments(Group, heading="Source"):
    """How any source is read."""

    layout: Option[Layout, Layout | None] = Option(
        "layout of SOURCE, one of those that `shardkit help layouts` lists",
        form=Choice(
            words=get_args(Layout),
            other_names=tuple((name, "class-folders") for name in ("imagefolder", "image-folder", "image_folder")),
        ),
        metavar="NAME",
        default_text="detected",
    )
    root: Option[str, str | None] = Option(
        "folder that relative paths in a table, list or label file start from",
        default_text="its folder",
        metavar="FOLDER",
    )
    ignore: Option[Sequence[str], tuple[str, ...]] = Option(
        "files and folders to leave out, as in .gitignore: test1/ or '*.webp'; repeat it for more",
        default=(),
        form=Several(),
        metavar="GLOB",
        is_common=True,
    )
    classes: Option[Sequence[str], tuple[str, ...] | None] = Option(
        "names of the classes in label order, in a file one per line; a table's integers are positions, from 0",
        form=ClassNames(),
        default_text="the source's order, or sorted (integers by value)",
        metavar="FILE",
        is_common=True,
        commands=OF_NEW_DATASETS,
    )
    unlabelled: Option[bool, bool] = Option(
        "images without labels, from any tree of folders",
        default=False,
        form=Switch(),
        other_flags=("--unlabeled",),
    )
    without_annotation: Option[Missing, Missing | None] = Option(
        "images that no file of boxes, labels or masks names: rejected, examples without objects, or left out",
        form=Choice(words=get_args(Missing)),
        default_text="reject",
    )
    drop_repeated_boxes: Option[bool, bool] = Option(
        "leave out boxes that repeat an earlier box of their image, with the same class",
        default=False,
        form=Switch(),
    )
    readmit: Option[bool, bool] = Option(
        "take in images that `drop` removed from a dataset before; otherwise they stay out",
        default=False,
        form=Switch(),
    )
    reading: Option[Any, Any] = Option(
        "how SOURCE is read, in a YAML file as `plan --write-config FILE` writes it, or as JSON; in Python also a "
        "mapping; detected: not as the dataset remembers",
        heading="Reading",
        form=WholeReading(),
        metavar="FILE",
    )


@dataclass(frozen=True, kw_only=True)
class Facts(Group, argument="facts", heading="Reading"):
    """How a source is read, fact by fact: then nothing is detected, and every file is accounted for."""

    label: Option[str, str | None] = Option(
        "where labels come from: path:0 (folder), name:REGEX, TABLE:COLUMN, LIST=VALUE,… or FORMAT:GLOB, as in "
        "`shardkit help layouts`",
        default_text="detected",
        metavar="ORIGIN",
        is_common=True,
    )
    split: Option[str, str | None] = Option(
        "where splits come from: path:0, TABLE:COLUMN, or lists such as train.txt=train,val.txt=validation",
        metavar="ORIGIN",
        is_common=True,
    )
    group: Option[str, str | None] = Option(
        "where the group comes from whose images stay in one split",
        metavar="ORIGIN",
    )
    boxes: Option[str, str | None] = Option(
        "files with boxes: coco:annotations/*.json, voc, yolo and others",
        metavar="FORMAT:GLOB",
        is_common=True,
    )
    mask: Option[str, str | None] = Option(
        "the mask of each image: masks/{stem}_m.png, with {0} for a folder and {dir} for all folders of the image; "
        "masks/{stem}=images/{stem}_sat where {stem} is a part of the image's name",
        metavar="TEMPLATE",
        is_common=True,
    )
    features: Option[Mapping[str, str] | Sequence[str], tuple[str, ...]] = Option(
        "further feature of each example, such as age=meta.csv:age; repeat it for more",
        default=(),
        form=NamedOrigins(),
        flag="--feature",
        metavar="NAME=ORIGIN",
    )
    images: Option[Sequence[str], tuple[str, ...]] = Option(
        "images that are examples, such as 'photos/**'; repeat it for more",
        default=(),
        form=Several(),
        default_text="all",
        metavar="GLOB",
    )
    match: Option[Match, Match | None] = Option(
        "how tables, lists and label files name images: by path, end of the path, name, name without "
        "ending, or (several images) by the start of their names",
        form=Choice(words=get_args(Match)),
        default_text="what names most images",
    )


@dataclass(frozen=True, kw_only=True)
class Table(Group, argument="table", heading="Source"):
    """How tables and the fields of annotations are read."""

    image_column: Option[str, str | None] = Option(
        "column of a table with the image paths",
        default_text="image, path, file_name …",
        metavar="NAME",
    )
    label_columns: Option[Sequence[str], tuple[str, ...]] = Option(
        "column, field or kind of the labels; repeat it for multiple labels",
        default=(),
        form=Several(),
        default_text="label, class …",
        flag="--label-column",
        metavar="NAME",
    )
    label_separator: Option[str, str | None] = Option(
        "separator of multiple labels in one column",
        metavar="TEXT",
    )
    label_type: Option[LabelType, LabelType] = Option(
        "whether labels are classes, or numbers for regression",
        default="auto",
        form=Choice(words=get_args(LabelType)),
    )
    uncertain: Option[Uncertain, Uncertain | None] = Option(
        "what -1 means in columns of 0 and 1, as in CheXpert: the class does not apply, it applies, or the image "
        "is left out",
        form=Choice(words=get_args(Uncertain)),
        default_text="such columns are refused",
    )
    path_prefix: Option[Sequence[str], tuple[str, ...]] = Option(
        "replacement of the beginning of a table's paths, such as 'C:\\data=/home/me/data'; repeatable, the "
        "first that fits counts",
        default=(),
        form=Several(),
        metavar="OLD=NEW",
    )
    split_column: Option[str, str | None] = Option(
        "column of a table with the split",
        heading="Splits",
        default_text="split, if it exists",
        metavar="NAME",
    )


@dataclass(frozen=True, kw_only=True)
class Folders(Group, argument="folders", heading="Source"):
    """How the names of folders and files are read."""

    label_pattern: Option[str, str | None] = Option(
        "label in the file name: the first group of a regular expression, or its groups label, split and group",
        metavar="REGEX",
    )
    class_level: Option[int, int] = Option(
        "level of the class folders in SOURCE or its split folders: 2 for <patient>/<label>/image",
        default=1,
        form=Number(low=1, high=1 << 16),
        metavar="N",
    )


@dataclass(frozen=True, kw_only=True)
class TFRecord(Group, argument="tfrecord", heading="Source"):
    """How TFRecords that others wrote are read."""

    image_feature: Option[str, str | None] = Option(
        "feature of TFRecords with the image",
        default_text="found",
        metavar="NAME",
    )
    label_feature: Option[str, str | None] = Option(
        "feature of TFRecords with the labels",
        default_text="found",
        metavar="NAME",
    )
    keep_truncated: Option[bool, bool] = Option(
        "convert the first records of a TFRecord file that cannot be read to its end, instead of stopping",
        default=False,
        form=Switch(),
    )


@dataclass(frozen=True, kw_only=True)
class Selection(Group, argument="selection", heading="Source"):
    """What is taken from a dataset that is converted again, and corrected in it."""

    where: Option[str, str | None] = Option(
        "condition on the examples of a dataset, of which the others are left out: \"label_name != 'blurred' and "
        'height >= 64"',
        form=Hashed(placeholder="CONDITION"),
        metavar="CONDITION",
        json_name="where",
        commands=OF_NEW_DATASETS,
    )
    drop: Option[str | os.PathLike[str] | Sequence[str], str | os.PathLike[str] | Sequence[str] | None] = Option(
        "keys of examples of a dataset that are left out, in a file one per line",
        form=Hashed(),
        metavar="FILE",
        json_name="drop",
        commands=OF_NEW_DATASETS,
    )
    labels: Option[str | os.PathLike[str] | Mapping[str, str], str | os.PathLike[str] | Mapping[str, str] | None] = (
        Option(
            "corrected labels of a dataset by key, in a CSV file with the columns key and label",
            form=Hashed(),
            metavar="FILE",
            json_name="labels",
            commands=OF_NEW_DATASETS,
        )
    )
    key_prefix: Option[bool, bool] = Option(
        "with several datasets: put the name of its folder before each key",
        default=False,
        form=Switch(),
        commands=OF_NEW_DATASETS,
    )
