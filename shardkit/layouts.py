"""The layouts of a source, a row for each: what `layout` calls it, what it reads, and the functions that do.

To add a layout, write its package in `shardkit.sources` or `shardkit.record_sources`, and add its row here and its
name to `Layout`. Everything else is made from the rows: detection, the values of `layout`, the options that a layout
accepts, and the page's table.

A row names its functions as text, ``module:function`` below `shardkit`: the command line needs the names of all
layouts, and importing the layouts takes longer than `--help` may.
"""

from dataclasses import dataclass
from typing import Literal

# In the order of the help and of the page.
Layout = Literal[
    "class-folders",
    "file-names",
    "list",
    "table",
    "metadata",
    "coco",
    "voc",
    "yolo",
    "box-table",
    "kitti",
    "box-text",
    "wider-face",
    "labelme",
    "label-studio",
    "box-json",
    "cvat",
    "masks",
    "webdataset",
    "hf-parquet",
    "extracted",
    "shardkit",
    "tfrecord",
    "unlabelled",
]
DATASET_LAYOUT = "shardkit dataset"  # in the manifest of a dataset that was made from another one
EXTRACTED_LAYOUT = "extracted dataset"  # in the manifest of a dataset that was made from what `extract` wrote


@dataclass(frozen=True, slots=True)
class LayoutSpec:
    """A layout.

    Attributes:
        name: Value of `layout`.
        titles: Its names in manifests, the usual one first. A table's continues with its format in parentheses.
        reads: What is read, in Markdown for the page. It names options in backquotes; see `options.words.rewritten`.
        open: The function that returns the `Source` of an `Opening`.
        recognise: The function that returns whether a folder has the layout's files. '' for a layout that only the user
            chooses, or that is left if no other one recognises the folder.
        recognise_last: The same for files that may also belong to other layouts: called if none recognises the folder.
        options: Options that the layout reads, besides those of all layouts.
        endings: Endings of the files that may be SOURCE; () if files are known by their content, None if SOURCE is a
            folder.
    """

    name: Layout
    titles: tuple[str, ...]
    reads: str
    open: str
    recognise: str = ""
    recognise_last: str = ""
    options: tuple[str, ...] = ()
    endings: tuple[str, ...] | None = None

    @property
    def title(self) -> str:
        """The usual name in manifests."""
        return self.titles[0]


_OF_TABLES = ("image_column", "label_columns", "label_separator", "label_type", "uncertain", "split_column")
# In the order of detection: layouts with unique files before layouts with common ones.
_ROWS = (
    LayoutSpec(
        "extracted",
        (EXTRACTED_LAYOUT,),
        "what `shardkit extract` writes: `examples.jsonl` with `classes.txt` and `extracted.json`; see [Back to "
        "folders](../records/README.md#back-to-folders)",
        open="record_sources.extracted:open_extracted",
        recognise="record_sources.extracted:is_extracted",
    ),
    LayoutSpec(
        "list",
        ("lists", "numbered lists"),
        "`train.txt`, `val.txt`, … that name images, with or without labels; see [Lists](tables.md#lists)",
        open="sources.recognising.unmarked_tables:open_lists",
        recognise="sources.recognising.unmarked_tables:is_well_known",
        options=("root", "path_prefix", *_OF_TABLES),
        endings=(".txt", ".lst"),
    ),
    LayoutSpec(
        "metadata",
        ("Hugging Face metadata",),
        "`metadata.csv`, `.jsonl` or `.parquet` with the column `file_name`, in the folder or in each split folder",
        open="sources.recognising.folders.opening_metadata:open_metadata",
        recognise="sources.recognising.folders.opening_metadata:has_metadata",
        options=_OF_TABLES,
    ),
    # Before YOLO, whose folders may have the same names.
    LayoutSpec(
        "kitti",
        ("KITTI",),
        "`training/label_2/*.txt` with `training/image_2/`, or `labels/` with `images/`; without DontCare regions and "
        "3D values",
        open="sources.recognising.detection.of_one_image:open_kitti",
        recognise="sources.recognising.detection.of_one_image:is_kitti",
        options=("without_annotation", "drop_repeated_boxes"),
    ),
    LayoutSpec(
        "box-text",
        ("texts of boxes",),
        "VisDrone's `annotations/*.txt` and DOTA's `labelTxt/*.txt` next to `images/`, ICDAR's and WIDER Person's "
        "`.txt` of each image: boxes, those of DOTA and ICDAR around the four corners; without regions to ignore",
        open="sources.recognising.detection.of_one_image:open_box_texts",
        recognise="sources.recognising.detection.of_one_image:is_box_texts",
        options=("without_annotation", "drop_repeated_boxes"),
    ),
    LayoutSpec(
        "yolo",
        ("YOLO",),
        "`data.yaml`, or `images/` and `labels/` with `classes.txt`, or all in one folder, or Darknet's `obj.data`: "
        "boxes and polygons; without names of classes, those of `classes`, or numbers if you name the layout",
        open="sources.recognising.detection.yolo:open_yolo",
        recognise="sources.recognising.detection.yolo:is_yolo",
        options=("root", "without_annotation", "drop_repeated_boxes"),
        endings=(".yaml", ".yml"),
    ),
    LayoutSpec(
        "coco",
        ("COCO", "COCO without boxes", "COCO panoptic"),
        "`annotations/instances_*.json` or `_annotations.coco.json`, or the `.json` itself: boxes, crowds, areas, "
        "polygons and RLE; classes in the order of category ids; also LVIS, iNaturalist without boxes, and panoptic "
        "masks",
        open="sources.recognising.detection.coco:open_coco",
        recognise="sources.recognising.detection.coco:is_coco",
        options=("root", "without_annotation", "drop_repeated_boxes"),
        endings=(".json",),
    ),
    LayoutSpec(
        "voc",
        ("Pascal VOC",),
        "`Annotations/*.xml` with `JPEGImages/`, also below `VOCdevkit/VOC2012/`; splits from `ImageSets/Main/`; else "
        "each XML file with the image of its name in any folder",
        open="sources.recognising.detection.of_one_image:open_voc",
        recognise="sources.recognising.detection.of_one_image:is_voc",
        recognise_last="sources.recognising.detection.of_one_image:has_voc_files",
        options=("without_annotation", "drop_repeated_boxes"),
    ),
    LayoutSpec(
        "cvat",
        ("CVAT for images",),
        "version 1.1: `annotations.xml` with `images/`: boxes around all shapes; subsets are splits",
        open="sources.recognising.detection.of_many_images:open_cvat",
        recognise="sources.recognising.detection.of_many_images:has_cvat",
        options=("root", "without_annotation", "drop_repeated_boxes"),
        endings=(".xml",),
    ),
    LayoutSpec(
        "labelme",
        ("Labelme",),
        "a `.json` for each image, next to it or in another folder: boxes around all shapes, or true flags as "
        "classes if no file has shapes",
        open="sources.recognising.detection.of_one_image:open_labelme",
        recognise="sources.recognising.detection.of_one_image:has_labelme",
        options=("without_annotation", "drop_repeated_boxes"),
    ),
    LayoutSpec(
        "label-studio",
        ("Label Studio",),
        "exports JSON and JSON-MIN: boxes around shapes, or choices as classes (`label_columns` names the control)",
        open="sources.recognising.detection.of_many_images:open_label_studio",
        recognise="sources.recognising.detection.of_many_images:has_label_studio",
        options=("root", "label_columns", "without_annotation", "drop_repeated_boxes"),
        endings=(),
    ),
    LayoutSpec(
        "box-json",
        ("JSON of boxes",),
        "one record for each image: BDD100K, VIA (also CSV), CrowdHuman's `.odgt`, SageMaker's and Rekognition's "
        "`.manifest`, CreateML, Vertex AI, Azure Custom Vision, Dataturks, Edge Impulse, MOT, FiftyOne, Labelbox, "
        "Azure AutoML; or one file for each image: Supervisely, BDD100K, FUNSD, DeepFashion2, V7 Darwin: boxes, or "
        "classes of an image (`label_columns` names the attribute or the job)",
        open="sources.recognising.detection.of_many_images:open_box_json",
        recognise="sources.recognising.detection.of_many_images:has_box_json",
        options=("root", "label_columns", "without_annotation", "drop_repeated_boxes"),
        endings=(".odgt", ".manifest"),
    ),
    LayoutSpec(
        "wider-face",
        ("WIDER FACE",),
        "`wider_face_split/wider_face_train_bbx_gt.txt` with `WIDER_train/images/`, and the same of `val`",
        open="sources.recognising.detection.of_many_images:open_wider_face",
        recognise="sources.recognising.detection.of_many_images:has_wider_face",
        options=(
            "without_annotation",
            "drop_repeated_boxes",
        ),
    ),
    LayoutSpec(
        "box-table",
        ("box table",),
        "one row for each box; see [Tables of boxes](tables.md#tables-of-boxes)",
        open="sources.recognising.detection.box_tables:open_box_tables",
        recognise="sources.recognising.detection.box_tables:is_box_tables",
        options=("root", "image_column", "label_columns", "split_column", "without_annotation", "drop_repeated_boxes"),
        endings=(),
    ),
    LayoutSpec(
        "masks",
        ("images and masks",),
        "segmentation: `images/` and `masks/` paired by name, VOC's `SegmentationClass/`, `train_labels/`, Cityscapes, "
        "CamVid, ADE20K; see [Masks](#masks)",
        open="sources.recognising.folders.masks.layout:open_masks",
        recognise="sources.recognising.folders.masks.layout:is_masks",
        options=("without_annotation",),
    ),
    LayoutSpec(
        "webdataset",
        ("WebDataset",),
        "`.tar` files of samples: an image with `.cls`, `.label.txt` or `.json`, read in place; `classes.txt` next to "
        "them names labels that are its numbers",
        open="record_sources.webdataset:open_webdataset",
        recognise="record_sources.webdataset:is_webdataset",
        options=("label_columns",),
        endings=(".tar", ".tar.gz", ".tgz"),
    ),
    LayoutSpec(
        "hf-parquet",
        ("Hugging Face Parquet",),
        "`data/train-00000-of-00002.parquet`, also in a configuration's folder, with a column of `image{bytes, path}` "
        "or of bytes; images are unpacked once into a temporary folder",
        open="record_sources.hf_parquet:open_hf_parquet",
        recognise="record_sources.hf_parquet:is_hf_parquet",
        options=_OF_TABLES,
        endings=(),
    ),
    LayoutSpec(
        "tfrecord",
        ("TFRecord",),
        "files of TFDS, tensorflow/models, Kaggle, …; see [TFRecords](tfrecords.md)",
        open="record_sources.tfrecord.opening:open_tfrecord",
        recognise="record_sources.tfrecord.files:is_tfrecord_folder",
        options=("image_feature", "label_feature", "label_type", "keep_truncated", "also"),
        endings=(),
    ),
    LayoutSpec(
        "table",
        ("table",),
        "CSV, TSV, JSON, JSON Lines, Parquet or workbook with one record for each image, also next to image folders "
        "(Kaggle's `train.csv`, Roboflow's `_classes.csv`), TFRecorder's and AutoML's CSV without a header; see "
        "[Tables](tables.md#tables)",
        open="sources.recognising.unmarked_tables:open_table",
        options=("root", "path_prefix", *_OF_TABLES),
        endings=(".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".xlsx", ".xlsm", ".ods"),
    ),
    LayoutSpec(
        "class-folders",
        ("class folders", "split and class folders"),
        "`<label>/**/image`, `<split>/<label>/**/image` or `<label>/<split>/**/image`; see [Class "
        "folders](#class-folders)",
        open="sources.recognising.folders.class_folders:open_class_folders",
        options=("class_level",),
    ),
    LayoutSpec(
        "file-names",
        ("file names",),
        "labels in file names, which `label_pattern` finds",
        open="sources.recognising.folders.file_names:open_file_names",
        options=("label_pattern",),
    ),
    LayoutSpec(
        "unlabelled",
        ("unlabelled images",),
        "any tree of folders, with `unlabelled`; see [Images without labels](#images-without-labels)",
        open="sources.recognising.folders.unlabelled:open_unlabelled",
    ),
    LayoutSpec(
        "shardkit",
        (DATASET_LAYOUT,),
        "a folder with its `manifest.json`; see [Datasets](datasets.md)",
        open="record_sources.datasets.opening:open_dataset",
        options=("where", "drop", "labels", "also", "key_prefix", "readmit"),
    ),
)
LAYOUTS: dict[Layout, LayoutSpec] = {row.name: row for row in _ROWS}


def layout_of_title(title: str) -> Layout | None:
    """Return the layout of a name in a manifest; None for a well-known dataset or an adopted one."""
    plain = title.partition(" (")[0]
    return next((row.name for row in _ROWS if plain in row.titles), None)
