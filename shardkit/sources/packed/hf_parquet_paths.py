"""Find a dataset's Parquet files in the clone of a Hugging Face repository.

train.parquet    data/train-00000-of-00002.parquet    train/0000.parquet    default/train/0000.parquet
mnist/train-00000-of-00001.parquet    (a configuration's folder, whatever its name)
"""

from shardkit.errors import DataError
from shardkit.naming import split_of_folder
from shardkit.sources.path_splits import split_of_path
from shardkit.sources.walking import children, join
from shardkit.storage import Folder

# Folders that are searched besides split folders: the usual one, and the one of the Hub's own conversion.
_FOLDERS = frozenset({"data", "default"})


def configurations(folder: Folder) -> dict[str, list[str]]:
    """Return the Parquet files of a folder by configuration: the only one as '', or several by their folders' names."""
    names = _folders(folder, "")
    usual = [name for name in names if name in _FOLDERS or split_of_folder(name)]
    if found := _files(folder, "") or [path for name in usual for path in _below(folder, name)]:
        return {"": found}
    # A folder of any name is a configuration if its files name splits; other folders may be classes.
    below = {name: [path for path in _below(folder, name) if split_of_path(path)] for name in names}
    return {name: paths for name, paths in below.items() if paths}


def parquet_paths(folder: Folder) -> list[str]:
    """Return the Parquet files of a folder's only configuration; none if there is no configuration.

    Raises:
        DataError: There are several configurations.
    """
    found = configurations(folder)
    if len(found) > 1:
        msg = f"{folder.url}: it holds {len(found)} configurations of one dataset ({', '.join(found)}); SOURCE is one"
        raise DataError(msg)
    return next(iter(found.values()), [])


def _below(folder: Folder, path: str) -> list[str]:
    """Return a folder's own files, else those of its split folders."""
    return _files(folder, path) or [
        file for name in _folders(folder, path) if split_of_folder(name) for file in _files(folder, join(path, name))
    ]


def _files(folder: Folder, path: str) -> list[str]:
    entries = children(folder, path)
    return [join(path, one.name) for one in entries if not one.is_folder and one.name.lower().endswith(".parquet")]


def _folders(folder: Folder, path: str) -> list[str]:
    return [one.name for one in children(folder, path) if one.is_folder]
