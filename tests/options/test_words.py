"""Messages name options as their reader writes them."""

from fractions import Fraction

from shardkit.options.words import arguments, named, words_of, written_as


def test_python_reads_keywords() -> None:
    assert named("max_side") == "max_side"
    assert named("dedupe", "drop") == "dedupe='drop'"
    assert named("overwrite", True) == "overwrite=True"


def test_the_command_line_reads_flags() -> None:
    with written_as("command"):
        assert named("max_side") == "--max-side"
        assert named("label_columns", "species") == "--label-column species"
        assert named("overwrite", True) == "--overwrite"
        assert named("shard_size", 128 << 20) == "--shard-size 128MiB"
        assert named("strip_metadata", False) == "--keep-metadata"
        assert named("group_by", "(.*) x") == "--group-by '(.*) x'"
        assert words_of("label_columns", ["a", "b"]) == ("--label-column", "a", "--label-column", "b")
        assert words_of("resize", None) == ("--resize", "none")
    assert named("max_side") == "max_side"


def test_arguments_are_written_in_their_groups() -> None:
    given = {"seed": 1, "resize": 256, "splits": {"train": Fraction(9, 10), "test": Fraction(1, 10)}, "fit": "pad"}
    assert arguments(given) == "seed=1, stored=Stored(resize=256, fit='pad'), splits={'train': 0.9, 'test': 0.1}"
    assert (
        arguments({"splits": "own", "split_by": "stratified"}) == "splits=Splits(splits='own', split_by='stratified')"
    )
