import pytest

from shardkit.cli.printing.lines import wrapped


@pytest.mark.parametrize("indent", ["  ", "      "])
def test_a_command_stays_one_line_below_an_item_of_a_list_too(indent):
    command = f"{indent}shardkit convert photos OUT --splits train=0.8,validation=0.2 --split-by stratified"
    assert wrapped(command, 60) == [command]
    assert len(wrapped(f"{indent}- {command}", 60)) > 1
