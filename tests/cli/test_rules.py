"""The later life of a dataset, by the commands that a user types: its rules, what was removed, nightly appends."""

import json
import re
import shlex
import shutil

import pytest

from shardkit.dataset.manifest import read_manifest
from shardkit.testing import files_of, picture, write_class_folders, write_tree

from ..record_sources.datasets.converting import examples
from .calling import call

PATIENT = r"/(p\d)_"
RULES = ["--splits", "60/40", "--group-by", PATIENT, "--seed", "3", "--resize", "6", "--strip-metadata"]


def convert(*words):
    result = call("convert", *words)
    assert result.exit_code == 0, result.output
    return result


def patients(root, first):
    names = [f"{'ant' if i % 3 else 'bee'}/p{i % 8}_{first + i}.png" for i in range(24)]
    return write_tree(root, {name: picture(first + number) for number, name in enumerate(names)})


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    return patients(tmp_path_factory.mktemp("raw"), 0)


@pytest.fixture(scope="module")
def new(tmp_path_factory):
    return patients(tmp_path_factory.mktemp("new"), 500)


@pytest.fixture(scope="module")
def old(raw, tmp_path_factory):
    output = tmp_path_factory.mktemp("old") / "OLD"
    convert(raw, output, *RULES)
    return output


def keys_file(tmp_path, *keys):
    (tmp_path / "keys.txt").write_text("\n".join(keys))
    return tmp_path / "keys.txt"


def commands_in(error, output):
    """The commands that an error prints, with OUT replaced."""
    lines = re.findall(r"^  shardkit (.*?)(?:  #.*)?$", error, re.MULTILINE)
    return [[str(output) if word == "OUT" else word for word in shlex.split(line)] for line in lines]


def options_of(dataset):
    return read_manifest(str(dataset)).options


def test_a_converted_dataset_keeps_its_rules_and_appended_images_follow_them(old, new, tmp_path, monkeypatch):
    with (
        monkeypatch.context() as patched
    ):  # images of the right size and without metadata are neither decoded nor encoded
        patched.setattr("shardkit.images.normalising.open_image", None)
        patched.setattr("shardkit.images.pillow.open_image", None)
        said = convert(old, tmp_path / "NEW", "--drop", keys_file(tmp_path, "ant/p1_1.png"))
    kept = f"--splits train=0.6,validation=0.4 --group-by '{PATIENT}' --seed 3 --resize 6 --strip-metadata"
    assert f"rules of {old}: kept {kept}\n" in said.stderr
    before, now = options_of(old), options_of(tmp_path / "NEW")
    assert {name: value for name, value in now.items() if name != "kept_splits"} == {**before, "drop": now["drop"]}
    assert options_of(tmp_path / "NEW")["kept_splits"] == "made"
    planned = call("plan", tmp_path / "NEW").stdout
    assert "appended images are divided by --splits train=0.6,validation=0.4" in planned
    assert "--splits" not in planned.partition("options: ")[2].partition("\n")[0], "it would divide them anew"
    shutil.copytree(old, tmp_path / "same")
    for dataset in ("same", "NEW"):
        assert call("append", tmp_path / dataset, new).exit_code == 0
    wanted, found = examples(tmp_path / "same"), examples(tmp_path / "NEW")
    assert {split for split, _ in wanted.values()} == {"train", "validation"}
    del wanted["ant/p1_1.png"]
    assert found == wanted, "the splits, sizes and labels are those of an append to OLD"
    assert call("verify", tmp_path / "NEW", "--leaks").exit_code == 0
    # Shares that shardkit made may be made anew, also two conversions later.
    again = convert(tmp_path / "NEW", tmp_path / "again", "--splits", "50/50", "--resize", "none")
    assert (
        "changed --splits train=0.6,validation=0.4 --resize 6 to --splits train=0.5,validation=0.5 --resize none"
        in (again.stderr)
    )
    assert options_of(tmp_path / "again")["resize"] is None


def test_the_sources_own_splits_stay_the_rule(raw, tmp_path):
    source = write_class_folders(tmp_path / "raw", {"train/a": 9, "train/b": 9, "test/a": 2, "test/b": 2})
    convert(source, tmp_path / "old", "--splits-of", "train", "--splits", "60/40")
    convert(tmp_path / "old", tmp_path / "new", "--shards", "1", "--quiet")
    assert options_of(tmp_path / "new")["kept_splits"] == "own"
    refused = call("convert", tmp_path / "new", tmp_path / "mixed", "--splits", "50/50")
    assert (refused.exit_code, "--splits would mix them" in refused.stderr) == (2, True)
    more = write_class_folders(tmp_path / "more", {"train/a/new": 9, "test/b/new": 2}, width=9)
    assert call("append", tmp_path / "new", more).exit_code == 0
    splits = read_manifest(str(tmp_path / "new")).splits
    assert splits["test"].num_examples == 6
    assert sum(split.num_examples for split in splits.values()) == 33
    # A source without splits: the rule does not fit, and both commands in the message run.
    plain = write_class_folders(tmp_path / "plain", {"a/plain": 9, "b/plain": 9}, width=10)
    refused = call("append", tmp_path / "new", plain)
    assert refused.exit_code == 2
    for command, names in zip(commands_in(refused.stderr, ""), ({"train", "validation"}, {"train"}), strict=True):
        dataset = shutil.copytree(tmp_path / "new", tmp_path / f"with {len(names)}")
        assert call("append", dataset, *command[2:]).exit_code == 0
        assert read_manifest(str(dataset)).history[-1].splits.keys() == names


def test_several_datasets_need_one_rule_and_every_command_that_says_so_runs(old, raw, tmp_path):
    other = write_class_folders(tmp_path / "raw b", {"ant": 6, "cat": 6}, width=11)
    convert(other, tmp_path / "b", "--seed", "3", "--size", "5x4")
    refused = call("convert", old, tmp_path / "b", tmp_path / "new")
    assert refused.exit_code == 2
    assert (
        f"{old} has --splits train=0.6,validation=0.4 --group-by '{PATIENT}' --resize 6 --size none" in refused.stderr
    )
    assert (
        f"{tmp_path / 'b'} has --splits own --group-by none --resize none --size 5x4 --keep-metadata" in refused.stderr
    )
    commands = commands_in(refused.stderr, tmp_path / "OUT")
    assert len(commands) == 2
    for command, rules in zip(commands, (old, tmp_path / "b"), strict=True):
        done = call(*command)
        assert done.exit_code == 0, done.stderr
        shown = options_of(tmp_path / "new")
        for name in ("group_by", "resize", "size", "seed", "splits"):
            assert shown.get(name) == options_of(rules).get(name)
        shutil.rmtree(tmp_path / "new")
    # A default that overrules the rule of both is in the commands, too.
    refused = call("convert", old, tmp_path / "b", tmp_path / "new", "--seed", "0")
    assert call(*commands_in(refused.stderr, tmp_path / "OUT")[0]).exit_code == 0
    assert options_of(tmp_path / "new")["seed"] == 0


def test_a_printed_command_repeats_the_defaults_that_overrule_the_rules(old, tmp_path):
    defaults = ["--split-by", "hash", "--seed", "0", "--group-by", "none", "--resize", "none", "--keep-metadata"]
    refused = call("convert", old, tmp_path / "new", "--splits", "93/7", *defaults)
    (command,) = commands_in(refused.stderr, tmp_path / "OUT")
    convert(*command[1:])
    made = options_of(tmp_path / "new")
    assert (made["split_by"], made["seed"], made["group_by"], made["resize"]) == ("stratified", 0, None, None)
    assert made["strip_metadata"] is False


def test_an_append_accepts_the_rules_of_the_dataset_and_refuses_others_with_commands(old, new, tmp_path):
    shutil.copytree(old, tmp_path / "D")
    refused = call("append", tmp_path / "D", new, *RULES[4:], "--size", "7x7", "--resize", "none", "--jpeg", "keep")
    assert refused.exit_code == 2
    assert f"{tmp_path / 'D'}: it was made with --resize 6 --size none, and --resize none --size 7x7" in refused.stderr
    by_rule, changed = commands_in(refused.stderr, tmp_path / "OUT")
    assert call(*changed).exit_code == 0
    assert options_of(tmp_path / "OUT")["size"] == "7x7"
    assert examples(tmp_path / "OUT").keys() == examples(old).keys()
    assert call(*by_rule).exit_code == 0
    assert "nothing to do" in call("append", tmp_path / "D", new, *RULES[4:]).stderr


def test_groups_of_all_generations_are_known(raw, new, tmp_path):
    """A dataset that was made without groups gets images with groups."""
    convert(raw, tmp_path / "D", "--splits", "60/40")
    assert call("verify", tmp_path / "D", "--leaks").exit_code == 0
    split_of = {}  # of a patient; training comes first if the first conversion has separated his images
    for key, (split, _) in sorted(examples(tmp_path / "D").items()):
        split_of[key[4:6]] = min(split, split_of.get(key[4:6], split))
    assert call("append", tmp_path / "D", new, "--group-by", PATIENT).exit_code == 0
    added = {key: split for key, (split, _) in examples(tmp_path / "D").items() if int(key[7:-4]) >= 500}
    assert added == {key: split_of[key[4:6]] for key in added}
    leaks = call("verify", tmp_path / "D", "--leaks")
    assert leaks.exit_code == 1
    assert "leak: group 'p" in leaks.stdout


def test_nothing_names_what_was_removed_and_it_stays_out(old, raw, tmp_path):
    removed = ["ant/p1_1.png", "bee/p3_3.png"]
    convert(old, tmp_path / "NEW", "--drop", keys_file(tmp_path, *removed))
    convert(old, tmp_path / "twin", "--drop", tmp_path / "keys.txt")
    twin = files_of(tmp_path / "twin")
    files = files_of(tmp_path / "NEW")
    assert {name for name in files if files[name] != twin[name]} == {"run-log.jsonl"}
    # The raw source again, with a renamed copy of one removed image, and the other one damaged.
    source = shutil.copytree(raw, tmp_path / "source")
    shutil.copy(source / removed[0], source / "ant/p1_renamed.png")
    (source / removed[1]).write_bytes(b"\x89PNG")
    said = call("append", tmp_path / "NEW", source, "--skip-existing")
    assert said.exit_code == 0
    kinds = "22 already in the dataset, 3 removed from the dataset before"
    assert f"{source} has nothing new for {tmp_path / 'NEW'} ({kinds}); --readmit takes in" in said.stderr
    write_tree(source, {"bee/p9_99.png": picture(99)})
    said = call("append", tmp_path / "NEW", source, "--skip-existing")
    assert f"left out: {kinds}; --readmit takes in what was removed" in said.stdout
    everything = files_of(tmp_path / "NEW")
    for key in [*removed, "p1_renamed"]:
        assert not [name for name, data in everything.items() if key.encode() in data]
    assert "removed: 2 images that `convert --drop` removed stay out" in call("info", tmp_path / "NEW").stdout
    again = shutil.copytree(tmp_path / "NEW", tmp_path / "again")  # has the source, but for what was removed
    assert "nothing to do" in call("append", again, source, "--skip-existing").stderr
    assert call("append", again, source, "--skip-existing", "--readmit", "--max-rejected", "1").exit_code == 0
    assert "ant/p1_1.png" in examples(again)
    # Another conversion carries the list on, and a condition is not written either.
    convert(tmp_path / "NEW", tmp_path / "next", "--where", "key != 'bee/p9_99.png' and label_name != 'nobody'")
    everything = files_of(tmp_path / "next")
    assert not [name for name, data in everything.items() if b"p9_99" in data or b"nobody" in data]
    assert everything["withdrawn.parquet"] == files["withdrawn.parquet"]
    assert call("verify", tmp_path / "next").exit_code == 0
    # The damaged one is a reject now, and the copy is the image.
    said = call("append", tmp_path / "next", source, "--skip-existing", "--readmit", "--max-rejected", "1")
    assert said.exit_code == 0, said.stderr
    assert {"ant/p1_1.png", "ant/p1_renamed.png", "bee/p9_99.png"} <= examples(tmp_path / "next").keys()
    assert read_manifest(str(tmp_path / "next")).withdrawn == 1
    assert call("verify", tmp_path / "next").exit_code == 0


def test_what_one_dataset_removed_does_not_come_back_from_another(old, tmp_path):
    convert(old, tmp_path / "NEW", "--drop", keys_file(tmp_path, "ant/p1_1.png"))
    convert(old, tmp_path / "part", "--where", "label_name = 'ant'")
    said = convert(tmp_path / "NEW", tmp_path / "part", tmp_path / "both", "--key-prefix")
    assert "skipped: 1 removed from one of the datasets before" in said.stdout
    assert "part/ant/p1_1.png" not in examples(tmp_path / "both")
    removed = "1 example is left out, because another of the datasets removed the same key or content before\n"
    assert f"  - {removed}      part/ant/p1_1.png\n" in said.stderr
    assert not [name for name, data in files_of(tmp_path / "both").items() if b"part/ant/p1_1.png" in data]
    (command,) = (line.strip() for line in said.stderr.splitlines() if line.strip().endswith("# take them in"))
    convert(*shlex.split(command, comments=True)[2:])
    assert "part/ant/p1_1.png" in examples(tmp_path / "both")
    convert(tmp_path / "NEW", tmp_path / "part", tmp_path / "all", "--key-prefix", "--readmit")
    assert "part/ant/p1_1.png" in examples(tmp_path / "all")
    convert(tmp_path / "NEW", tmp_path / "part", tmp_path / "both", "--key-prefix", "--overwrite")
    assert [read_manifest(str(tmp_path / name)).withdrawn for name in ("both", "all")] == [1, 0]
    # The hashes of a key differ between datasets, so that nobody can prepare a table of them.
    convert(tmp_path / "part", tmp_path / "less", "--drop", tmp_path / "keys.txt")
    assert options_of(tmp_path / "less")["drop"] != options_of(tmp_path / "NEW")["drop"]
    lists = [(tmp_path / name / "withdrawn.parquet").read_bytes() for name in ("NEW", "less")]
    assert lists[0] != lists[1]


@pytest.mark.parametrize("others", [["NEW", "again"], ["again", "NEW"], ["NEW", "again", "old"]])
def test_a_copy_that_was_kept_is_not_taken_from_another_version_of_the_dataset(others, raw, tmp_path):
    source = shutil.copytree(raw, tmp_path / "source")
    shutil.copy(source / "ant/p1_1.png", source / "bee/twin.png")
    convert(source, tmp_path / "old")
    convert(tmp_path / "old", tmp_path / "NEW", "--drop", keys_file(tmp_path, "bee/twin.png"))
    convert(tmp_path / "NEW", tmp_path / "again")
    convert(*(tmp_path / name for name in others), tmp_path / "both", "--key-prefix")
    found = {key.partition("/")[2] for key in examples(tmp_path / "both")}
    assert found == examples(tmp_path / "NEW").keys()
    # Only the dropped copy is left out and listed.
    planned = json.loads(call("plan", *(tmp_path / name for name in others), "--key-prefix", "--json").stdout)
    listed = [one["examples"] for one in planned["findings"] if one["code"] == "removed_before"]
    assert listed == ([["old/bee/twin.png"]] if "old" in others else [])
    assert len(examples(tmp_path / "both")) == len(others) * len(found)


def test_a_copy_of_a_removed_image_is_named(raw, tmp_path):
    source = shutil.copytree(raw, tmp_path / "source")
    shutil.copy(source / "ant/p1_1.png", source / "ant/copy.png")
    convert(source, tmp_path / "old")
    said = convert(tmp_path / "old", tmp_path / "new", "--drop", keys_file(tmp_path, "ant/p1_1.png"))
    assert "1 image of the new dataset has the bytes of a removed one: ant/copy.png; remove copies" in said.stderr


@pytest.mark.parametrize("check", ["decode", "header"])
def test_a_nightly_append_with_nothing_new_is_done(check, raw, tmp_path):
    source = shutil.copytree(raw, tmp_path / "source")
    convert(source, tmp_path / "D", "--check", check)
    (source / "ant/p1_1.png").unlink()
    digest = read_manifest(str(tmp_path / "D")).digest
    said = call("append", tmp_path / "D", source, "--skip-existing")
    assert said.exit_code == 0
    assert f"{source} has nothing new for {tmp_path / 'D'} (23 already in the dataset); nothing to do" in said.stderr
    write_tree(source, {"ant/p1_bad.png": b""})
    said = call("append", tmp_path / "D", source, "--skip-existing")
    assert (said.exit_code, read_manifest(str(tmp_path / "D")).digest) == (0, digest)
    assert "(23 already in the dataset, 1 empty); nothing to do" in said.stderr
    assert "  ant/p1_bad.png: empty: The file has no bytes" in said.stderr
    assert not (tmp_path / "D/append-0001").exists()
    limited = call("append", tmp_path / "D", source, "--skip-existing", "--max-rejected", "0", "--overwrite")
    assert (limited.exit_code, "1 of 24 images and records are bad" in limited.stderr) == (1, True)
    write_tree(source, {"ant/p1_new.png": picture(77)})
    assert call("append", tmp_path / "D", source, "--skip-existing", "--overwrite").exit_code == 0
    info = json.loads(call("info", tmp_path / "D", "--json").stdout)
    assert info["rejected"] == {"num_examples": 1, "by_reason": {"empty": 1}}
    assert info["source"]["num_files"] == 26
    shown = " ".join(call("info", tmp_path / "D").stdout.split())
    listed = f"listed by `shardkit info {tmp_path / 'D'} --rejected`"
    assert f"rejected: 1 empty ({listed}); skipped: 23 already in the dataset" in shown
    # A file that changed is refused, not passed over: with --check header its size tells.
    write_tree(source, {"bee/p0_0.png": picture(88, width=9)})
    said = call("append", tmp_path / "D", source, "--skip-existing")
    assert (said.exit_code, "1 key of SOURCE with other bytes, such as 'bee/p0_0.png'" in said.stderr) == (1, True)


def test_a_nightly_append_with_new_images_of_one_split_does_not_report_the_others(tmp_path):
    source = write_class_folders(tmp_path / "source", {"train/ant": 3, "train/bee": 3, "test/ant": 2, "test/bee": 2})
    convert(source, tmp_path / "D")
    write_tree(source, {"train/bee/new.png": picture(90)})
    said = call("append", tmp_path / "D", source, "--skip-existing")
    assert (said.exit_code, "Check these" in said.stderr) == (0, False), said.stderr
    write_tree(source, {"train/bee/newer.png": picture(91), "validation/bee/bad.png": b""})
    said = call("append", tmp_path / "D", source, "--skip-existing", "--max-rejected", "1")
    assert "the only image of the split 'validation' was rejected" in said.stderr
