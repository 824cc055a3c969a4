"""Decide which names of folders mean splits, beyond the plain words: ``Train_set``, ``seg_test``, ``training_data``.

One name proves little: ``train_station`` is a class among classes. The names of all folders next to each other decide.
"""

import re
from collections.abc import Sequence

from shardkit.naming import split_of_folder
from shardkit.sources.engine.splits import meaning_of, split_of_word, words_of

_BLANKS = re.compile(r"[\s_]+")
_OF_IMAGES = frozenset({"data", "dataset", "datasets", "image", "images", "photos", "pictures"})
_UNLABELLED = frozenset(
    {
        *("predict", "prediction", "predictions", "pred", "preds", "unlabeled", "unlabelled", "unsup", "unsupervised"),
        *("submission", "submissions", "unsorted"),
        # Unsorted, or to be sorted, in other languages: a word, or all words of the name.
        *("unsortiert", "unsortierte", "ungelabelt", "unannotiert", "ongesorteerd", "tesorteren", "osorterat"),
        *("atrier", "aclasser", "nontrie", "nontries", "nonclasse", "nonclasses", "sinclasificar", "porclasificar"),
        *("sinetiquetar", "naoclassificado", "semrotulo", "daordinare", "daclassificare", "nonclassificato"),
        *("doposortowania", "nieposortowane", "niesklasyfikowane", "неразобранное", "неразмеченное"),
        *("未分類", "未分类", "未整理", "未标注", "未標注", "未ラベル", "미분류"),
    }
)
# Datasets of re-identification: the test images that are searched for, and those that are searched in.
_SEARCHED = frozenset({"query", "gallery"})
_EVALUATION = frozenset({"eval", "evaluation"})
# Folders of a project next to its data.
_OF_PROJECT = frozenset(
    {
        *("assets", "bin", "build", "checkpoint", "checkpoints", "ckpt", "code", "config", "configs", "dist", "doc"),
        *("docs", "env", "examples", "experiments", "figs", "figures", "lib", "log", "logs", "mlruns", "model"),
        *("models", "notebook", "notebooks", "out", "output", "outputs", "papers", "plots", "report", "reports"),
        *("result", "results", "run", "runs", "scripts", "site", "src", "static", "tensorboard", "tests"),
        *("tools", "utils", "venv", "wandb", "weights"),
        *("lists", "partitions", "split", "splits"),
    }
)
# Folders that operating systems, tools and people leave behind, in lower case without blanks and underscores.
_LEFT_BEHIND = frozenset(
    {
        *("$recycle.bin", "@eadir", "backup", "backups", "deleted", "lost+found", "neuerordner", "newfolder"),
        *("nouveaudossier", "pycache", "recyclebin", "systemvolumeinformation", "temp", "thumbnail", "thumbnails"),
        *("thumbs", "tmp", "trash", "untitledfolder"),
    }
)
# Names of the only folder in a split folder that are no class: Keras' generators want one folder at least.
_NO_CLASS = frozenset({"all", "allclasses", "unknown", "unlabeled", "unlabelled", "dummy"})


def is_unlabelled(name: str) -> bool:
    """Return whether a folder's name says that its images have no labels, such as ``predict`` or ``unlabeled``."""
    words = words_of(name)
    return not _UNLABELLED.isdisjoint([*words, "".join(words)])


def says_nothing(name: str) -> bool:
    """Return whether a folder's name says nothing about the images in it, such as ``images`` or ``data_224``."""
    words = words_of(name)
    # Numbers alone are classes: the only folder in test/ may be 7/.
    return (any(not word.isdigit() for word in words) and not meaning_of(words)) or "".join(words) in _NO_CLASS


def says_images(name: str) -> bool:
    """Return whether a folder is called by what it holds, as ``cell_images`` or ``tiles_dataset``; a class is not."""
    return not _OF_IMAGES.isdisjoint(words_of(name))


def is_of_project(name: str) -> bool:
    """Return whether a folder is called as those of a program or of lists, such as ``docs``, ``runs`` or ``splits``."""
    return name.lower() in _OF_PROJECT or is_left_behind(name)


def is_left_behind(name: str) -> bool:
    """Return whether a folder is called as what systems and tools leave behind, such as ``thumbnails`` or ``tmp``."""
    return _BLANKS.sub("", name).lower() in _LEFT_BEHIND


def mentions_split(name: str) -> bool:
    """Return whether a split's word is among the words of a name, as in ``kaggle_simpson_testset``."""
    return any(split_of_word(word) for word in words_of(name))


def mentioned_split(name: str) -> str | None:
    """Return the split whose word is among the words of a name; None for none, or for several."""
    found = {split for word in words_of(name) if (split := split_of_word(word))}
    return found.pop() if len(found) == 1 else None


def splits_of(names: Sequence[str]) -> dict[str, str]:
    """Return the splits that some of the folders in one folder mean, by name; other folders are not in the result.

    Words next to a split's word must say nothing (``Train_set``), or be the same in all names (``seg_train`` next to
    ``seg_test`` and ``seg_pred``). Next to a split for training, ``query`` and ``gallery`` are test images, and
    ``evaluation`` is what is not there: validation, or test.
    """
    found: dict[str, str] = {}
    rests: dict[str, list[str]] = {}
    for name in names:
        words = words_of(name)
        if split := split_of_folder(name):
            found[name] = split
        elif not is_unlabelled(name):
            splits = [split for word in words if (split := split_of_word(word))]
            if len(splits) == 1:
                found[name] = splits[0]
                rests[name] = meaning_of([word for word in words if not split_of_word(word)])
    meant = [rest for rest in rests.values() if rest]
    if meant:
        unlabelled = [meaning_of([word for word in words_of(name) if word not in _UNLABELLED]) for name in names]
        are_alike = all(
            rests.get(name) == meant[0] or (is_unlabelled(name) and unlabelled[i] in ([], meant[0]))
            for i, name in enumerate(names)
        )
        # bounding_box_train/ and bounding_box_test/ are splits next to query/, too.
        are_one = all(rest == meant[0] for rest in rests.values()) and len(rests) > 1
        if not (are_alike or are_one) or len(set(found.values())) == 1:
            found = {name: split for name, split in found.items() if not rests.get(name)}
    if "train" in found.values():
        found |= {name: "test" for name in names if _is_searched(name)}
        plain = {split for name, split in found.items() if name.lower() not in _EVALUATION}
        if "test" not in plain or "validation" not in plain:
            other = "test" if "validation" in plain else "validation"
            found |= {name: other for name in names if name.lower() in _EVALUATION}
    return found


def number_of_word(name: str) -> str | None:
    """Return the word of a name that is one word and a number, such as ``plate`` of ``Plate_01``; None for others."""
    words = words_of(name)
    return words[0] if len(words) == 2 and not words[0].isdigit() and words[1].isdigit() else None


def are_splits(names: Sequence[str]) -> bool:
    """Return whether all names mean splits by words among others, as ``ISIC_Train_Data`` next to ``ISIC_Test_Data``."""
    found = splits_of(names)
    return len(found) == len(names) and len(set(found.values())) > 1 and not all(map(split_of_folder, names))


def _is_searched(name: str) -> bool:
    """Return whether a name is one of re-identification, such as ``query`` or ``image_query``."""
    words = words_of(name)
    return not _SEARCHED.isdisjoint(words) and not meaning_of([word for word in words if word not in _SEARCHED])
