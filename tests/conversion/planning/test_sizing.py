import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardkit.conversion.planning.sizing import ShardCount, choose_num_shards, format_size
from shardkit.errors import CallError
from shardkit.options.parsing import parse_shards, parse_size

MIB = 1 << 20


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("128MiB", 128 << 20),
        ("128 MiB", 128 << 20),
        (" 1.5GiB ", 3 << 29),
        ("10mib", 10 << 20),  # any case: nobody means millibits
        ("64KiB", 64 << 10),
        ("100MB", 100_000_000),
        ("1GB", 10**9),
        ("2kB", 2000),
        ("4096", 4096),
        ("7B", 7),
        ("0.3MB", 300_000),  # as floats 0.3 * 10**6 is 299,999.99…
        ("1.3KiB", 1331),  # 1331.2: the fraction of a byte is dropped
    ],
)
def test_sizes_are_read_in_binary_and_decimal_units(text, expected):
    assert parse_size(text) == expected


@pytest.mark.parametrize(
    "text", ["", "MiB", "128M", "-1MiB", "1e3", "1,000", "1_000", "12 34", ".5MiB", "١MiB", "1MiB\n2"]
)
def test_what_is_no_size_is_refused_as_found(text):
    with pytest.raises(CallError, match="is not a number followed by KiB, MiB") as caught:
        parse_size(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", ["0", "0MiB", "0.9"])
def test_a_size_below_a_byte_is_refused(text):
    with pytest.raises(CallError, match=r"is 0 bytes: it must be at least 1"):
        parse_size(text)


@pytest.mark.parametrize(
    ("num_bytes", "expected"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1023, "1,023 bytes"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (128 << 20, "128 MiB"),
        ((1 << 20) - 1, "1 MiB"),  # not 1,024 KiB
        (1100 << 30, "1.1 TiB"),
        (5000 << 40, "5,000 TiB"),
    ],
)
def test_sizes_are_printed_with_at_most_one_decimal(num_bytes, expected):
    assert format_size(num_bytes) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("64", 64),
        (" 64 ", 64),
        ("train=64,validation=8", {"train": 64, "validation": 8}),
        ("train=64", {"train": 64}),  # the others are chosen
    ],
)
def test_numbers_of_shards_are_read(text, expected):
    assert parse_shards(text) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0", "has the number '0': write whole numbers of at least 1"),
        ("-4", "has the number '-4'"),
        ("6.5", "has the number '6.5'"),
        ("many", "has the number 'many'"),
        ("٤", "has the number '٤'"),  # int() would take it
        ("train=64,validation=0", "has the number '0'"),
        ("train=64,8", "has the part '8', which is not of the form name=value"),
        ("train=64,training=8", "names the split train twice, as 'train' and 'training'"),
    ],
)
def test_numbers_of_shards_that_cannot_be_are_refused(text, says):
    with pytest.raises(CallError, match=says):
        parse_shards(text)


@pytest.mark.parametrize(
    ("num_examples", "mib", "options", "num_shards", "says"),
    [
        (1_281_167, 140_000, {}, 1094, "At about 128 MiB a shard that makes 1,094 shards."),
        (5000, 510, {}, 10, "at least 10 shards, and they are still large enough."),
        (500, 55, {}, 5, "but shards under 10 MiB are slow to read: 5."),
        (200, 1, {}, 1, "A shard holds 1 MiB on average, less than the recommended 10 MiB"),
        (5000, 510, {"pipelines": 8}, 16, "A multiple of the 8 input pipelines: 16."),
        (5000, 100, {"pipelines": 8}, 8, "A multiple of the 8 input pipelines: 8."),  # 16 would break the floor
        (5000, 100, {"pipelines": 10}, 10, "A shard holds 10 MiB on average."),
        (5000, 10, {"pipelines": 8}, 8, "less than the recommended 10 MiB"),  # pipelines over floor
        (5000, 1000, {"pipelines": 3}, 12, "A multiple of the 3 input pipelines: 12."),
        (5, 3000, {}, 5, "Never more shards than the 5 examples: 5."),
        (10, 3000, {"pipelines": 4}, 8, "Never more shards than the 10 examples: 8."),
        (3, 10, {"pipelines": 8}, 3, "5 of the 8 input pipelines will have no shard."),  # examples over pipelines
        (2, 4000, {}, 2, "more than the recommended 1 GiB"),  # examples over target
        (1, 1, {}, 1, "train has 1 example, 1 MiB."),
        (9, 0, {}, 1, "A shard holds 0 bytes on average"),  # sizes unknown
        (5000, 1024, {"target_bytes": 16 * MIB}, 64, "At about 16 MiB a shard that makes 64 shards."),
        (5000, 20480, {"target_bytes": 1 << 30}, 20, "At about 1 GiB a shard that makes 20 shards."),
        (5000, 11, {"target_bytes": 10 * MIB}, 1, "A shard holds 11 MiB on average."),  # floor over target
        (5000, 510, {"requested": 7}, 7, "7 shards, as requested."),
        (5000, 510, {"requested": 5000}, 5000, "less than the recommended 10 MiB"),  # requested over floor
        (5000, 510, {"requested": 10, "pipelines": 4}, 10, "10 is not a multiple of the 4 input pipelines"),
        (5000, 510, {"requested": 2, "pipelines": 4}, 2, "2 of the 4 input pipelines will have no shard."),
        (0, 0, {}, 0, "train has no examples, so it has no shards."),
        (0, 0, {"requested": 8}, 0, "train has no examples, so it has no shards."),
    ],
)
def test_the_number_of_shards_follows_the_rules_in_their_order_and_says_so(
    num_examples, mib, options, num_shards, says
):
    chosen = choose_num_shards(split="train", num_examples=num_examples, num_bytes=mib * MIB, **options)
    assert chosen.num_shards == num_shards
    assert says in " ".join(chosen.reasons)


def test_reasons_are_whole_sentences_in_the_order_of_the_decisions():
    assert choose_num_shards(split="train", num_examples=5000, num_bytes=510 * MIB, pipelines=4) == ShardCount(
        12,
        (
            "train has 5,000 examples, 510 MiB.",
            "At about 128 MiB a shard that makes 4 shards.",
            "A reading host should have at least 10 shards, and they are still large enough.",
            "A multiple of the 4 input pipelines: 12.",
            "A shard holds 42.5 MiB on average.",
        ),
    )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"requested": 101}, "101 shards were requested for train, which has only 100 examples: request at most 100"),
    ],
)
def test_what_cannot_be_honoured_is_refused_with_numbers(options, says):
    with pytest.raises(CallError, match=says):
        choose_num_shards(split="train", num_examples=100, num_bytes=MIB, **options)


@given(
    num_examples=st.integers(1, 10**7),
    num_bytes=st.integers(0, 1 << 45),
    target_bytes=st.integers(10 * MIB, 1 << 30),
    pipelines=st.integers(1, 300),
)
def test_every_rule_holds_unless_a_stronger_one_forbids_it(num_examples, num_bytes, target_bytes, pipelines):
    num_shards = choose_num_shards(
        split="train",
        num_examples=num_examples,
        num_bytes=num_bytes,
        target_bytes=target_bytes,
        pipelines=pipelines,
    ).num_shards
    assert 1 <= num_shards <= num_examples
    assert num_shards % pipelines == 0 or num_examples < pipelines
    assert num_bytes >= num_shards * 10 * MIB or num_shards <= pipelines
    # One multiple more would break a stronger rule, or there are ten.
    more = num_shards + pipelines
    forbidden = more > num_examples or num_bytes < more * 10 * MIB
    assert num_shards >= 10 or forbidden
    assert num_bytes <= num_shards * target_bytes or forbidden
