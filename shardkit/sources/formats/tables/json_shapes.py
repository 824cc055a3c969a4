"""JSON whose elements or members hold the records of a table, in the shapes that pandas and data loaders write.

[{"image": "1.jpg", …}, …]                                  list
{"1.jpg": "cat", …}                                         images
{"cat": ["1.jpg", "2.jpg"], "dog": […]}                    classes
{"train": ["1.jpg", …], "val": […]}                         splits
{"version": 1, "data": [{"image": "1.jpg", …}, …]}          records, also of several splits
{"labels": [["1.jpg", 0], …]}                               pairs: StyleGAN; of several splits: CoOp
{"1.jpg": {"label": "cat", …}, …}                           details
{"classes": ["cat", …], "labels": {"1": 0, …}}              numbered: FiftyOne
{"image_names": ["1.jpg", …], "image_labels": [0, …], …}    columns: filelists of few-shot learning
"""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any, Literal

from shardkit.errors import DataError
from shardkit.naming import IMAGE_ENDINGS, split_of_folder
from shardkit.sources.json_stream import member_items, top_level_items
from shardkit.sources.walking import ending
from shardkit.storage import Folder, os_errors_as

JsonShape = Literal["list", "images", "classes", "splits", "records", "pairs", "details", "numbered", "columns"]
IMAGE, LABEL, SPLIT = "image", "label", "split"
_PAIR = (IMAGE, LABEL, "label_name")  # of each record; CoOp has the number and the name
_SAMPLE = 500  # values that decide
_MIN_SHARE = 0.9  # of strings that are file names
_MAX_BYTES = 64 << 20  # 64 MiB of a file that is read as a whole
_OF_COCO = frozenset({"images", "annotations", "categories"})


def json_shape(folder: Folder, path: str, decoder: json.JSONDecoder) -> JsonShape | None:
    """Return in which shape a JSON object holds records, from its beginning; None if it does not."""
    try:
        found = list(islice(_items(folder, path, decoder), _SAMPLE))
    except DataError:
        return None
    members = dict.fromkeys(member for member, _, _ in found)
    if not found or _OF_COCO & members.keys():
        return None
    in_arrays = [(member, value) for member, name, value in found if name is None]
    values = [value for _, value in in_arrays]
    if len(in_arrays) == len(found) and _are_names(values):
        if all(map(split_of_folder, members)):
            return "splits"  # of stems, or of files of boxes, as well
        if _are_files(values):
            return "classes"
    if {"classes", "labels"} <= members.keys() or (next(iter(members)) == "classes" and _are_names(values)):
        of_labels = [value for member, name, value in found if member == "labels" and name is not None]
        return "numbered" if of_labels and all(value is None or type(value) is int for value in of_labels) else None
    if pairs := [value for value in values if isinstance(value, list)]:
        is_pair = all(len(pair) in {2, len(_PAIR)} and isinstance(pair[0], str) for pair in pairs)
        return "pairs" if is_pair and _are_files([pair[0] for pair in pairs]) else None
    if any(isinstance(value, dict) for value in values):
        holding = {member for member, value in in_arrays if isinstance(value, dict)}
        return "records" if len(holding) == 1 or all(map(split_of_folder, holding)) else None
    if values:
        is_text = [member for member in members if _are_files([v for m, v in in_arrays if m == member])]
        return "columns" if len(is_text) == 1 and len(members) > 1 else None
    is_detail = _are_files(list(members)) and all(not isinstance(value, dict | list) for _, _, value in found)
    return "details" if is_detail else None


def shaped_records(folder: Folder, path: str, shape: JsonShape, decoder: json.JSONDecoder) -> Iterator[Any]:
    """Yield the records of a JSON file; elements of a list may be none."""
    if shape in {"list", "images"}:
        url = f"{folder.url}/{path}"
        with os_errors_as("read the table", url), folder.open(path) as file:
            for name, value in top_level_items(file, url, decoder):
                yield value if name is None else {IMAGE: name, LABEL: value}
        return
    if shape == "columns":
        yield from _columns(folder, path)
        return
    if shape == "details":
        yield from _details(folder, path, decoder)
        return
    class_names: list[Any] = []
    for member, name, value in _items(folder, path, decoder):
        if shape in {"classes", "splits"}:
            yield {IMAGE: value, LABEL if shape == "classes" else SPLIT: member}
        elif shape == "numbered":
            if member == "classes":
                class_names.append(value)
            elif member == "labels" and name is not None:
                is_known = type(value) is int and 0 <= value < len(class_names)
                yield {IMAGE: name, LABEL: class_names[value] if is_known else value}
        elif name is None and isinstance(value, dict if shape == "records" else list):
            record: dict[str, Any] = dict(value if shape == "records" else zip(_PAIR, value, strict=False))
            yield record if split_of_folder(member) is None else {**record, SPLIT: member}


def _items(folder: Folder, path: str, decoder: json.JSONDecoder) -> Iterator[tuple[str, str | None, Any]]:
    url = f"{folder.url}/{path}"
    with os_errors_as("read the table", url), folder.open(path) as file:
        yield from member_items(file, url, decoder)


def _details(folder: Folder, path: str, decoder: json.JSONDecoder) -> Iterator[dict[str, Any]]:
    record: dict[str, Any] = {}
    for member, name, value in _items(folder, path, decoder):
        if record and record[IMAGE] != member:
            yield record
            record = {}
        record = {IMAGE: member, **record, str(name): value}
    if record:
        yield record


def _columns(folder: Folder, path: str) -> Iterator[dict[str, Any]]:
    """Yield the records of arrays of one length; a shorter array has the names of the classes."""
    with os_errors_as("read the table", folder.url_of(path)):
        content = json.loads(folder.read_at_most(path, _MAX_BYTES))
    arrays = {name: value for name, value in content.items() if isinstance(value, list)}
    length = max(map(len, arrays.values()))
    named = {name: values for name, values in arrays.items() if len(values) == length}
    others = [values for values in arrays.values() if len(values) < length]
    names = others[0] if len(others) == 1 else []
    for row in zip(*named.values(), strict=True):
        record: dict[str, Any] = {}
        for value in row:
            is_class = type(value) is int and 0 <= value < len(names)
            title = IMAGE if isinstance(value, str) and ending(value) in IMAGE_ENDINGS else LABEL
            record.setdefault(title, names[value] if is_class else value)
        yield record


def _are_files(values: list[Any]) -> bool:
    texts = [value for value in values if isinstance(value, str)]
    num_files = sum(ending(text) in IMAGE_ENDINGS for text in texts)
    return bool(values) and num_files >= _MIN_SHARE * len(values)


def _are_names(values: list[Any]) -> bool:
    return bool(values) and all(isinstance(value, str) for value in values)
