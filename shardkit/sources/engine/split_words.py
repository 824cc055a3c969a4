"""Words for splits in the names of folders: ``train2017``, ``Train_set``, ``validación``."""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from shardkit.naming import split_of_folder

# Vowels that are marks, and no letters to `re`, as in Hindi, Thai and Arabic; without the signs of these scripts.
_SIGNS = r"\u05be\u05c0\u05c3\u05f3\u060c\u061b\u061f\u0964\u0965\u0e4f\u0e5a\u0e5b"
_MARK = rf"[\u0300-\u036f]|(?=[\u0591-\u17ff])[^\w\s{_SIGNS}]"
# The words of a name: "TrainSet_224x224" is Train, Set, 224, x, 224.
WORDS = re.compile(rf"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+|(?:[^\W\d_]|{_MARK})+")
_GLUED = re.compile(
    r"(train|training|val|valid|validation|test|testing)(?:sets?|crops?|data|images?|imgs?|samples?)|(.+?)(?:用|集|データ|数据|数據)"
)
_ALSO = {
    "validate": "validation",
    # In other languages, without accents.
    **dict.fromkeys(("entrainement", "entrenamiento", "addestramento", "treinamento", "treino"), "train"),
    **dict.fromkeys(("egitim", "trening", "traning", "latih"), "train"),
    **dict.fromkeys(("训练", "訓練", "学習", "학습", "обучение", "тренировка", "обучающая"), "train"),
    **dict.fromkeys(("validierung", "validacion", "validacao", "convalida"), "validation"),
    **dict.fromkeys(("dogrulama", "walidacja", "validatie", "validering", "validasi"), "validation"),
    **dict.fromkeys(("验证", "驗證", "検証", "검증", "проверка", "валидация"), "validation"),
    **dict.fromkeys(("prueba", "pruebas", "teste", "测试", "測試", "テスト", "테스트", "тест"), "test"),
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
