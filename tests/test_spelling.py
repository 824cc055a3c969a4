import pytest

from shardkit.errors import CallError
from shardkit.options.groups import SourceArguments
from shardkit.spelling import closest

OPTIONS = [
    "--fit",
    "--jpeg",
    "--splits",
    "--splits-of",
    "--strip-metadata",
    "--overwrite",
    "--log-format",
    "image_size",
]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("--config", None),  # two dashes and "fi" in common with --fit
        ("--open", None),
        ("--batch-size", None),
        ("--so", None),
        ("--split", "--splits"),
        ("--spilts", "--splits"),
        ("--overwite", "--overwrite"),
        ("--strip", "--strip-metadata"),
        ("--format", "--log-format"),
        ("image_sise", "image_size"),
        ("--Image-Size", "image_size"),
    ],
)
def test_only_similar_words_are_suggested(given, meant):
    assert closest(given, OPTIONS) == meant


def test_a_choice_that_is_like_none_is_answered_without_a_guess():
    with pytest.raises(CallError, match=r"found 'archive'$"):
        SourceArguments(layout="archive")
    with pytest.raises(CallError, match="did you mean 'coco'"):
        SourceArguments(layout="coc")
