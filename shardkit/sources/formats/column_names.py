"""Usual names of a table's columns, compared without case, blanks, '_' and '-', and of the splits in them."""

from collections.abc import Sequence
from functools import lru_cache

from shardkit.errors import CallError
from shardkit.naming import check_split_name, split_of_folder
from shardkit.reject_reasons import BAD_SPLIT
from shardkit.sources.listing import BadRecord

# Accepted whatever the column holds.
IMAGE_COLUMNS = ("image", "image_uri", "image_path", "file_name", "path", "filepath", "filename")
LABEL_COLUMNS = ("label", "labels", "class", "class_name", "category", "target", "label_name")
SPLIT_COLUMNS = ("split", "ml_use", "set", "partition", "subset")

# Accepted if the values agree: they name files that exist, repeat as classes do, or are names of splits.
LIKELY_IMAGE_COLUMNS = (
    *("img", "image_name", "image_file", "image_filename", "img_name", "img_path", "file", "fname", "filenames"),
    *("filepaths", "file_paths", "image_id", "img_id", "image_index", "images", "photo", "photo_id", "picture"),
    *("img_filename", "isic_id", "id", "id_code", "name", "key", "uuid"),
)
LIKELY_LABEL_COLUMNS = (
    *("category_name", "class_label", "classification", "species", "breed", "variety", "diagnosis", "dx", "emotion"),
    *("tag", "tags", "cls", "gt", "ground_truth", "level", "grade", "identity", "individual", "individual_id", "y"),
    *("class_id", "class_idx", "class_index", "label_id", "label_idx", "label_index", "category_id", "target_id"),
    *(
        "species_id",
        "breed_id",
        "genre",
        "genres",
        "finding_labels",
        "finding",
        "findings",
        "diagnostic",
        "choice",
        "choices",
    ),
    # In other languages.
    *("klasse", "kategorie", "bezeichnung", "diagnose", "classe", "catégorie", "étiquette", "espèce", "clase"),
    *("categoría", "categoria", "etiqueta", "especie", "класс", "категория", "метка"),
    *("类别", "标签", "分类", "クラス", "ラベル", "分類", "種類", "カテゴリ"),
)
LIKELY_SPLIT_COLUMNS = ("dataset", "data_split", "split_name", "phase", "usage")

# Parts of a name that say that whole numbers in the column are classes, not quantities.
_OF_CLASSES = ("label", "class", "categor", "species", "breed", "diagnos", "identit", "code", "name")
_UNASSIGNED = {"", "unassigned"}  # TFRecorder's and AutoML's word
_DISCARD = "discard"  # TFRecorder's word for records that are left out
DISCARDED = "records of the split DISCARD"  # which are counted


def plain(name: str) -> str:
    """Return a column's name as it is compared: ``Image_ID``, ``image id`` and ``imageId`` are equal."""
    return name.lower().replace("_", "").replace(" ", "").replace("-", "")


def named_like(columns: Sequence[str], usual: Sequence[str]) -> list[int]:
    """Return the indexes of the columns with one of the usual names, in the order of these names."""
    found = []
    for one in usual:
        # The exact name first: a table may have both `label` and `Label`.
        found += [i for i, name in enumerate(columns) if name == one]
        found += [i for i, name in enumerate(columns) if plain(name) == plain(one)]
    return list(dict.fromkeys(found))


def is_called_like_classes(name: str) -> bool:
    """Return whether a column's name says that whole numbers in it are classes and not quantities such as ages."""
    return any(part in plain(name) for part in _OF_CLASSES) or plain(name).endswith(("id", "idx", "index"))


def is_split(text: str) -> bool:
    """Return whether a text is a usual name of a split, UNASSIGNED or DISCARD; an empty text is not."""
    word = text.strip().lower()
    return word in {"unassigned", _DISCARD} or split_of_folder(word) is not None


def is_discard(value: object) -> bool:
    """Return whether a split's field says that the record is left out."""
    return isinstance(value, str) and value.strip().lower() == _DISCARD


@lru_cache(maxsize=256)
def split_of_text(text: str) -> str | None:
    """Return the split that a field means; None if it is not assigned."""
    name = text.strip()
    word = name.lower()
    if word in _UNASSIGNED:
        return None
    try:
        return check_split_name(name)
    except CallError as error:
        raise BadRecord(BAD_SPLIT, str(error)) from error
