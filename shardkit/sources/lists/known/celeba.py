"""CelebA: a table of 40 binary attributes, an identity for each image, and the splits, each in a file of its own.

list_attr_celeba.txt      202599 / 5_o_Clock_Shadow Arched_Eyebrows … / 000001.jpg -1  1 …
identity_CelebA.txt       000001.jpg 2880
list_eval_partition.txt   000001.jpg 0        0, 1 and 2 are train, validation and test
list_attr_celeba.csv      Kaggle's form: image_id,5_o_Clock_Shadow,…; list_eval_partition.csv: image_id,partition

The files lie next to ``img_align_celeba/``, or in the authors' folders ``Anno/``, ``Eval/`` and ``Img/``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from shardkit.errors import CallError, DataError, UnknownNameError
from shardkit.naming import IMAGE_ENDINGS, printable
from shardkit.options.words import named
from shardkit.reject_reasons import BAD_LABEL, BAD_LINE, BAD_SPLIT
from shardkit.sources.listing import BadRecord, ending
from shardkit.sources.lists.layout import ImageLists
from shardkit.sources.lists.records import ListRecord, RecordReader, checked_key, read_fields, rejected
from shardkit.sources.walking import children, file_or_folder, folders_in, is_folder, join
from shardkit.storage import Folder

_ATTRIBUTES = ("list_attr_celeba.txt", "list_attr_celeba.csv")
_IDENTITIES = ("identity_CelebA.txt", "identity_CelebA.csv")
_PARTITIONS = ("list_eval_partition.txt", "list_eval_partition.csv")
_IDENTITY = "identity"  # the value of label_columns for identities
_IMAGES = ("img_align_celeba", "img_align_celeba_png", "img_celeba")
_FOLDERS = ("", "Anno", "Eval", "Img")
_SPLIT_OF = {"0": "train", "1": "validation", "2": "test"}
_APPLIES = {"1": True, "-1": False, "0": False}


@dataclass(frozen=True, slots=True)
class CelebA(RecordReader):
    """Reads the attributes or identities. Memory grows with the number of images, by about 150 bytes each.

    Attributes:
        path: The file of attributes or identities.
        partition: The file of splits; None for none.
        base: Folder of the images.
        attributes: Names of all attributes, in the file's order; () if it holds identities.
        wanted: The attributes that are read.
        ending: Ending of the images, if it is not the one in the files; '' for that one.
    """

    path: str
    partition: str | None
    base: str
    attributes: tuple[str, ...]
    wanted: frozenset[str]
    ending: str

    def records(self, folder: Folder, skipped: dict[str, int]) -> Iterator[ListRecord]:
        """See RecordReader."""
        del skipped
        splits = dict(_partition(folder, self.partition)) if self.partition else {}
        num_headers = _num_headers(self.path, is_table=bool(self.attributes))
        for fields in islice(read_fields(folder, self.path, _separator(self.path)), num_headers, None):
            place, key, split = f"{self.path}, line {fields.line}", None, None
            name, *values = fields.values
            try:
                if fields.problem:
                    raise BadRecord(BAD_LINE, fields.problem)
                key = join(self.base, checked_key(name.rpartition(".")[0] + self.ending if self.ending else name))
                split = self._split(splits, name)
                labels = self._labels(values)
            except BadRecord as error:
                yield rejected(place, fields.line, split, error, key)
            else:
                yield ListRecord(key, split, labels, place, fields.line)

    def _split(self, splits: dict[str, str], name: str) -> str | None:
        if self.partition is None:
            return None
        if (split := _SPLIT_OF.get(splits.get(name, ""))) is None:
            msg = f"{self.partition} gives it no split (0, 1 or 2); add a line for it"
            raise BadRecord(BAD_SPLIT, msg)
        return split

    def _labels(self, values: list[str]) -> tuple[str, ...]:
        if len(values) != max(1, len(self.attributes)):
            msg = f"the line has {len(values)} values, not {max(1, len(self.attributes))}; copy the file again"
            raise BadRecord(BAD_LINE, msg)
        if not self.attributes:
            return (values[0],)
        if other := next((one for one in values if one not in _APPLIES), None):
            msg = f"{printable(other[:50])!r} is not 1 or -1; correct the line"
            raise BadRecord(BAD_LABEL, msg)
        pairs = zip(self.attributes, values, strict=True)
        return tuple(name for name, value in pairs if _APPLIES[value] and name in self.wanted)


def open_celeba(folder: Folder, excluded: str | None, label_columns: tuple[str, ...]) -> ImageLists | None:
    """Return the source if a folder is CelebA, else None.

    Args:
        folder: The source.
        excluded: Path below it that is not listed; None for none.
        label_columns: The attributes to read, or ``identity``; () for all attributes.

    Raises:
        CallError: `label_columns` names an attribute that does not exist, or ``identity`` and attributes.
        DataError: There are no images, or a file's first lines are not those of CelebA.
    """
    attributes, identities = _find(folder, _ATTRIBUTES), _find(folder, _IDENTITIES)
    if attributes is None and identities is None:
        return None
    partition = _find(folder, _PARTITIONS)
    base = _images(folder)
    if label_columns == (_IDENTITY,) or attributes is None:
        if identities is None:
            msg = f"{folder.url}: there is no {_IDENTITIES[0]}, which has the identities; add it"
            raise DataError(msg)
        reader = CelebA(identities, partition, base, (), frozenset(), _other_ending(folder, base))
        return _source(folder, excluded, reader, f"the person from {identities}")
    names = _attribute_names(folder, attributes)
    wanted = label_columns or names
    if _IDENTITY in wanted:
        msg = f"{named('label_columns', _IDENTITY)} cannot be combined with attributes; convert the dataset twice"
        raise CallError(msg)
    if unknown := [name for name in wanted if name not in names]:
        found = f"{attributes} has no attribute {unknown[0]!r}; it has {', '.join(names)}"
        msg = f"{found}; or use {named('label_columns', _IDENTITY)}"
        raise UnknownNameError(msg)
    reader = CelebA(attributes, partition, base, names, frozenset(wanted), _other_ending(folder, base))
    remark = f"several classes per image, the {len(wanted)} attributes of {attributes}"
    if identities:
        remark += f" ({named('label_columns', _IDENTITY)} reads the persons instead)"
    classes = tuple(name for name in names if name in reader.wanted)
    return _source(folder, excluded, reader, remark, classes)


def _source(
    folder: Folder, excluded: str | None, reader: CelebA, remark: str, classes: tuple[str, ...] | None = None
) -> ImageLists:
    splits = f", the split from {reader.partition}" if reader.partition else ""
    remark = f"{remark}{splits}, images in {reader.base}/"
    several = bool(reader.attributes)
    return ImageLists(folder, "CelebA", remark, (reader,), several, classes, excluded)


def _find(folder: Folder, names: tuple[str, ...]) -> str | None:
    paths = (join(place, name) for place in _FOLDERS for name in names)
    return next((path for path in paths if file_or_folder(folder, path) is not None), None)


def _images(folder: Folder) -> str:
    for name in _IMAGES:
        for place in ("", "Img"):
            path = join(place, name)
            if is_folder(folder, path):
                # Kaggle's archive has the folder twice, one in the other.
                return join(path, name) if name in folders_in(folder, path) else path
    msg = f"{folder.url}: there is no folder {_IMAGES[0]}/ with CelebA's images; unpack {_IMAGES[0]}.zip there"
    raise DataError(msg)


def _other_ending(folder: Folder, base: str) -> str:
    kinds = [ending(entry.name) for entry in children(folder, base) if ending(entry.name) in IMAGE_ENDINGS]
    return ".png" if kinds and set(kinds) == {".png"} else ""


def _attribute_names(folder: Folder, path: str) -> tuple[str, ...]:
    num_headers = _num_headers(path, is_table=True)
    lines = [one.values for one in islice(read_fields(folder, path, _separator(path)), num_headers + 1)]
    names = lines[num_headers - 1] if len(lines) > num_headers else []
    names = names[1:] if path.endswith(".csv") else names
    if not names or len(lines[-1]) != len(names) + 1 or len(set(names)) < len(names):
        msg = f"{folder.url}/{path}: its first lines are not those of CelebA's attributes; copy the file again"
        raise DataError(msg)
    return tuple(names)


def _partition(folder: Folder, path: str) -> Iterator[tuple[str, str]]:
    for fields in read_fields(folder, path, _separator(path)):
        if len(fields.values) > 1:
            yield fields.values[0], fields.values[1]


def _separator(path: str) -> str | None:
    return "," if path.endswith(".csv") else None


def _num_headers(path: str, *, is_table: bool) -> int:
    """Return the number of lines before the first image: of Kaggle's form one, of the other's attributes two."""
    return 1 if path.endswith(".csv") else 2 * is_table
