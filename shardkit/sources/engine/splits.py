"""Find out which split a folder's or file's name, or the values of a column, mean."""

import posixpath
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from shardkit.naming import split_of_folder
from shardkit.sources.formats.column_names import SPLIT_COLUMNS, is_discard, is_split, plain, split_of_text
from shardkit.sources.formats.tables.records import Record, TableFile
from shardkit.sources.formats.tables.values import as_text
from shardkit.sources.walking import parent_of, stem_of

# Vowels that are marks, and no letters to `re`, as in Hindi, Thai and Arabic; without the signs of these scripts.
_SIGNS = r"\u05be\u05c0\u05c3\u05f3\u060c\u061b\u061f\u0964\u0965\u0e4f\u0e5a\u0e5b"
_MARK = rf"[\u0300-\u036f]|(?=[\u0591-\u17ff])[^\w\s{_SIGNS}]"
# The words of a name: "TrainSet_224x224" is Train, Set, 224, x, 224.
WORDS = re.compile(rf"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+|(?:[^\W\d_]|{_MARK})+")
_GLUED = re.compile(
    r"(train|training|val|valid|validation|test|testing)(?:sets?|crops?|data|images?|imgs?|samples?)"
    r"|(.+?)(?:s?(?:daten|bilder|satz)|用|集|データ|数据|数據)"  # German Trainingsdaten, Testbilder
)
_ALSO = {
    "validate": "validation",
    # In other languages, without accents.
    **dict.fromkeys(("entrainement", "entrenamiento", "addestramento", "treinamento", "treino"), "train"),
    **dict.fromkeys(("apprentissage", "aprendizaje", "apprendimento"), "train"),
    **dict.fromkeys(("egitim", "trening", "traning", "latih"), "train"),
    **dict.fromkeys(("训练", "訓練", "学習", "학습", "обучение", "тренировка", "обучающая"), "train"),
    **dict.fromkeys(("validierung", "validacion", "validacao", "convalida"), "validation"),
    **dict.fromkeys(("dogrulama", "walidacja", "validatie", "validering", "validasi"), "validation"),
    **dict.fromkeys(("验证", "驗證", "検証", "검증", "проверка", "валидация"), "validation"),
    **dict.fromkeys(
        ("prueba", "pruebas", "teste", "essai", "essais", "测试", "測試", "テスト", "테스트", "тест"), "test"
    ),
}
# Words that say nothing about the content: with a split's word, they are a split.
_SAY_NOTHING = frozenset(
    {
        *("clean", "cleaned", "cropped", "data", "dataset", "datasets", "file", "files", "final", "folder", "full"),
        *("image", "images", "img", "imgs", "jpeg", "jpg", "labeled", "labelled", "mini", "new", "orig", "original"),
        *("part", "photo", "photos", "pic", "pics", "picture", "pictures", "png", "processed", "raw", "resized"),
        *("sample", "samples", "set", "sets", "small", "split", "subset", "the", "x", "all", "my"),
    }
)


def split_of_name(name: str) -> str | None:
    """Return the split that a folder's name means by itself, such as ``train2017``; None if it means none.

    Words next to that of the split must say nothing: ``train_station`` is no split.
    """
    if split := split_of_folder(name):
        return split
    words = words_of(name)
    splits = [split for word in words if (split := split_of_word(word))]
    are_plain = not meaning_of([word for word in words if not split_of_word(word)])
    return splits[0] if len(splits) == 1 and are_plain else None


def split_of_folders(*paths: str) -> str | None:
    """Return the split of the last folder of some paths that is called like one; the first path comes first."""
    folders = (folder for path in paths for folder in path.split("/")[-2::-1])
    return next(filter(None, map(split_of_name, folders)), None)


def split_tokens(name: str) -> list[tuple[str, str]]:
    """Return the parts of a file or folder name that mean a split, each with that split: (train2017, train)."""
    found = []
    for token in re.split(r"[^A-Za-z0-9]+", name):
        split = split_of_folder(token.rstrip("0123456789"))
        if split:
            found.append((token, split))
    return found


def split_of_path(path: str) -> str | None:
    """Return the split in a file's name, else in its folder's name, else that a folder above is called by."""
    for name in (stem_of(path), posixpath.basename(parent_of(path))):
        if tokens := split_tokens(name):
            return tokens[0][1]
    return next((split for name in reversed(path.split("/")[:-2]) if (split := split_of_folder(name))), None)


@lru_cache(maxsize=1 << 16)  # names of folders, each of which is asked about by many rules
def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case, without accents."""
    return tuple(word.lower() for word in WORDS.findall(_without_accents(name)))


def _without_accents(name: str) -> str:
    """Return a name with ``validacion`` for ``validación``; scripts whose marks are letters stay as they are."""
    if name.isascii():
        return name
    return unicodedata.normalize("NFC", re.sub("(?<=[A-Za-z])[\u0300-\u036f]+", "", unicodedata.normalize("NFD", name)))


def split_of_word(word: str) -> str | None:
    """Return the split that a word means; None if it means none."""
    if glued := _GLUED.fullmatch(word):
        word = glued[1] or glued[2]
    return split_of_folder(word) or _ALSO.get(word)


def meaning_of(words: Sequence[str]) -> list[str]:
    """Return the words that say something about the content."""
    return [word for word in words if word not in _SAY_NOTHING and not word.isdigit()]


# Words of a name: TrainImages, train_val_list, trainlist01, splits-testset.
_WORDS = re.compile(
    r"(?<![a-z])(trainval|training|train|validation|validate|valid|val|dev|testing|test)"
    r"(?:lists?|sets?|splits?|images?|imgs?|files?|data|ids?|labels?)?(?![a-z])"
)
_CASES = re.compile(r"(?<=[a-z])(?=[A-Z])")
# Whole names of files, as of VireoFood-172's TR.txt, VAL.txt and TE.txt.
_SHORT = {"tr": "train", "trn": "train", "vl": "validation", "te": "test", "tst": "test"}
# CelebA's list_eval_partition: "0" represents training image, "1" validation, "2" testing.
_PARTITION = {"0": "train", "1": "validation", "2": "test"}
_PARTITION_COLUMNS = frozenset({"evaluationstatus", "splitid", "setid", *map(plain, SPLIT_COLUMNS)})
# CUB's train_test_split and the columns modelled on it: 1 is for training, 0 for testing.
_IS_TRAIN_COLUMNS = frozenset({"istraining", "istrain", "intrain", "istrainingimage"})
# fast.ai's is_valid is for validation, and the rest for training.
_IS_VALIDATION_COLUMNS = frozenset({"isvalid", "isval", "isvalidation", "invalidation"})
_IS_TEST_COLUMNS = frozenset({"istest", "istesting", "intest", "istestimage"})


_MAX_SPLITS = 20  # different words for splits in a column


def _of_flag(yes: str, no: str) -> dict[str, str]:
    return {"1": yes, "0": no, "true": yes, "false": no, "1.0": yes, "0.0": no}


_FLAGS = (
    (_IS_TRAIN_COLUMNS, _of_flag("train", "test")),
    (_IS_VALIDATION_COLUMNS, _of_flag("validation", "train")),
    (_IS_TEST_COLUMNS, _of_flag("test", "train")),
)


def split_of_file(path: str) -> str | None:
    """Return the split that a file's name means, such as ``one-indexed-files_val.txt``; None for none.

    ``train_val`` is for training: what is for validation is part of it. A path that ends in '/' is a folder, whose name
    has no ending: ``a. Training Set/``.
    """
    stem = posixpath.basename(path[:-1]) if path.endswith("/") else stem_of(path)
    if not path.endswith("/") and (split := _SHORT.get(stem.lower())):
        return split
    words = _WORDS.findall(_CASES.sub("_", stem).lower())
    splits = {"train" if word == "trainval" else split_of_folder(word) for word in words}
    if splits == {"train", "validation"}:
        return "train"
    return splits.pop() if len(splits) == 1 else None


def is_split_column(file: TableFile, column: int, first: Sequence[Any]) -> bool:
    """Return whether all values of a column give splits; a table may be sorted by them."""
    name = file.columns[column]
    texts = _texts(first)
    if not texts or not (all(map(is_split, texts)) or texts <= _numbers(name).keys()):
        return False
    return holds_splits(name, _all_texts(file, column))


def numbers_of_splits(file: TableFile, column: int, first: Sequence[Any]) -> dict[str, str]:
    """Return the splits that the numbers in a column stand for; {} if some value is no such number."""
    name = file.columns[column]
    may_be = _texts(first) <= _numbers(name).keys()
    return _numbers(name) if may_be and _are_numbers(name, _all_texts(file, column)) else {}


def holds_splits(name: str, values: Iterable[Any]) -> bool:
    """Return whether values are splits: several words for splits, or numbers that the column's name explains."""
    texts = _texts(values)
    return (len(texts) > 1 and all(map(is_split, texts))) or _are_numbers(name, texts)


def _are_numbers(name: str, texts: set[str]) -> bool:
    known = _numbers(name)
    # 0 and 1 alone may be for training and testing.
    return bool(texts) and texts <= known.keys() and (known is not _PARTITION or texts == _PARTITION.keys())


def _texts(values: Iterable[Any]) -> set[str]:
    return {str(value).strip().lower() for value in values if value not in (None, "")}


def _all_texts(file: TableFile, column: int) -> set[str]:
    """Return the different values of a column, or some of them if there are too many for splits."""
    found: set[str] = set()
    for record in file.all_records(frozenset({column})):
        if record.problem is None:
            found |= _texts([record.values[column]])
            if len(found) > _MAX_SPLITS:
                break
    return found


def split_of_value(value: Any, name: str) -> str | None:
    """Return the split that a value of such a column means; None for none."""
    word = str(value).strip().lower()
    return split_of_folder(word) or _numbers(name).get(word)


def _numbers(name: str) -> dict[str, str]:
    if plain(name) in _PARTITION_COLUMNS:
        return _PARTITION
    return next((flags for names, flags in _FLAGS if plain(name) in names), {})


def assigns_splits(file: TableFile, prefix: Sequence[Record], column: int) -> bool:
    """Return whether a column of splits gives some record one."""
    # Usually the first record has a split; a table of UNASSIGNED is read to its end.
    if any(_is_assigned(record.values[column]) for record in prefix):
        return True
    records = file.all_records(frozenset({column}))
    return any(record.problem is None and _is_assigned(record.values[column]) for record in records)


def _is_assigned(value: Any) -> bool:
    try:
        return not is_discard(value) and split_of_text(as_text(value)) is not None
    except ValueError:  # a bad name of a split assigns one too
        return True
