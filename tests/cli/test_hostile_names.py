"""Names from data that would change what a terminal shows: no output holds them unescaped, and JSON keeps them."""

import json
import shutil

import pytest

from shardkit.naming import printable_json
from shardkit.testing import picture, write_tree

from .calling import call

# Controls of C1 (an escape sequence), DEL, of writing directions, a line's and a paragraph's end, and half a pair.
CLASSES = ["a\x9b31m", "b\x7f\u202egnp.", "c\u2066\u2069\u200f", "d\u2028\u2029\x1b[2J"]
PLAIN = "\u00fcnic\u00f6de \u732b"


@pytest.fixture(scope="module")
def hostile(made_once):
    """A source of hostile names with a bad file, and its dataset."""

    def make(folder):
        names = [f"{name}/{i}{name}.png" for name in [*CLASSES, PLAIN] for i in range(4)]
        files = {name: picture(i) for i, name in enumerate(names)} | {f"{CLASSES[0]}/bad{CLASSES[1]}.png": b"x"}
        write_tree(folder / "source", files)
        options = ["--splits", "train=0.5,test=0.5", "--max-rejected", "1", "--log-format", "json"]
        result = call("convert", folder / "source", folder / "out", *options)
        assert result.exit_code == 0, result.output
        (folder / "log.jsonl").write_text(result.stderr, encoding="utf-8")

    return made_once("hostile-names", make)


def is_shown_safely(text):
    return all(line.isprintable() for line in text.split("\n"))


JSON_CALLS = [
    ["info", "{out}", "--json"],
    ["info", "{out}", "--json", "--rejected"],
    ["plan", "{out}", "--json"],
    ["plan", "{source}", "--json"],
    ["verify", "{damaged}", "--json"],
    ["diff", "{out}", "{damaged}", "--json"],
]
CALLS = [
    ["info", "{out}"],
    ["info", "{out}", "--rejected"],
    ["plan", "{out}", "--explain"],
    ["plan", "{source}"],
    ["verify", "{damaged}"],
    ["diff", "{out}", "{damaged}"],
    ["show", "{out}", f"{CLASSES[1]}/0{CLASSES[1]}.png"],
    ["show", "{out}", CLASSES[1]],
    ["preview", "{out}", "--label", CLASSES[1], "-o", "{new}.png"],
    ["preview", "{out}", "--label", CLASSES[1][:-1], "-o", "{new}.png"],
    ["extract", "{out}", "{new}"],
    ["convert", "{out}", "{new}-next", "--drop", f"{CLASSES[1]}/0{CLASSES[1]}.png"],
    ["append", "{copy}", "{source}", "--skip-existing"],
    ["export", "{copy}", "--to", "croissant"],
]
# Calls that write files for people.
WRITING = [
    (["report", "{out}", "-o", "{new}.html"], "new.html"),
    (["report", "{source}", "-o", "{new}2.html"], "new2.html"),
    (["export", "{copy}", "--to", "croissant"], "copy/croissant.json"),
    (["export", "{copy}", "--to", "dataset-card", "--license", "MIT"], "copy/README.md"),
]


@pytest.fixture(scope="module")
def places(hostile, tmp_path_factory):
    """The folders of the calls; the class of one image differs in the damaged dataset."""
    root = tmp_path_factory.mktemp("names")
    copy, damaged = (shutil.copytree(hostile / "out", root / name) for name in ("copy", "damaged"))
    shard = min(damaged.glob("*.tfrecord"))
    shard.write_bytes(shard.read_bytes()[:-1] + b"\xff")
    return {"out": hostile / "out", "source": hostile / "source", "copy": copy, "damaged": damaged, "new": root / "new"}


def called(arguments, places):
    """The result of a call, which shows no control."""
    result = call(*(argument.format(**places) if argument[0] == "{" else argument for argument in arguments))
    assert is_shown_safely(result.stdout), repr(result.stdout)
    assert is_shown_safely(result.stderr), repr(result.stderr)
    return result


@pytest.mark.parametrize("arguments", [*JSON_CALLS, *CALLS], ids=lambda arguments: " ".join(arguments[:1]))
def test_no_output_holds_a_control_from_the_data(arguments, places):
    result = called(arguments, places)
    if arguments in JSON_CALLS:
        assert result.exit_code in {0, 1}
        shown = json.loads(result.stdout)
        if isinstance(shown, dict) and isinstance(shown.get("classes"), list):
            assert {*CLASSES, PLAIN} == set(shown["classes"])
            assert PLAIN in result.stdout  # names stay readable


def test_no_file_for_people_holds_one(places, hostile):
    assert is_shown_safely((hostile / "log.jsonl").read_text(encoding="utf-8"))
    assert is_shown_safely((hostile / "out" / "run-log.jsonl").read_text(encoding="utf-8"))
    for arguments, name in WRITING:
        assert called(arguments, places).exit_code == 0
        path = places["copy"].parent / name
        assert is_shown_safely(path.read_text(encoding="utf-8")), name


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": ["b", 1]}, '{"a": ["b", 1]}'),
        (f"{PLAIN}\U0001f600", f'"{PLAIN}\U0001f600"'),
        ("\x7f\x80\x9f\u202e\u2066\u200f\u2028", '"\\u007f\\u0080\\u009f\\u202e\\u2066\\u200f\\u2028"'),
        ("\udc80\U000e0001", '"\\udc80\\udb40\\udc01"'),
        ('"\\\n', '"\\"\\\\\\n"'),
    ],
)
def test_printable_json_is_the_same_json(value, text):
    assert printable_json(value, indent=None) == text
    assert json.loads(text) == value
    ascii_text = printable_json(value, indent=None, only_ascii=True)
    assert ascii_text.isascii()
    assert is_shown_safely(ascii_text)
    assert json.loads(ascii_text) == value
