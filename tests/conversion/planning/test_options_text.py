"""The options in a manifest as options of a command."""

import json
import shlex

import pytest

from shardkit.cli.convert import convert
from shardkit.cli.options.conversion import arguments_from
from shardkit.conversion.arguments import read_arguments
from shardkit.conversion.option_values import option_values
from shardkit.conversion.planning.rules import option_differences, options_text


@pytest.mark.parametrize(
    "command",
    [
        "",
        "--splits train=0.8,test=0.2 --split-by hash --seed 7",
        "--splits train=0.9,validation=0.1 --splits-of train,validation",
        "--shards train=8,test=1",
        "--shards 8 --input-pipelines 4",
        "--shard-size 64MiB",
        "--max-side 512 --quality 85 --jpeg baseline --subsampling 4:2:0 --strip-metadata",
        "--size 256x320 --fit pad --mask-padding 255",
        "--group-by '^(p[0-9]+) '",
    ],
)
def test_the_text_is_what_was_typed(command):
    context = convert.make_context("convert", [*shlex.split(command), "SOURCE", "OUT"])
    others = {"source", "output", "quiet", "log_format", "no_wait"}
    given = {name: value for name, value in context.params.items() if name not in others}
    _, options = option_values(read_arguments("convert", arguments_from(given, "SOURCE")))
    stored = json.loads(json.dumps({"plan_version": 1, **options.as_json()}))
    assert sorted(shlex.split(options_text(stored))) == sorted(shlex.split(command))


def test_a_change_of_the_splits_that_examples_keep_is_a_sentence():
    kept, divided = {"kept_splits": "own"}, {}
    assert option_differences(kept, divided) == ["the examples are divided into splits anew"]
    assert option_differences(divided, kept) == ["the examples keep their splits"]
