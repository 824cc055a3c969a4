import pytest

from shardkit.bench.measurements import Measurement, Slice, round_ratios

from .making import measurement


def test_rates_are_medians_of_slices_and_prices_are_over_all_of_them():
    # A slice that ends just before a batch comes out has few images and all of their CPU time.
    found = Measurement((Slice(100, 1.0, 0.2), Slice(300, 1.0, 0.2), Slice(400, 2.0, 0.8)))
    assert (found.images_per_second, found.lowest, found.highest) == (200, 100, 300)
    assert found.cpu_us == pytest.approx(1_500)  # 1.2 seconds for 800 images
    assert found.cores == pytest.approx(0.3)


def test_other_programs_are_unknown_where_the_system_does_not_tell():
    assert Measurement((Slice(1, 1.0, 1.0),)).other_cores is None
    assert measurement(100, 10, others=1.5).other_cores == 1.5
    assert Measurement((Slice(1, 1.0, 1.0),)).as_json()["other_cores"] is None


def test_ratios_compare_slices_of_the_same_round():
    base, other = measurement(0, 10, rates=[100, 50, 100]), measurement(0, 10, rates=[200, 100, 200])
    assert round_ratios(base, other) == [2, 2, 2]
