from dataclasses import replace

import pytest

from shardkit.bench.advice import (
    Advice,
    cpu_binds,
    expected_rate,
    gain,
    hosts_for,
    prices,
    sorted_advice,
    storage_binds,
    what_binds,
)

from .making import HOST, measurement


def advice(name, base, trial, figure="cpu"):
    return Advice(name, "", "reader", gain(base, trial, figure), figure, 1.0, None, trial, base)


def test_the_prices_of_the_stages_add_to_the_price_of_the_whole():
    found = prices(measurement(1, 100), measurement(1, 700), measurement(1, 900), measurement(1, 1250))
    assert [(price.stage, round(price.cpu_us)) for price in found] == [
        ("reading", 100),
        ("decoding", 700),
        ("resizing", 200),
        ("batches and the rest", 250),
    ]
    assert sum(price.share for price in found) == pytest.approx(1)
    assert found[1].share == pytest.approx(0.56)


def test_no_price_is_negative_if_noise_makes_the_parts_more_than_the_whole():
    found = prices(measurement(1, 100), measurement(1, 700), measurement(1, 690), measurement(1, 650))
    assert [round(price.cpu_us) for price in found] == [100, 700, 0, 0]
    assert sum(price.share for price in found) == pytest.approx(1)


FAST_READING = measurement(10_000, 100)


@pytest.mark.parametrize(
    ("read", "whole", "host", "expected"),
    [
        (FAST_READING, measurement(3900, 1000), HOST, True),
        (FAST_READING, measurement(1000, 1000), HOST, False),
        # Other programs have the remaining cores.
        (FAST_READING, measurement(1000, 1000, others=2.8), HOST, True),
        # So they have here, but reading is no faster than the whole: it waits for its storage.
        (measurement(1100, 100), measurement(1000, 1000, others=2.8), HOST, False),
        # Others' cores are not those of a container with a quota.
        (FAST_READING, measurement(1000, 1000, others=60), replace(HOST, is_whole=False), False),
    ],
)
def test_the_cpu_binds_if_the_cores_are_full(read, whole, host, expected):
    assert cpu_binds(read, whole, host) is expected


def test_the_storage_binds_if_cold_reading_is_slower_and_leaves_cores_idle():
    warm = measurement(3900, 1000)
    assert storage_binds(warm, measurement(500, 1000), HOST)
    assert not storage_binds(warm, measurement(3500, 1000), HOST)
    # Other programs had the cores.
    assert not storage_binds(warm, measurement(500, 1000, others=3.4), HOST)


def test_what_binds_is_the_most_expensive_stage_the_storage_or_one_core():
    found = prices(measurement(1, 100), measurement(1, 700), measurement(1, 900), measurement(1, 1000))
    assert what_binds(found, FAST_READING, measurement(3900, 1000), HOST) == "decoding (70% of the CPU time)"
    slow = what_binds(found, measurement(520, 100), measurement(500, 1000), HOST)
    assert slow == "reading: the storage gives 520 images/s; 0.5 of 4 cores are used"
    alone = what_binds(found, FAST_READING, measurement(1000, 1000), HOST)
    assert alone == "a step that runs on one core, such as making batches; 1.0 of 4 cores are used"


@pytest.mark.parametrize(
    ("whole", "host", "expected"),
    [
        (measurement(3900, 1000), HOST, 3900),
        (measurement(1000, 1000, others=2.8), HOST, 3800),  # 3.8 cores at a millisecond for each image
        (measurement(1000, 1000, others=0.2), HOST, 1000),
        (measurement(1000, 1000, others=1.5), HOST, 1000),  # 1.5 cores were idle: the CPU does not bind
        (measurement(1000, 1000, others=60), replace(HOST, is_whole=False), 1000),
    ],
)
def test_the_rate_without_other_programs_follows_from_the_price_of_an_image(whole, host, expected):
    assert expected_rate(FAST_READING, whole, host) == pytest.approx(expected)


def test_a_gain_is_one_of_cpu_time_where_the_cpu_binds_else_one_of_rates():
    base, trial = measurement(1000, 2000), measurement(3000, 1000)
    assert gain(base, trial, "cpu") == pytest.approx(2)
    assert gain(base, trial, "rate") == pytest.approx(3)


def test_advice_is_sorted_by_gain_and_small_gains_are_none():
    base = measurement(1000, 2000)
    found = [
        advice("small", base, measurement(1100, 1850)),
        advice("good", base, measurement(1500, 1300)),
        advice("better", base, measurement(2000, 800)),
        advice("worse", base, measurement(900, 2500)),
    ]
    helpful, useless = sorted_advice(found)
    assert [one.name for one in helpful] == ["better", "good"]
    assert [one.name for one in useless] == ["small", "worse"]


def test_a_gain_in_rates_needs_most_rounds():
    base = measurement(0, 10, rates=[100, 100, 100, 100, 100])
    lucky = measurement(0, 10, rates=[200, 190, 180, 90, 80])
    steady = measurement(0, 10, rates=[130, 140, 150, 120, 90])
    assert not advice("lucky", base, lucky, "rate").helps
    assert advice("steady", base, steady, "rate").helps


@pytest.mark.parametrize(("target", "rate", "hosts"), [(10_000, 1_425, 8), (10_000, 10_000, 1), (1, 900, 1)])
def test_hosts_for_a_target(target, rate, hosts):
    assert hosts_for(target, rate) == hosts
