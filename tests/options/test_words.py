"""Messages name options as their reader writes them."""

from shardkit.options.words import named, written_as


def test_python_reads_keywords() -> None:
    assert named("max_side") == "max_side"
    assert named("dedupe", "drop") == "dedupe='drop'"
    assert named("overwrite", True) == "overwrite=True"


def test_the_command_line_reads_flags() -> None:
    with written_as("command"):
        assert named("max_side") == "--max-side"
        assert named("label_columns", "species") == "--label-column species"
        assert named("overwrite", True) == "--overwrite"
    assert named("max_side") == "max_side"
