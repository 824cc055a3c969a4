import dataclasses
import hashlib
import json
import shutil

import pytest

from shardkit.dataset import example, tfrecord
from shardkit.dataset.index.file import parse_index, serialize_index
from shardkit.dataset.manifest import Manifest, digest_of
from shardkit.hashing import sha256_hex
from shardkit.naming import RUN_LOG
from shardkit.storage import open_folder
from shardkit.testing import convert_without_beam, files_of, picture, write_tree
from shardkit.verification import shards as verifying
from shardkit.verification.examples import ExampleSpec
from shardkit.verification.folder_contents import leftover_files

# A blank of the manifest becomes another, an `n` a `u`, a point an `e`: damages that stay JSON, or nearly.
FLIPS = [0x01, 0x1B, 0x4B, 0x80]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """Two splits, three shards, eight tiny pictures, one of them normalised and one rejected; not to be changed."""
    root = tmp_path_factory.mktemp("verification")
    files = {
        f"train/{name}/{i}.png": picture(i + 10 * of, width=2, height=2)
        for i in range(3)
        for of, name in enumerate(("cat", "big\ndog"))
    }
    files |= {"test/cat/a.bmp": picture(7, width=2, height=2, kind="BMP"), "test/cat/bad.png": b"", "notes.txt": b""}
    # One shard of train far larger than the other: a spread of bytes above one, with a point to be damaged.
    files["train/cat/large.jpg"] = picture(8, width=30, height=30, kind="JPEG")
    source = write_tree(root / "source", files)
    convert_without_beam(str(source), str(root / "out"), shards={"train": 2, "test": 1})
    (root / "out" / RUN_LOG).unlink()  # the one file that verify does not check
    return root / "out"


@pytest.fixture
def copy(dataset, tmp_path):
    """A copy that may be damaged."""
    return shutil.copytree(dataset, tmp_path / "out")


def problems_of(path, *, deep=False):
    """Everything that verify finds, without Beam."""
    root = open_folder(str(path))
    manifest, problems = verifying.read_checked_manifest(root)
    if manifest is None:
        return problems
    for file in manifest.files:
        problems += verifying.file_problems(root, file)
    problems += leftover_files(root, manifest)
    for name, split in manifest.splits.items():
        checks = [
            verifying.check_shard(
                root, shard, manifest.plan_digest, ExampleSpec(manifest.features, manifest.classes), deep=deep
            )
            for shard in split.shards
        ]
        problems += [problem for check in checks for problem in check.problems]
        problems += verifying.class_count_problems(name, split, checks)
    return problems


def shard_names(path):
    manifest, _ = verifying.read_checked_manifest(open_folder(str(path)))
    return [shard.path for _, shard in manifest.shards()]


def reseal(path, change):
    """Change the manifest as someone would who wants it to be believed."""
    manifest, _ = verifying.read_checked_manifest(open_folder(str(path)))
    fields = manifest.model_dump(mode="json")
    change(fields)
    changed = Manifest.model_validate(fields)
    seal_manifest = changed.model_copy(update={"digest": digest_of(changed)})
    (path / "manifest.json").write_bytes(seal_manifest.to_bytes())


@pytest.mark.parametrize("deep", [False, True])
def test_a_sound_dataset_has_no_problems(dataset, deep):
    assert problems_of(dataset, deep=deep) == []


def test_the_dataset_under_test_is_worth_it(dataset):
    assert len(files_of(dataset)) == 11
    manifest, _ = verifying.read_checked_manifest(open_folder(str(dataset)))
    assert manifest.splits["train"].balance.bytes_spread > 1
    assert manifest.rejected.num_examples == 1


@pytest.fixture(params=[7, pytest.param(1, marks=pytest.mark.slow)], ids=["every-seventh", "every"])
def step(request):
    """Distance of the bytes that are changed."""
    return request.param


def flipped(path, step, flip):
    """Write the file with one byte changed, for one position after the other."""
    good = path.read_bytes()
    for position in range(0, len(good), step):
        damaged = bytearray(good)
        damaged[position] ^= flip
        with path.open("r+b") as file:
            file.write(damaged)
        yield position
    path.write_bytes(good)


@pytest.mark.parametrize("flip", FLIPS, ids=hex)
def test_every_changed_byte_of_the_manifest_is_found(copy, flip, step):
    root = open_folder(str(copy))
    for position in flipped(copy / "manifest.json", step, flip):
        _, problems = verifying.read_checked_manifest(root)
        assert problems, f"byte {position}"
        assert all(problem.file == "manifest.json" for problem in problems)


def test_every_changed_byte_of_a_shard_is_found(copy, step):
    root = open_folder(str(copy))
    manifest, _ = verifying.read_checked_manifest(root)
    for (_, shard), flip in zip(manifest.shards(), FLIPS[1:], strict=True):
        for position in flipped(copy / shard.path, step, flip):
            check = verifying.check_shard(
                root, shard, manifest.plan_digest, ExampleSpec(manifest.features, manifest.classes), deep=False
            )
            assert {problem.file for problem in check.problems} == {shard.path}, f"byte {position}"
            assert any(problem.record is not None for problem in check.problems)


def test_every_changed_byte_of_a_shard_is_found_by_decoding_too(copy, step):
    root = open_folder(str(copy))
    manifest, _ = verifying.read_checked_manifest(root)
    (shard,) = manifest.splits["test"].shards
    for position in flipped(copy / shard.path, step, 0x01):
        assert verifying.check_shard(
            root, shard, manifest.plan_digest, ExampleSpec(manifest.features, manifest.classes), deep=True
        ).problems, f"byte {position}"


def test_every_changed_byte_of_an_index_is_found(copy, step):
    root = open_folder(str(copy))
    manifest, _ = verifying.read_checked_manifest(root)
    for (_, shard), flip in zip(manifest.shards(), FLIPS[:3], strict=True):
        for position in flipped(copy / shard.index.path, step, flip):
            check = verifying.check_shard(
                root, shard, manifest.plan_digest, ExampleSpec(manifest.features, manifest.classes), deep=False
            )
            assert shard.index.path in {problem.file for problem in check.problems}, f"byte {position}"


def test_every_changed_byte_of_the_files_beside_the_shards_is_found(copy, step):
    root = open_folder(str(copy))
    manifest, _ = verifying.read_checked_manifest(root)
    assert [file.path for file in manifest.files] == [
        "rejected.parquet",
        "dataset_info.json",
        "features.json",
        "label.labels.txt",
    ]
    for file in manifest.files:
        for position in flipped(copy / file.path, step, 0x20):
            assert verifying.file_problems(root, file), f"byte {position} of {file.path}"


def test_every_file_is_missed(dataset, tmp_path):
    for name in files_of(dataset):
        copy = shutil.copytree(dataset, tmp_path / name)
        (copy / name).unlink()
        problems = problems_of(copy)
        assert name in {problem.file for problem in problems}
        assert any("missing" in problem.found for problem in problems)


def test_every_file_cut_short_or_grown_is_found(dataset, tmp_path):
    for name, data in files_of(dataset).items():
        for i, changed in enumerate((data[:-1], data[: len(data) // 2], b"", data + b"\0", data + data)):
            copy = shutil.copytree(dataset, tmp_path / f"{name}-{i}")
            (copy / name).write_bytes(changed)
            assert name in {problem.file for problem in problems_of(copy)}, (name, i)


def test_shards_of_another_conversion_are_found(copy):
    for name in ("train-00000-of-00009.tfrecord", "old-00000-of-00001.index.parquet", ".shardkit-tmp-1-a"):
        (copy / name).write_bytes(b"")
    assert [str(problem) for problem in problems_of(copy)] == [
        ".shardkit-tmp-1-a: is not part of this dataset: the manifest does not list it; remove it",
        "old-00000-of-00001.index.parquet: is not part of this dataset: the manifest does not list it; remove it",
        "train-00000-of-00009.tfrecord: is not part of this dataset: the manifest does not list it; remove it",
    ]


def test_other_peoples_files_beside_the_dataset_are_none_of_our_business(copy):
    write_tree(copy, {"README.md": b"mine", "run-log.jsonl": b"anything", "notes/a.txt": b""})
    assert problems_of(copy) == []


def damage(path, position):
    raw = bytearray(path.read_bytes())
    raw[position] ^= 0xFF
    path.write_bytes(raw)


def rows_of(path, name):
    return parse_index((path / name.replace(".tfrecord", ".index.parquet")).read_bytes(), where="x")[0].to_pylist()


def test_a_damaged_record_is_named_with_its_key_and_the_others_are_still_checked(copy):
    name = shard_names(copy)[0]
    rows = rows_of(copy, name)
    assert len(rows) >= 3
    for number in (0, 2):
        damage(copy / name, rows[number]["offset"] + 12 + rows[number]["image_start"])
    problems = problems_of(copy)
    assert [(problem.file, problem.record) for problem in problems] == [(name, 0), (name, 2), (name, None)]
    for problem in problems[:2]:
        row = rows[problem.record]
        assert str(problem).startswith(f"{name}, record {problem.record}: the CRC of the record's data does not match")
        assert f"key {row['key']!r}, byte {row['offset']} of {name}" in str(problem)


def test_a_damaged_length_costs_that_record_only_because_the_index_knows_where_the_next_one_is(copy):
    name = shard_names(copy)[0]
    damage(copy / name, rows_of(copy, name)[1]["offset"])
    assert [problem.record for problem in problems_of(copy)] == [1, None]


def test_without_an_index_the_records_are_still_read_up_to_the_first_damage(copy):
    name = shard_names(copy)[0]
    rows = rows_of(copy, name)
    damage(copy / name, rows[1]["offset"])
    (copy / name.replace(".tfrecord", ".index.parquet")).unlink()
    problems = problems_of(copy)
    assert any(problem.file == name and problem.record == 1 for problem in problems)
    assert any(f"byte {rows[1]['offset']}" in problem.found for problem in problems)


def replace_shard(path, change_record, change_row=None):
    """Put another record into the first shard, every checksum renewed: only the content can tell."""
    name = shard_names(path)[0]
    index_path = path / name.replace(".tfrecord", ".index.parquet")
    table, summary = parse_index(index_path.read_bytes(), where="x")
    raw = (path / name).read_bytes()
    rows = table.to_pylist()
    pieces, offset = [], 0
    for number, row in enumerate(rows):
        data = raw[row["offset"] + 12 : row["offset"] + 12 + row["length"]]
        if number == 1:
            values = example.decode(data)
            change_record(values)
            encoded = {
                key: (
                    example.bytes_feature(value) if isinstance(value[0], bytes) else example.int64_feature(tuple(value))
                )
                for key, value in values.items()
            }
            data = example.encode(encoded) if encoded else b"no example"
            if isinstance(values.get("image", [None])[0], bytes):
                data, end = example.encode_located(encoded, "image")
                row |= {"image_start": end - len(values["image"][0]), "image_bytes": len(values["image"][0])}
            if change_row:
                change_row(row)
        row |= {"offset": offset, "length": len(data)}
        pieces.append(b"".join(tfrecord.frame(data)))
        offset += len(pieces[-1])
    shard = b"".join(pieces)
    (path / name).write_bytes(shard)
    renewed = dataclasses.replace(summary, num_bytes=len(shard), sha256=sha256_hex(shard))
    index_raw = serialize_index(type(table).from_pylist(rows, table.schema), renewed)
    index_path.write_bytes(index_raw)

    def renew(fields):
        split = fields["splits"]["train"]
        split["num_bytes"] += len(shard) - split["shards"][0]["num_bytes"]
        split["shards"][0] |= {"num_bytes": len(shard), "sha256": hashlib.sha256(shard).hexdigest()}
        split["shards"][0]["index"]["sha256"] = hashlib.sha256(index_raw).hexdigest()
        sizes = [shard["num_bytes"] for shard in split["shards"]]
        split["balance"]["bytes_spread"] = round(max(sizes) / min(sizes) - 1, 6)

    reseal(path, renew)


def test_a_renewed_shard_without_a_change_is_sound(copy):
    replace_shard(copy, lambda values: None)
    assert problems_of(copy, deep=True) == []


OTHER = picture(99, width=2, height=2)


@pytest.mark.parametrize(
    ("change_record", "change_row", "problem"),
    [
        (lambda values: values.clear(), None, "not a tf.train.Example"),
        (lambda values: values.pop("label"), None, "the example lacks label"),
        (lambda values: values.update(label=[b"cat"]), None, "the example's label is not of type int64"),
        (lambda values: values.update(image=[5]), None, "the example's image is not of type bytes"),
        (lambda values: values.update(key=[b"other"]), None, "key is 'other', the index says 'train/"),
        (lambda values: values.update(key=[b"\xff"]), None, "key is"),
        (
            lambda values: values.update(label=[7]),
            None,
            "label 7 is none of the manifest's 2",
        ),
        (lambda values: values.update(height=[9]), None, "height is 9, the index says 2"),
        (
            lambda values: values.update(height=[9]),
            lambda row: row.update(height=9),
            "the image has 2 x 2 pixels, the example says 2 x 9",
        ),
        (lambda values: values.update(image=[b""]), None, "The file has no bytes"),
        (lambda values: values.update(image=[OTHER[:-5]]), None, "is cut short"),
        (lambda values: values.update(image=[b"no image"]), None, "key 'train/"),
        (lambda values: None, lambda row: row.update(label_name="cow"), "'cow' in the index"),
        (lambda values: None, lambda row: row.update(format="JPEG"), "the image is a PNG, the index says JPEG"),
        (lambda values: None, lambda row: row.update(key_hash=5), "key_hash is"),
        (lambda values: None, lambda row: row.update(image_start=5), "the image's bytes are not where the index says"),
        (lambda values: None, lambda row: row.update(image_bytes=5), "the image's bytes are not where the index says"),
    ],
)
def test_a_record_that_lies_with_all_checksums_right_is_found(copy, change_record, change_row, problem):
    name = shard_names(copy)[0]
    assert rows_of(copy, name)[1]["format"] == "PNG"  # else choose another seed
    replace_shard(copy, change_record, change_row)
    found = [one for one in problems_of(copy) if one.record == 1]
    assert any(problem in one.found for one in found), found


@pytest.mark.parametrize(
    ("change_row", "problem"),
    [
        (lambda row: row.update(source_bytes=1), "bytes, the index says 1 of an unchanged file"),
        (lambda row: row.update(content_sha256=bytes(32)), "sha256 is not the one of an unchanged file in the index"),
    ],
)
def test_deep_compares_an_unchanged_image_with_its_raw_file(copy, change_row, problem):
    assert rows_of(copy, shard_names(copy)[0])[1]["changes"] == ""
    replace_shard(copy, lambda values: None, change_row)
    assert problems_of(copy) == []
    (found,) = problems_of(copy, deep=True)
    assert (found.record, problem in found.found) == (1, True)


def test_only_deep_decodes_every_image(copy):
    def damage_pixels(values):
        raw = bytearray(values["image"][0])
        raw[raw.index(b"IDAT") + 6] ^= 0xFF
        values["image"] = [bytes(raw)]

    replace_shard(copy, damage_pixels)
    assert problems_of(copy) == []
    assert {(one.file, one.record) for one in problems_of(copy, deep=True)} == {(shard_names(copy)[0], 1)}


def more_examples_in_test(fields):
    split = fields["splits"]["test"]
    split["shards"][0]["num_examples"] = split["num_examples"] = 5
    split["class_counts"][0] += 4


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda fields: fields["splits"]["train"].update(num_examples=99), "num_examples is 99, its parts make 7"),
        (lambda fields: fields["splits"]["train"].update(num_bytes=1), "num_bytes is 1, its parts make"),
        (lambda fields: fields.update(plan_digest="0" * 64), "is not the manifest's ShardSummary("),
        (
            lambda fields: fields["splits"]["train"].update(class_counts=[7]),
            "class_counts that is 1, its parts make 2",
        ),
        (lambda fields: fields["splits"]["train"].update(class_counts=[0, 7]), "its class_counts are not those of its"),
        (lambda fields: fields["splits"]["train"]["shards"].pop(), "num_examples is 7, its parts make"),
        (more_examples_in_test, "has 1 records, the manifest says 5"),
        (lambda fields: fields["classes"].append("cow"), "a number of class_counts that is 2, its parts make 3"),
        (lambda fields: fields["classes"].reverse(), "in the manifest and"),
    ],
)
def test_a_manifest_that_lies_with_its_digest_right_is_found(copy, change, problem):
    reseal(copy, change)
    found = [str(one) for one in problems_of(copy)]
    assert any(problem in one for one in found), found


def test_the_same_values_in_another_text_are_told(copy):
    path = copy / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()), indent=2))
    assert [str(problem) for problem in problems_of(copy)] == [
        "manifest.json: its text is not the one that shardkit writes; a byte was changed"
    ]


def test_what_is_no_dataset_is_told_from_an_interrupted_conversion(tmp_path):
    assert [str(problem) for problem in problems_of(tmp_path / "no")] == [
        "manifest.json: is missing; a dataset has one when its conversion is complete"
    ]
    write_tree(tmp_path, {".shardkit/lock": b""})
    assert [str(problem) for problem in problems_of(tmp_path)] == [
        "manifest.json: the conversion was interrupted; run it again to finish it"
    ]


def test_a_shard_that_is_damaged_all_over_is_not_told_record_by_record(copy, monkeypatch):
    monkeypatch.setattr(verifying, "MAX_PROBLEMS_PER_SHARD", 2)
    name = shard_names(copy)[0]
    (copy / name).write_bytes(bytes(len((copy / name).read_bytes())))
    found = [problem for problem in problems_of(copy) if problem.file == name]
    assert len(found) == 3
    assert found[-1].found.startswith("and ")
    assert found[-1].found.endswith(" more problems")
