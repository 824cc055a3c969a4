"""Append small sources to small datasets: what is written, what is refused, and what every reader sees."""

import json
import pickle
import shlex
import shutil
from fractions import Fraction

import pytest

import shardkit
from shardkit.conversion.writing.conversion import Conversion
from shardkit.dataset.manifest import read_manifest
from shardkit.errors import CallError, DataError, ManifestError
from shardkit.exporting import export_dataset
from shardkit.exporting.dataset_card import dataset_card
from shardkit.exporting.facts import Facts
from shardkit.options.groups import ConvertOptions
from shardkit.parallel.progress import Silent
from shardkit.parallel.threads import ThreadExecutor
from shardkit.refusals import RefusalError
from shardkit.report.dataset_collection import DatasetCollection, commands
from shardkit.report.facts.gathering import ReportOptions
from shardkit.report.page.html import make_page
from shardkit.sources import SourceOptions
from shardkit.storage import LocalFolder
from shardkit.testing import (
    append_without_beam,
    convert_without_beam,
    digests_of,
    picture,
    write_class_folders,
    write_tree,
)
from shardkit.verification.dataset import verify_dataset
from shardkit.verification.folder_contents import other_names, unfinished_appends
from shardkit.verification.leaks import leak_problems

from ....cli.calling import call

SPLITS = {"train": Fraction(3, 4), "validation": Fraction(1, 4)}


def new_source(root, *, first=1000):
    """Seven new ants, five cats, and a copy of the first old bee."""
    names = [*(f"ant/new{i}.png" for i in range(7)), *(f"cat/{i}.png" for i in range(5))]
    write_tree(root, {name: picture(number) for number, name in enumerate(names, first)})
    return write_tree(root, {"bee/copy.png": picture(12)})


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return write_class_folders(tmp_path_factory.mktemp("old"), {"ant": 12, "bee": 8})


@pytest.fixture(scope="module")
def new(tmp_path_factory):
    return new_source(tmp_path_factory.mktemp("new"))


@pytest.fixture(scope="module")
def converted(source, tmp_path_factory):
    output = tmp_path_factory.mktemp("converted") / "out"
    convert_without_beam(str(source), str(output), splits=SPLITS, split_by="hash", shards=2, seed=4, resize=6)
    return output


@pytest.fixture
def dataset(converted, tmp_path):
    return shutil.copytree(converted, tmp_path / "out")


@pytest.fixture(scope="module")
def appended(converted, new, tmp_path_factory):
    output = shutil.copytree(converted, tmp_path_factory.mktemp("appended") / "out")
    append_without_beam(str(output), str(new))
    return output


def problems(dataset, digest=None):
    root = LocalFolder(str(dataset))
    return [str(one) for one in verify_dataset(root, ThreadExecutor(1), Silent(), deep=True, digest=digest)[1]]


def rows(dataset):
    """The split and the class of every example, by key."""
    manifest = read_manifest(str(dataset))
    return {
        row["key"]: (split, manifest.classes[row["label"]])
        for split in manifest.splits
        for row in shardkit.open(str(dataset), split)
    }


def test_an_append_changes_no_old_file_but_the_manifest_and_everybody_sees_one_dataset(converted, appended):
    old, now = digests_of(converted), digests_of(appended)
    digest = read_manifest(str(converted)).digest
    assert {path for path in old if old[path] != now[path]} == {"manifest.json"}
    assert now[f"manifests/{digest}.json"] == old["manifest.json"]
    assert {path.split("/")[0] for path in set(now) - set(old)} == {"append-0001", "manifests"}
    manifest = read_manifest(str(appended))
    assert manifest.classes == ["ant", "bee", "cat"]
    before, found = rows(converted), rows(appended)
    assert {key: found[key] for key in before} == before, "an old example changed its split or its label"
    assert len(found) == len(before) + 13
    assert found["cat/3.png"][1] == "cat"
    assert found["bee/copy.png"] == found["bee/000.png"]
    assert manifest.source.duplicates == 1
    assert problems(appended) == []
    assert leak_problems(manifest) == []
    assert other_names(manifest.root, manifest) == []
    assert sum(sum(split.class_counts) for split in manifest.splits.values()) == 33
    added = shardkit.open(str(appended), found["cat/3.png"][0])["cat/3.png"]
    assert added.image().size == (6, 6), "--resize is the dataset's"


def test_the_manifest_has_the_balance_of_each_generation_and_of_all(appended):
    manifest = read_manifest(str(appended))
    part = read_manifest(str(appended / "append-0001"))
    first, second = manifest.generations
    assert (first.folder, first.previous, first.num_classes) == (None, None, 2)
    assert (second.folder, second.num_classes) == ("append-0001", 3)
    assert second.previous == second.options["appended_to"] == first_digest(appended)
    for name, split in part.splits.items():
        assert second.splits[name].balance == split.balance
        assert second.splits[name].num_examples == split.num_examples
    sizes = [shard.num_examples for shard in manifest.splits["train"].shards]
    assert len(sizes) == 3
    assert manifest.splits["train"].balance.count_spread == max(sizes) - min(sizes)
    assert first.splits["train"].balance.class_spread <= 1 < manifest.splits["train"].balance.class_spread
    assert manifest.rejected.num_examples == 0
    assert manifest.source.num_files == 33
    assert manifest.format_version == 1


def first_digest(dataset):
    (path,) = (dataset / "manifests").iterdir()
    return path.stem


def test_an_example_lands_in_the_split_where_a_conversion_of_everything_puts_it(source, new, appended, tmp_path):
    shutil.copytree(source, tmp_path / "all")
    shutil.copytree(new, tmp_path / "all", dirs_exist_ok=True)
    convert_without_beam(str(tmp_path / "all"), str(tmp_path / "out"), splits=SPLITS, split_by="hash", seed=4, resize=6)
    assert rows(tmp_path / "out") == rows(appended)


def test_a_pinned_digest_is_the_dataset_from_before(converted, appended):
    digest = first_digest(appended)
    pinned = f"{appended}@sha256:{digest}"
    assert read_manifest(pinned).to_bytes() == (converted / "manifest.json").read_bytes()
    assert rows(pinned) == rows(converted)
    assert problems(appended, digest) == []
    current = read_manifest(str(appended))
    assert read_manifest(f"{appended}/manifest.json@sha256:{current.digest}").to_bytes() == current.to_bytes()
    with pytest.raises(ManifestError, match=f"no manifest with the digest {'0' * 64}; it has {digest}, "):
        read_manifest(f"{appended}@sha256:{'0' * 64}")
    with pytest.raises(CallError, match="64 hexadecimal digits; found 'abc'"):
        read_manifest(f"{appended}@sha256:abc")


def test_a_conversion_of_a_pinned_dataset_has_the_examples_from_before_and_is_not_written_into_it(
    converted, appended, tmp_path
):
    pinned = f"{appended}@sha256:{first_digest(appended)}"
    convert_without_beam(pinned, str(tmp_path / "old"))
    assert rows(tmp_path / "old") == rows(converted)
    with pytest.raises(CallError, match="is converted, or inside it"):
        Conversion(pinned, str(appended), ConvertOptions(), ThreadExecutor(1), overwrite=True).run()


def test_an_export_of_a_pinned_dataset_is_refused_because_it_would_lie_next_to_another_manifest(appended):
    result = call("export", f"{appended}@sha256:{first_digest(appended)}", "--to", "croissant")
    assert result.exit_code == 2
    assert "shardkit convert" in result.stderr
    assert not (appended / "croissant.json").exists()


def test_the_dataset_card_names_the_folders_that_tfds_reads_the_newest_first(appended, converted):
    grown = dataset_card(read_manifest(str(appended)), Facts()).decode()
    assert 'tfds.builder_from_directories(["FOLDER/append-0001", "FOLDER"])' in grown
    assert 'tfds.builder_from_directory("FOLDER")' in dataset_card(read_manifest(str(converted)), Facts()).decode()


def test_the_balance_of_all_generations_is_printed_first_with_the_command_that_makes_it_even(
    appended, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    shown = [line.strip() for line in call("info", appended).stdout.splitlines()]
    spread = read_manifest(str(appended)).splits["validation"].balance
    assert (spread.count_spread, spread.class_spread) == (4, 4)
    found = [line for line in shown if line.startswith("over all generations")]
    assert found[0].startswith(
        "over all generations, the shards of validation differ by up to 4 images, of one class by up to 4; "
    )
    assert shown.index(found[0]) < shown.index("in each generation, every class within 1 image per shard: yes")
    (command,) = [line.partition(": ")[2] for line in shown if line.startswith("to make all shards even: ")]
    program, *words = shlex.split(command)
    assert program == "shardkit"
    assert call(*words).exit_code == 0
    balances = [split.balance for split in read_manifest("NEW").splits.values()]
    assert all(max(one.count_spread, one.class_spread) <= 1 for one in balances)
    assert "all shards even" not in call("info", "NEW").stdout
    assert rows(tmp_path / "NEW").keys() == rows(appended).keys()


def test_the_report_has_the_balance_of_all_generations_and_of_each(appended, dataset):
    page, advice, _ = make_page(DatasetCollection(read_manifest(str(appended))), ReportOptions())
    (warning,) = [one for one in advice if one.code == "uneven_shards"]
    assert warning.commands == (f"shardkit convert {appended} NEW",)
    assert "the first" in page
    assert page.index("Balance of the shards") < page.index("Balance within each generation")
    _, advice, _ = make_page(DatasetCollection(read_manifest(str(dataset))), ReportOptions())
    assert "uneven_shards" not in {one.code for one in advice}


def test_the_commands_of_a_report_name_the_appends(appended):
    assert commands(read_manifest(str(appended))).splitlines()[1] == "shardkit append OUT SOURCE_2"


def test_a_second_append_is_a_second_generation_and_every_digest_stays_readable(dataset, new, tmp_path):
    lengths = {read_manifest(str(dataset)).digest: 20}
    opened = shardkit.open(str(dataset), "train")
    pickled = pickle.dumps(opened)
    for number in (1, 2):
        source = write_class_folders(
            tmp_path / str(number), {f"ant/{number}": 3, f"dog/{number}": number}, width=8 + number
        )
        outcome = append_without_beam(str(dataset), str(source))
        assert outcome.folder == f"append-000{number}"
        lengths[outcome.manifest.digest] = len(rows(dataset))
    assert read_manifest(str(dataset)).classes == ["ant", "bee", "dog"]
    assert list(lengths.values()) == [20, 24, 29]
    for digest, length in lengths.items():
        assert len(rows(f"{dataset}@sha256:{digest}")) == length
        assert problems(dataset, digest) == []
    assert len(read_manifest(str(dataset)).generations) == 3
    # As in a worker of a DataLoader that starts later than its trainer.
    assert [one["key"] for one in pickle.loads(pickled)] == [one["key"] for one in opened]  # noqa: S301 - our own


def test_a_source_that_the_dataset_has_is_not_appended_again(appended, source, new):
    before = digests_of(appended)
    for one, folder in ((new, "append-0001"), (source, None)):
        outcome = append_without_beam(str(appended), str(one))
        assert (outcome.unchanged, outcome.folder) == (True, folder)
    assert digests_of(appended) == before
    assert not (appended / "append-0002").exists()
    assert not (appended / ".shardkit").exists()


def test_nothing_is_appended_to_adopted_tfrecords(converted, new, tmp_path):
    (tmp_path / "adopted").mkdir()
    for path in converted.glob("*.tfrecord"):
        shutil.copy(path, tmp_path / "adopted")
    paths = [str(path) for path in (tmp_path / "adopted").iterdir()]
    assert call("adopt", *paths).exit_code == 0
    before = digests_of(tmp_path / "adopted")
    with pytest.raises(RefusalError, match=r"appended to converted datasets") as raised:
        append_without_beam(str(tmp_path / "adopted"), str(new))
    (change,) = raised.value.refusal.changes
    assert (change.command, change.sources) == ("convert", (str(tmp_path / "adopted"),))
    assert digests_of(tmp_path / "adopted") == before


def test_nothing_is_appended_to_a_single_generation(appended, new):
    with pytest.raises(CallError, match="append-0001: this is one generation of the dataset in the folder above it"):
        append_without_beam(str(appended / "append-0001"), str(new))


def test_the_same_conversion_finds_the_dataset_that_has_grown_since(appended, source):
    before = digests_of(appended)
    again = convert_without_beam(str(source), str(appended), splits=SPLITS, split_by="hash", shards=2, seed=4, resize=6)
    assert again.digest == read_manifest(str(appended)).digest
    assert digests_of(appended) == before


def test_keys_that_the_dataset_has_are_refused_and_left_out_on_request(dataset, source, tmp_path):
    grown = write_tree(shutil.copytree(source, tmp_path / "grown"), {"bee/new.png": picture(500)})
    with pytest.raises(DataError, match=r"has 20 keys of the 21 in SOURCE already, such as 'ant/000.png'; add skip"):
        append_without_beam(str(dataset), str(grown))
    outcome = append_without_beam(str(dataset), str(grown), skip_existing=True)
    assert set(rows(dataset)) - set(rows(f"{dataset}@sha256:{first_digest(dataset)}")) == {"bee/new.png"}
    assert outcome.manifest.rejected.num_examples == 0, "known images are no rejects"
    assert outcome.manifest.generations[1].source.skipped == {"already in the dataset": 20}
    assert (outcome.manifest.source.num_files, outcome.manifest.source.duplicates) == (21, 0)
    (grown / "ant" / "001.png").write_bytes(picture(501))
    with pytest.raises(DataError, match=r"1 key of SOURCE with other bytes, such as 'ant/001.png'; append adds"):
        append_without_beam(str(dataset), str(grown), skip_existing=True)


def test_without_contents_keys_are_known_and_duplicates_are_not(source, tmp_path):
    output = tmp_path / "out"
    convert_without_beam(str(source), str(output), check="header", splits=SPLITS)
    added = write_tree(tmp_path / "new", {"ant/again.png": picture(0), "bee/other.png": picture(700)})
    outcome = append_without_beam(str(output), str(added))
    assert outcome.manifest.source.duplicates is None
    assert problems(output) == []
    again = write_class_folders(tmp_path / "again", {"ant": 2, "bee": 2})
    with pytest.raises(DataError, match="has 4 keys of the 4"):
        append_without_beam(str(output), str(again))
    write_tree(again, {"ant/000.png": picture(0, width=9)})  # of another size
    with pytest.raises(DataError, match="1 key of SOURCE with other bytes"):
        append_without_beam(str(output), str(again), skip_existing=True)


def test_groups_of_the_dataset_keep_their_split(tmp_path):
    def patients(name, first, *, copies):
        names = [f"{'ant' if i % 2 else 'bee'}/p{i}_{name}{j}.png" for i in range(10) for j in range(copies)]
        return write_tree(tmp_path / name, {one: picture(number) for number, one in enumerate(names, first)})

    options = {"group_by": r"/(p\d)_", "split_by": "stratified", "splits": SPLITS}
    convert_without_beam(str(patients("old", 0, copies=2)), str(tmp_path / "out"), **options)
    before = rows(tmp_path / "out")
    outcome = append_without_beam(
        str(tmp_path / "out"),
        str(patients("new", 500, copies=3)),
        splits=dict.fromkeys(("train", "validation"), Fraction(1, 2)),
    )
    split_of = {key.split("/")[1][:2]: split for key, (split, _) in before.items()}
    found = rows(tmp_path / "out")
    assert {split_of[key.split("/")[1][:2]] == split for key, (split, _) in found.items()} == {True}
    assert len(found) == 50
    assert leak_problems(outcome.manifest) == []
    assert outcome.manifest.source.groups == 10
    assert outcome.manifest.generations[1].source.groups == 0


def test_a_single_new_class_may_be_appended_but_not_a_folder_around_the_classes(dataset, tmp_path):
    wrapped = write_class_folders(tmp_path / "wrapped", {"batch/ant": 2, "batch/bee": 2})
    with pytest.raises(CallError, match="the folder 'batch' would become a new class, but 'ant' in it is a class"):
        append_without_beam(str(dataset), str(wrapped), SourceOptions(layout="class-folders"))
    assert not (dataset / "append-0001").exists()
    dogs = write_class_folders(tmp_path / "dogs", {"dog": 2}, width=9)
    with pytest.raises(RefusalError) as raised:
        append_without_beam(str(dataset), str(dogs))
    assert {"layout": "class-folders"} in [change.options for change in raised.value.refusal.changes]
    outcome = append_without_beam(str(dataset), str(dogs), SourceOptions(layout="class-folders"))
    assert outcome.manifest.classes == ["ant", "bee", "dog"]


def test_own_splits_are_refused_with_commands_and_kept_on_request(dataset, tmp_path):
    own = write_class_folders(tmp_path / "own", {"train/ant": 2, "test/bee": 2}, width=9)
    assert "remembers that its source is read by --label path:0" in call("append", dataset, own).stderr
    said = call("append", dataset, own, "--label", "path:1", "--split", "path:0").stderr
    assert f"shardkit append {dataset} {own} --label path:1 --split path:0 --splits own" in said
    outcome = append_without_beam(str(dataset), str(own), splits=None)
    assert {name: split.num_examples for name, split in outcome.manifest.generations[1].splits.items()} == {
        "train": 2,
        "test": 2,
    }
    assert list(outcome.manifest.splits) == ["train", "validation", "test"]
    assert problems(dataset) == []


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ("image,label,age\nant/1.png,ant,3\n", "SOURCE has 'age', which no example of .* has; append a source without"),
        ("image,score\nant/1.png,0.5\n", "the feature 'label' of .* is int64 .*, that of SOURCE is float32"),
    ],
)
def test_other_features_are_refused(table, sentence, dataset, tmp_path):
    write_tree(tmp_path / "new", {"ant/1.png": picture(900), "labels.csv": table.encode()})
    with pytest.raises(CallError, match=sentence):
        append_without_beam(
            str(dataset),
            str(tmp_path / "new" / "labels.csv"),
            SourceOptions(label_columns=("score",), label_type="number") if "score" in table else SourceOptions(),
        )
    assert not (dataset / "append-0001").exists()


def test_whole_numbers_in_a_table_are_numbers_of_the_datasets_classes(dataset, tmp_path):
    write_tree(
        tmp_path / "new", {"a.png": picture(900), "b.png": picture(901), "t.csv": b"image,label\na.png,1\nb.png,0\n"}
    )
    append_without_beam(str(dataset), str(tmp_path / "new" / "t.csv"))
    found = rows(dataset)
    assert (found["a.png"][1], found["b.png"][1]) == ("bee", "ant")


def test_an_append_of_another_source_is_finished_or_discarded_first(dataset, new, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr("shardkit.conversion.writing.appending.append.Append._publish", fail)
        with pytest.raises(RuntimeError, match="killed"):
            append_without_beam(str(dataset), str(new))
    assert read_manifest(str(dataset)).generations == []
    assert unfinished_appends(LocalFolder(str(dataset))) == ["append-0001"]
    said = call("verify", dataset)
    assert said.exit_code == 0
    assert "append-0001/ is of an append that runs or was interrupted" in said.stderr
    other = write_class_folders(tmp_path / "other", {"dog/x": 3, "bee/x": 1}, width=9)
    with pytest.raises(
        DataError, match=r"append-0001: holds an append that is not published and differs: .*overwrite=True"
    ):
        append_without_beam(str(dataset), str(other))
    outcome = append_without_beam(str(dataset), str(other), overwrite=True)
    assert outcome.manifest.classes == ["ant", "bee", "dog"]
    assert problems(dataset) == []


def fail(*_):
    raise RuntimeError("killed")


def test_a_conversion_that_replaces_the_dataset_removes_its_generations(appended, source, tmp_path):
    dataset = shutil.copytree(appended, tmp_path / "out")
    with pytest.raises(DataError, match="holds a dataset converted differently"):
        convert_without_beam(str(source), str(dataset))
    manifest = read_manifest(str(dataset))
    export_dataset(manifest, "dali-index", manifest.root)  # also into the folder of the append
    (dataset / "append-0001" / "notes.txt").write_text("mine")
    again = Conversion(str(source), str(dataset), ConvertOptions(), ThreadExecutor(1), overwrite=True)
    with pytest.raises(CallError, match=r"holds 'append-0001/notes\.txt', which is not part of a dataset"):
        again.run()
    (dataset / "append-0001" / "notes.txt").unlink()
    again.run()
    assert not {"append-0001", "manifests", "exports.json"} & {path.name for path in dataset.iterdir()}
    assert problems(dataset) == []


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("append-0001/rejected.parquet", "append-0001/rejected.parquet: "),
        ("append-0001/train-00000-of-00001.tfrecord", "append-0001/train-00000-of-00001.tfrecord"),
        ("append-0001/manifest.json", "append-0001/manifest.json: "),
        ("manifests/", "manifests/"),
    ],
)
def test_verify_finds_a_changed_byte_of_every_new_file(path, sentence, appended, tmp_path):
    dataset = shutil.copytree(appended, tmp_path / "out")
    file = dataset / (f"manifests/{first_digest(dataset)}.json" if path == "manifests/" else path)
    raw = bytearray(file.read_bytes())
    raw[len(raw) // 2] ^= 1
    file.write_bytes(raw)
    found = problems(dataset)
    assert found
    assert all(one.startswith(sentence) for one in found), found


def test_verify_names_files_in_a_generation_that_do_not_belong_there(appended, tmp_path):
    dataset = shutil.copytree(appended, tmp_path / "out")
    (dataset / "append-0001" / "train-00007-of-00009.tfrecord").write_bytes(b"")
    (found,) = problems(dataset)
    assert found.startswith("append-0001/train-00007-of-00009.tfrecord: is not part of this dataset")


def test_a_missing_old_shard_stops_an_append_before_anything_is_read(dataset, new):
    (dataset / "train-00001-of-00002.tfrecord").unlink()
    with pytest.raises(DataError, match=r"train-00001-of-00002\.tfrecord: is missing"):
        append_without_beam(str(dataset), str(new))


def test_manifests_without_generations_do_not_have_the_field(converted):
    fields = json.loads((converted / "manifest.json").read_bytes())
    assert "generations" not in fields
