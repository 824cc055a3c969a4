import platform
import shutil

import pytest

from shardkit.planning import plan_file
from shardkit.testing import picture, write_class_folders, write_tree

from .calling import call, is_one_sentence

# options, what the sentence must say
WRONG_VALUES = [
    (["--splits", "train=0.8"], "adds to 0.8: the shares must add to exactly 1 or 100"),
    (["--splits", "train=0.8,validation=0.3"], "adds to 1.1"),
    (["--splits", "train=0.8,validation"], "the part 'validation', which is not of the form name=value"),
    (["--splits", "train=80%,validation=30%"], "adds to 110: the shares must add to exactly 100 %"),
    (["--splits", "80/10/5/5"], "is neither two numbers"),
    (["--splits", "80/20", "--splits-of", ""], "a split's name is a letter"),
    (["--splits-of", "train"], "--splits-of needs the shares to divide by"),
    (["--splits", "train=1.0,validation=0.0"], "it must be above 0"),
    (["--splits", "train=-1,validation=2"], "write a number such as 0.8 or 80"),
    (["--splits", "train=nan"], "write a number such as 0.8 or 80"),
    (["--splits", "val=0.5,validation=0.5"], "names the split validation twice, as 'val' and 'validation'"),
    (["--splits", "tr/ain=0.5,x=0.5"], "a split's name is a letter followed by letters, digits or '_'; found 'tr/ain'"),
    (["--splits", ""], "--splits"),
    (
        ["--splits", "train=0.999999999,test=0.000000001", "--split-by", "stratified"],
        "share, or leave that split out",
    ),
    # A share so small that nobody is in it is a mistake of the call, not an empty split.
    (["--splits", "train=0.999999999,test=0.000000001"], "split 'test' would get none of the 60 examples"),
    (["--split-by", "label"], "'label' is not one of 'hash', 'stratified'"),
    (["--shards", "0"], "whole numbers of at least 1"),
    (["--shards", "-3"], "whole numbers of at least 1"),
    (["--shards", "2.5"], "whole numbers of at least 1"),
    (["--shards", "many"], "whole numbers of at least 1"),
    (["--shards", "61"], "61 shards were requested for train, which has only 60 examples: request at most 60"),
    (["--shards", "train=2,test=2"], "--shards names the split 'test'; the conversion writes train"),
    (["--shards", "train=2,training=3"], "names the split train twice"),
    (["--shard-size", "big"], "write it like 128MiB"),
    (["--shard-size", "128 apples"], "write it like 128MiB"),
    (["--shard-size", "1kB"], "is not between 10 MiB and 1 GiB"),
    (["--shard-size", "2GiB"], "is not between 10 MiB and 1 GiB"),
    (["--input-pipelines", "0"], "--input-pipelines must be from 1 to"),
    (["--input-pipelines", "two"], "'two' is not a valid integer"),
    (["--seed", "-1"], "--seed must be from 0 to"),
    (["--seed", str(1 << 80)], "--seed must be from 0 to"),
    (["--classes", "no-such-file.txt"], "File 'no-such-file.txt' does not exist"),
    (["--resize", "0"], "--resize must be from 1 to"),
    (["--resize", "224x224"], "found '224x224'; --size 224x224 gives every image this height and width"),
    (["--resize", "240, 320"], "found '240, 320'; --size 240x320 gives every image this height and width"),
    (["--max-side", "big"], "--max-side is one number, the length of a side in pixels; found 'big'"),
    (["--resize", "5", "--size", "5x5"], "--size sets both sides, and --resize 5 one of them; give one of them"),
    (["--size", "224"], "write --size 224x224 for a square, or --resize 224 to reduce the shorter side"),
    (["--fit", "pad"], "--fit pad needs the size of the stored images, such as --size 256x320 (height x width)"),
    (["--size", "9x9", "--fit", "stretch"], "'stretch' is not one of 'crop', 'pad'"),
    (["--size", "9x9", "--fit", "pad", "--mask-padding", "0"], "no effect on images without masks; leave it out"),
    (["--jpeg", "progressive"], "'progressive' is not one of 'keep', 'baseline'"),
    (["--subsampling", "420"], "'420' is not one of '4:2:0', '4:2:2', '4:4:4'"),
    (["--quality", "101"], "--quality must be from 1 to 100"),
    (["--check", "all"], "'all' is not one of 'decode', 'header'"),
    (["--name", "my data"], "--name must be letters, digits and '_', not starting with a digit; found 'my data'"),
    (["--name", "../x"], "--name must be letters"),
    (["--max-rejected", "some"], "--max-rejected is a count such as 100 or a share such as 5%; found 'some'"),
    (["--max-rejected", "101%"], "found '101%'"),
    (["--max-rejected", "-1"], "found '-1'"),
    (["--max-rejected", "1.5"], "found '1.5'"),
    (["--max-rejected", "nan%"], "found 'nan%'"),
    (["--workers", "0"], "--workers must be at least 1; found 0"),
    (["--workers", "-2"], "--workers must be at least 1; found -2"),
    (["--shard", "4"], "no such option: --shard; did you mean --shards?"),
    (["--split=train=1"], "did you mean --splits?"),
    (["--overwite"], "no such option: --overwite; did you mean --overwrite?"),
    (["--json"], "no such option: --json; `plan`, `info` and `verify` print JSON"),
    (["--dry-run"], "no such option: --dry-run; `shardkit plan SOURCE` shows what would be written"),
    (["--runnr=FlinkRunner"], "no such option: --runnr; did you mean --runner?"),
    (["--temp_location=x"], "no such option: --temp_location; it is an option of Apache Beam; add --runner to use it"),
    (["--flink_mastr=[local]"], "did you mean --flink_master, an option of Apache Beam?"),
    (["--runner=DirectRunner", "--flink_mastr=x"], "no such option: --flink_mastr=x; did you mean --flink_master?"),
    (["--no-such-thing"], "no such option: --no-such-thing; see `shardkit convert --help`"),
    (["--config", "x"], "no such option: --config; see `shardkit convert --help`"),
    (["--open"], "no such option: --open; see `shardkit convert --help`"),
    (["--strip"], "no such option: --strip; did you mean --strip-metadata?"),
    (["third-path"], "convert takes SOURCE and OUTPUT; found 3 paths: "),
    (["third-path", "--", "--runner=PrismRunner"], "convert takes SOURCE and OUTPUT; found 3 paths: "),
    # Beam's own values are Beam's to judge; what it says must be cut down to what a user can read.
    (["--runner=Sparkle"], "Sparkle"),
    (["--runner=no.such.Runner"], "--runner=no.such.Runner cannot be imported: No module named 'no'"),
    (["--runner=Prism", "--workers", "2"], "--workers 2 is for threads of this process; with --runner=Prism, leave"),
    (["--", "--parallelism=2"], "--parallelism=2 is an option of Apache Beam, and no runner is named; add --runner"),
    (["--runner="], "no runner is named; add --runner"),
    (["--", "--parallelism=many"], "--parallelism"),
    (["--", "--temp_location"], "--temp_location"),
    (["--", "third-path"], "third-path"),
]


@pytest.mark.parametrize(("options", "sentence"), WRONG_VALUES, ids=[" ".join(options) for options, _ in WRONG_VALUES])
def test_a_wrong_value_is_refused_with_2_and_a_sentence_and_nothing_is_written(options, sentence, source, tmp_path):
    output = tmp_path / "out"
    result = call("convert", source, output, *options)
    assert result.exit_code == 2, result.output
    assert sentence in result.stderr
    assert is_one_sentence(result.stderr)
    assert result.stdout == ""
    assert not (output / "manifest.json").exists()


def test_options_before_the_source_that_nobody_knows_are_not_taken_for_the_source(source, tmp_path):
    result = call("convert", "--shard", source, tmp_path / "out")
    assert result.exit_code == 2
    assert "no such option: --shard" in result.stderr


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("ant\nbee\n", "the source has 1 labels that --classes does not name: 'cat'; add them to the file"),
        ("ant\n\nbee\ncat\n", "line 2 is empty; every line is the name of a class"),
        ("ant\nbee\ncat\nbee\n", "--classes names 'bee' twice"),
        ("\n \n", "the file names no class"),
        (b"ant\n\xff\xfe\n", "the file is not UTF-8 (byte 4)"),
    ],
)
def test_a_wrong_file_of_classes_is_refused_with_2_and_a_sentence(text, sentence, source, tmp_path):
    (tmp_path / "classes.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
    result = call("convert", source, tmp_path / "out", "--classes", tmp_path / "classes.txt")
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert is_one_sentence(result.stderr)


def test_splits_beside_those_of_the_source_are_refused(tmp_path):
    source = write_class_folders(tmp_path / "source", {"train/a": 2, "val/a": 2})
    result = call("convert", source, tmp_path / "out", "--splits", "train=1")
    assert result.exit_code == 2
    assert (
        "the source has its own splits (train, validation), and --splits would mix them; choose one of:"
        in result.stderr
    )


def make_nothing(_):
    return None


def make_file(path):
    path.write_bytes(picture(0))


def make_empty_classes(path):
    write_tree(path, {"a/": b"", "b/c/": b""})


def make_texts(path):
    write_tree(path, {"a/1.txt": b"x", "a/2.txt": b"x", "b/3": b"x"})


def make_only_bad(path):
    write_tree(path, {"a/1.jpg": b"", "b/2.jpg": b"x"})


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (make_nothing, "there is no such file or folder"),
        (make_file, "shardkit does not know how to read this file; SOURCE is a folder, a table"),
        (lambda path: path.mkdir(), "no images found, the folder is empty"),
        (make_empty_classes, "no images to convert in the source; skipped: 1 label folder a/ without an image"),
        (make_texts, "there are no images to convert in the source; skipped: 1 (none), 2 .txt"),
        (make_only_bad, "none of the 2 images is good; the first, a/1.jpg: The file has no bytes"),
    ],
)
@pytest.mark.parametrize("command", ["convert", "plan"])
def test_a_source_without_anything_to_convert_is_refused_with_1_and_a_sentence(command, make, sentence, tmp_path):
    make(tmp_path / "source")
    result = call(command, tmp_path / "source", *([tmp_path / "out"] if command == "convert" else []))
    assert result.exit_code == 1, result.output
    assert sentence in result.stderr
    assert is_one_sentence(result.stderr)
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_a_source_that_vanishes_meanwhile_is_said_so(tmp_path, monkeypatch):
    source = write_class_folders(tmp_path / "source", {"ant": 4, "bee": 1})
    write_plan = plan_file.write_plan

    def vanishing(output, plan):
        write_plan(output, plan)
        shutil.rmtree(source)

    monkeypatch.setattr(plan_file, "write_plan", vanishing)
    result = call("convert", source, tmp_path / "out")
    assert result.exit_code == 3
    assert f"{source}/ant: host {platform.node()} sees no file in this folder, the driver did; mount" in result.stderr
    assert is_one_sentence(result.stderr)


@pytest.mark.parametrize("arguments", [[], ["--help"], ["convert", "--help"], ["info", "-h"], ["--version"]], ids=str)
def test_help_and_version_are_shown(arguments):
    result = call(*arguments)
    assert result.exit_code == (0 if arguments else 2)
    assert ("0.1.0" if "--version" in arguments else "Usage: ") in result.output


def test_an_unknown_command_is_refused_with_2_and_the_command_that_was_meant(source):
    for arguments, meant in (
        (["convet", source], "no such command: convet; did you mean convert?"),
        ([source, "OUT"], f"did you mean `shardkit convert {source} OUT`?"),
        (["frobnicate"], "the commands are adopt, append, bench, "),
    ):
        result = call(*arguments)
        assert result.exit_code == 2
        assert meant in result.stderr
        assert is_one_sentence(result.stderr)


@pytest.mark.parametrize(
    ("paths", "folders"),
    [
        (["photos/ant/1.jpg", "photos/ant/2.PNG", "OUT"], ["photos", "photos/ant"]),
        (["photos/ant/1.jpg", "photos/bee/2.jpg", "OUT"], ["photos"]),
        (["1.jpg", "2.jpg", "3.jpg", "OUT"], ["."]),
        (["/x/1.jpg", "2.jpg", "OUT"], ["."]),
        (["photos/ant/1.png", "OUT"], ["photos", "photos/ant"]),
        (["photos/*/*.jpg", "OUT"], ["photos"]),
        (["photos/{ant,bee}", "OUT"], ["photos"]),
        (["*.jpg", "OUT"], ["."]),
        (["/nowhere/[ab]*", "OUT"], ["/nowhere"]),
    ],
)
def test_files_and_patterns_as_source_are_refused_with_the_commands_for_their_folder(
    paths, folders, tmp_path, monkeypatch
):
    monkeypatch.chdir(write_class_folders(tmp_path / "photos", {"ant": 2, "bee": 1}).parent)
    (tmp_path / "photos" / "ant" / "1.png").write_bytes(picture(1))
    result = call("convert", *paths)
    assert result.exit_code == 2
    commands = [line.partition("  #")[0].strip() for line in result.stderr.splitlines()[1:]]
    assert commands == [f"shardkit convert {folder} OUT" for folder in folders]
    assert not (tmp_path / "OUT").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--drop", "keys.txt"], "--drop keys.txt: its only key is not in"),
        (["--labels", "keys.txt"], "lacks the column 'key'"),
        (["--where", "size > 3"], "there is no column 'size'"),
        (["--ignore", "*.png"], "use --where or --drop"),
    ],
)
def test_changes_of_a_dataset_that_do_not_fit_it(options, said, dataset, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "keys.txt").write_text("nope\n")
    result = call("convert", dataset, tmp_path / "out", *options)
    assert result.exit_code == 2
    assert said in result.stderr
    assert is_one_sentence(result.stderr)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_named_like_a_pattern_is_a_source(tmp_path):
    source = write_class_folders(tmp_path / "photos [2024]", {"ant": 2, "bee": 2})
    assert call("plan", source, "--check", "header").exit_code == 0


@pytest.mark.parametrize("command", ["convert", "plan", "verify", "info"])
def test_a_scheme_that_is_not_supported_is_refused_with_2(command, source):
    result = call(command, *([source] if command == "convert" else []), "hdfs://host/path")
    assert result.exit_code == 2
    assert "not hdfs://" in result.stderr
    assert is_one_sentence(result.stderr)
