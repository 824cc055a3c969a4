from dataclasses import replace

import numpy as np
import pytest

from shardkit.conversion.planning.checks.finding import Finding
from shardkit.dataset.manifest import Balance
from shardkit.report.advice import classes, contents, speed
from shardkit.report.collection import Header, Rejects, Split
from shardkit.report.facts.counting import Counted, SizeCounts
from shardkit.report.facts.gathering import Facts, ReportOptions
from shardkit.report.facts.jpegs import JpegFacts, full_chroma_cost, image_ms, jpeg_facts, progressive_cost, speedup
from shardkit.report.page.html import advise
from shardkit.statistics.repeated import NO_SETS, Sets
from shardkit.testing import picture

PAIR = Sets(np.array([0, 1]), np.array([0, 1]), np.array([2]))
CLASSES = ["cat", "dog", "emu"]


def split(name, counts, shards=1):
    counts = np.array(counts, np.int64)
    per_shard = np.full(shards, counts.sum() // shards, np.int64)
    return Split(name, counts, per_shard, per_shard * 1000, 0, Balance(count_spread=0, class_spread=0, bytes_spread=0))


def codes(found):
    return [one.code for one in found]


def facts(*, megapixels=0.19, resized=0.087, jpegs=None, splits=None, **changed):
    sizes = SizeCounts(megapixels=megapixels * 100, resized_megapixels=resized * 100, num_measured=100)
    copies = (*[NO_SETS] * 4, 0, NO_SETS)
    counted = Counted([sizes], {}, {}, 0, np.zeros(65, np.int64), np.zeros((0, 0), np.int64), [], *copies)
    made = Facts(
        options=ReportOptions(),
        classes=CLASSES,
        splits=splits or [split("train", [100, 100, 100])],
        is_dataset=True,
        counted=counted,
        jpegs=jpegs or JpegFacts(100, 100, 0, {"4:2:0": 100}, {90: 100}, 0),
        groups=[],
        chosen={},
        boxes=None,
        masks=None,
        numbers=None,
        has_lists=False,
        rejects=Rejects({}, (), 300),
        hosts=1,
        is_resized=False,
    )
    return replace(made, **changed)


def test_a_sound_dataset_has_no_warnings():
    sound = facts(megapixels=0.05, resized=0.05, splits=[split("train", [90, 90, 90]), split("test", [30, 30, 30])])
    assert advise(sound) == []


EVERY = [40] * 3
NO_IMAGE = [[40, 0, 40], [10, 0, 10]]
ABSENT_FROM_TEST = [[40, 5, 40], [10, 0, 10]]
ABSENT_FROM_TRAIN = [[40, 0, 40], [10, 5, 10]]
# Images of each class in train and test, the splits' rule, and the sentences and remedies that follow, in parts.
CLASS_CASES = [
    ("nothing", [EVERY, [10, 10, 10]], "hash", []),
    ("no labels", [[0, 0, 0], [0, 0, 0]], "hash", []),
    (
        "a class without any image",
        NO_IMAGE,
        "hash",
        [("1 of 3 classes has no image in any split: “dog”.", "without these names")],
    ),
    (
        "a class that train lacks",
        ABSENT_FROM_TRAIN,
        "hash",
        [("1 of 3 classes has no image in “train”, so no model learns them: “dog”.", "split_by='stratified', which")],
    ),
    (
        "a class that test lacks, and that is small",
        ABSENT_FROM_TEST,
        "hash",
        [
            ("1 of 3 classes has no image in “test”: “dog”.", "split_by='stratified', which"),
            ("1 of 3 classes has only 1 to 19 images in “train”: “dog”.", "Collect more"),
        ],
    ),
    (
        "the splits are stratified already",
        ABSENT_FROM_TRAIN,
        "stratified",
        [("1 of 3 classes has no image in “train”", "Add images, or raise the split's share")],
    ),
    (
        "the splits are those of the source",
        ABSENT_FROM_TRAIN,
        "own",
        [("1 of 3 classes has no image in “train”", "The source has its own splits: move or add images there")],
    ),
    (
        "fewer images than splits",
        [[40, 0, 40], [10, 1, 10]],
        "hash",
        [("1 of 3 classes has no image in “train”", "Add images: it has 1 image, fewer than one for each split.")],
    ),
    (
        "a class without any image, and one that test lacks",
        [[40, 0, 40], [10, 0, 0]],
        "hash",
        [
            ("1 of 3 classes has no image in any split: “dog”.", "without these names"),
            ("1 of 2 classes with images has no image in “test”: “emu”.", "split_by='stratified', which"),
        ],
    ),
]


@pytest.mark.parametrize(("counts", "split_by", "said"), [case[1:] for case in CLASS_CASES], ids=lambda _: "")
def test_what_classes_without_images_are_said_to_be(counts, split_by, said):
    splits = [split(name, one) for name, one in zip(("train", "test"), counts, strict=True)]
    sound = facts(megapixels=0.05, resized=0.05, splits=splits, split_by=split_by)
    found = [one for one in advise(sound) if one.code != "class_shares_differ"]
    assert len(found) == len(said)
    for one, (sentence, remedy) in zip(found, said, strict=True):
        assert sentence in one.sentence
        assert remedy in one.remedy


def test_of_twenty_thousand_classes_only_those_with_images_are_counted():
    names = [f"n{label:05d}" for label in range(20_000)]
    counts = np.zeros((2, 20_000), np.int64)
    counts[0, 87:400] = 5  # 313 small classes
    counts[1, :400] = 2
    found = classes.small_and_large_classes(names, [split("train", counts[0]), split("test", counts[1])])
    assert [one.sentence.partition(" in ")[0] for one in found] == [
        "313 of 400 classes with images have only 1 to 19 images"
    ]
    absent = [*classes.absent_classes(names, [split("train", counts[0]), split("test", counts[1])])]
    assert [one.sentence.partition(",")[0] for one in absent] == [
        "87 of 400 classes with images have no image in “train”"
    ]
    (unused,) = classes.unused_classes(names, [split("train", counts[0]), split("test", counts[1])])
    assert unused.sentence.startswith("19,600 of 20,000 classes have no image in any split: “n00400”, ")


@pytest.mark.parametrize(("counts", "is_small"), [([20, 20, 20], False), ([20, 19, 20], True), ([20, 0, 20], False)])
def test_a_class_below_twenty_images_is_small(counts, is_small):
    assert ("small_class" in codes(classes.small_and_large_classes(CLASSES, [split("train", counts)]))) == is_small


@pytest.mark.parametrize(("counts", "is_large"), [([900, 60, 40], False), ([910, 50, 40], True)])
def test_a_class_above_ninety_percent_is_large(counts, is_large):
    found = [*classes.small_and_large_classes(CLASSES, [split("train", counts)])]
    assert ("large_class" in codes(found)) == is_large
    if is_large:
        assert "“cat” is 91% of “train”" in found[-1].sentence


def test_one_class_alone_is_not_too_large():
    assert not [*classes.small_and_large_classes(["cat"], [split("train", [100])])]


def test_splits_by_chance_do_not_differ_and_others_do():
    random = np.random.default_rng(0)
    shares = np.array([0.5, 0.3, 0.2])
    for _ in range(200):
        by_chance = [split(name, random.multinomial(num, shares)) for name, num in (("train", 900), ("test", 100))]
        assert not [*classes.differing_shares(CLASSES, by_chance)]
    (found,) = classes.differing_shares(CLASSES, [split("train", [500, 300, 200]), split("test", [30, 60, 10])])
    assert "differ from those of the other splits by 30%" in found.sentence
    assert "“dog”: 30.0% there, 60.0% in the others" in found.sentence


def test_the_advice_to_resize_gives_the_measured_factor():
    (found,) = speed.large_images(facts())
    assert "resize=256 at conversion: about 1.8 times faster training input" in found.remedy
    assert not [*speed.large_images(facts(is_resized=True))]
    assert not [*speed.large_images(facts(megapixels=0.09))]
    (larger,) = speed.large_images(facts(options=ReportOptions(384, 512), megapixels=3.0, resized=0.5))
    assert "resize=586" in larger.remedy


# The figures of tests/benchmarks/README.md: images/s on two cores, and CPU time of an image at 3 megapixels.
@pytest.mark.parametrize(("megapixels", "measured_ms"), [(0.087, 2000 / 2523), (0.194, 2000 / 1425), (3.0, 10.6)])
def test_the_cost_of_an_image_is_within_four_percent_of_what_was_measured(megapixels, measured_ms):
    assert image_ms(megapixels) == pytest.approx(measured_ms, rel=0.04)


def test_costs_grow_with_the_image():
    assert speedup(3.0, 0.087) > speedup(0.194, 0.087) == pytest.approx(2523 / 1425, rel=0.05)
    assert progressive_cost(3) > progressive_cost(0.1) > 1
    assert full_chroma_cost(3) > full_chroma_cost(0.1) > 1
    assert image_ms(0) > 0


def test_costly_jpegs_are_said_with_their_share():
    jpegs = JpegFacts(100, 100, 40, {"4:4:4": 80, "4:2:0": 20}, {}, 0)
    progressive, chroma = speed.costly_jpegs(facts(jpegs=jpegs))
    assert progressive.sentence.startswith("40% of the images are progressive JPEGs: each takes about 1.9 times")
    assert "all images together 36% longer" in progressive.sentence
    assert chroma.sentence.startswith("80% of the images are JPEGs with 4:4:4 chroma")
    few = JpegFacts(100, 100, 4, {"4:4:4": 4}, {}, 0)
    assert not [*speed.costly_jpegs(facts(jpegs=few))]


def test_gps_positions_are_said_with_the_sample():
    jpegs = JpegFacts(100, 100, 0, {}, {}, 3)
    (found,) = contents.gps_positions(facts(jpegs=jpegs))
    assert found.sentence.startswith("3 images of a sample of 100 carry a GPS position")
    (found,) = contents.gps_positions(facts(jpegs=jpegs, num_gps=1))
    assert found.sentence.startswith("1 image carries a GPS position")
    assert not [*contents.gps_positions(facts(jpegs=jpegs, num_gps=0))]
    finding = Finding("gps_positions", "hints", "3 of 100 images have GPS positions")
    assert "gps" not in codes(advise(facts(jpegs=jpegs), [finding]))


@pytest.mark.parametrize(
    ("shards", "hosts", "warns"),
    [(1, 1, False), (4, 8, True), (8, 8, False), (12, 8, True), (16, 8, False)],
)
def test_shards_are_compared_with_the_hosts(shards, hosts, warns):
    found = [*speed.few_shards([split("train", [100, 100, 100], shards)], hosts, is_dataset=True)]
    assert bool(found) == warns
    if warns:
        assert f"input_pipelines={hosts}" in found[0].remedy


def test_duplicates_are_problems_and_come_first():
    pairs = dict.fromkeys(["leaks", "conflicts", "group_leaks", "near_conflicts", "near_leaks"], PAIR)
    counted = replace(facts().counted, **pairs)
    found = advise(facts(counted=counted))
    assert codes(found)[:3] == ["leaks", "group_leaks", "conflicts"]
    assert {one.level for one in found[:3]} == {"problem"}
    assert {"near_leaks", "near_conflicts"} <= {*codes(found)}


def test_findings_of_a_plan_replace_the_same_warnings():
    small = facts(megapixels=0.05, resized=0.05)
    counted = replace(small.counted, leaks=PAIR)
    finding = Finding(
        "duplicate_in_several_splits", "warns", "2 images with exact duplicates", ("a and b",), "drop them"
    )
    hint = Finding("no_validation_split", "hints", "all are in train")
    found = advise(replace(small, counted=counted), [finding, hint])
    assert codes(found) == ["duplicate_in_several_splits"]
    assert found[0].sentence == "2 images with exact duplicates: a and b."
    assert found[0].remedy == "Drop them."


def test_many_rejected_files_are_said():
    assert codes(contents.rejected_files(facts(rejects=Rejects({"damaged": 4}, (), 300)))) == ["rejected"]
    assert not [*contents.rejected_files(facts(rejects=Rejects({"damaged": 3}, (), 300)))]


def test_headers_of_a_sample_are_counted():
    data = [picture(0, kind="JPEG"), picture(1, kind="PNG"), b"", picture(2, kind="JPEG")]
    found = jpeg_facts([*map(Header, data), Header(data[0], is_stored=False)])
    assert (found.num_images, found.num_jpegs, found.num_progressive, found.num_gps) == (5, 2, 0, 0)
    assert found.subsampling == {"4:2:0": 2}
    assert found.qualities == {75: 2}
