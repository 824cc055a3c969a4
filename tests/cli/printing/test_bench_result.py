"""What `shardkit bench` prints, of measurements that are made up."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from shardkit.bench.advice import Advice, gain, prices
from shardkit.bench.dataset_part import DatasetPart
from shardkit.bench.measurements import Measurement, Slice
from shardkit.bench.preparing import Prepared
from shardkit.bench.result import BenchResult, Cold
from shardkit.bench.settings import BenchSettings
from shardkit.bench.stages import StageSpec
from shardkit.cli.printing.bench_result import bench_parts
from shardkit.dataset.manifest import Index, Shard
from shardkit.host import Host

SHA = "0" * 64
SHARD = Shard(path="s", num_examples=1000, num_bytes=100 << 20, sha256=SHA, index=Index(path="i", sha256=SHA))


def measured(rate, cpu_us, others=0.0):
    return Measurement((Slice(rate, 1.0, rate * cpu_us / 1e6, others),) * 4)


STAGES = {
    "read": measured(10_000, 100),
    "decode": measured(3_000, 700),
    "pixels": measured(2_000, 900),
    "whole": measured(1_425, 1_250),
}


def result(*, settings=BenchSettings("OUT"), advice=(), not_tried=None, cold=None, num_examples=1000, **changed):  # noqa: B008
    part = DatasetPart("OUT", "train", (SHARD,), True, num_examples, num_examples * 100 * 1024)
    base = StageSpec("whole", "OUT", "train", 1, (224, 224), 64, "float32")
    plan = Prepared(settings, part, Host(2, 16 << 30), base, num_sample=512, not_tried=not_tried or {})
    found = prices(*(STAGES[name] for name in ("read", "decode", "pixels", "whole")))
    cold = cold or Cold(missing="--no-cold")
    made = BenchResult(plan, STAGES, found, "decoding (56% of the CPU time)", 1_425, cold, advice=list(advice))
    return replace(made, **changed)


def tried(name, trial, num_bytes=None, kind="convert", argument="--resize 256"):
    base = STAGES["whole"]
    factor = gain(base, trial, "cpu")
    return Advice(name, argument, kind, factor, "cpu", factor * base.images_per_second, num_bytes, trial, base)


def text(of):
    console = Console(file=io.StringIO(), width=160)
    for part in bench_parts(of):
        console.print(part, soft_wrap=True)
    return console.file.getvalue()


def test_stages_have_rates_and_prices():
    lines = [line.split() for line in text(result()).splitlines()]
    assert ["reading", "10,000", "10,000", "to", "10,000", "1.0", "100", "8%"] in lines
    assert ["decoding", "3,000", "3,000", "to", "3,000", "2.1", "700", "56%"] in lines
    assert ["resizing", "200", "16%"] in lines
    assert ["batches", "and", "the", "rest", "250", "20%"] in lines
    assert ["the", "whole", "input", "function", "1,425", "1,425", "to", "1,425", "1.8", "1,250"] in lines
    assert "What binds: decoding (56% of the CPU time)." in text(result())
    assert "1,000 examples of 102.4 KiB; batches of 64, images of 224 x 224, float32, full order; 2 cores" in text(
        result()
    )


def test_advice_says_what_it_gives_and_what_to_write():
    found = [
        tried("resize to 256", measured(2_500, 625), 20_480),
        tried("scaled decoding", measured(1_000, 2_500), kind="reader", argument="images=…"),
    ]
    shown = text(result(advice=found, not_tried={"cache": "it is the same disk", "baseline JPEG": "it is"}))
    assert [line.split() for line in shown.splitlines() if line.startswith("resize")] == [
        ["resize", "to", "256", "2.0", "times", "2,850", "20", "KiB", "convert", "--resize", "256"]
    ]
    assert "No gain: scaled decoding (0.50).\n" in shown
    assert "Not tried: cache, because it is the same disk.\nNot tried: baseline JPEG, because it is.\n" in shown
    assert "images/s take" not in shown
    with_target = text(result(advice=found, settings=BenchSettings("OUT", target=10_000)))
    assert with_target.endswith("10,000 images/s take 8 hosts like this one; with resize to 256: 4.\n")


def test_if_nothing_helps_it_says_so():
    assert "Nothing that was tried gives more." in text(result(advice=[tried("resize to 256", measured(1, 1_250), 1)]))


@pytest.mark.parametrize(
    ("cold", "num_examples", "expected"),
    [
        (1_400, 1_000, ["whole input function 1,400 images/s.", "fits into this host's memory"]),
        (300, 1_000, ["whole input function 300 images/s: the storage binds.", "fits into this host's memory"]),
        (300, 100_000, ["the storage binds.", "does not fit into this host's memory: the cold figures hold"]),
    ],
)
def test_cold_reading_is_compared_with_the_warm_one(cold, num_examples, expected):
    found = Cold({"read": measured(1_600, 120), "whole": measured(cold, 1_250)})
    shown = text(result(cold=found, num_examples=num_examples))
    assert "Cold (empty page cache): reading 1,600 images/s (160 MiB/s)" in shown
    for sentence in expected:
        assert sentence in shown


def test_block_order_is_advised_if_the_storage_binds():
    cold = {"read": measured(320, 120), "whole": measured(300, 1_250), "block": measured(900, 1_250)}
    assert 'Cold, order="block" gives 3.0 times as many images.\n' in text(result(cold=Cold(cold)))
    assert "Cold, order" not in text(result(cold=Cold(cold | {"block": measured(310, 1_250)})))


def test_cold_reading_that_was_not_measured_has_its_reason():
    shown = text(result(cold=Cold(missing="not measurable here: 100% of the files stay in memory")))
    assert "Cold: not measurable here: 100% of the files stay in memory.\n" in shown


def test_the_load_of_other_programs_is_told():
    assert "Other programs" not in text(result())
    loaded = STAGES | {"whole": measured(700, 1_250, others=1.0)}
    shown = text(result(stages=loaded, expected_rate=1_500, settings=BenchSettings("OUT", target=3_000)))
    assert (
        "Other programs used 1.0 of 2 cores meanwhile: by the CPU time of an image, 1,500 images/s are expected"
        in shown
    )
    assert "3,000 images/s take 2 hosts like this one." in shown
    assert "Other programs used 1.0 of 2 cores meanwhile.\n" in text(result(stages=loaded, expected_rate=700))


def test_the_json_has_every_figure():
    found = [tried("resize to 256", measured(2_500, 625), 20_480.4)]
    shown = result(advice=found, settings=BenchSettings("OUT", target=10_000)).as_json()
    assert shown["stages"]["whole"]["images_per_second"] == 1_425
    assert shown["prices"]["decoding"] == {"cpu_us_per_image": 700, "share": 0.56}
    assert (shown["cold"], shown["cold_missing"]) == ({}, "--no-cold")
    [advice] = shown["advice"]
    assert (advice["gain"], advice["gain_from"], advice["bytes_per_image"]) == (2, "CPU time", 20_480)
    assert shown["hosts"] == {"as it is": 8, "resize to 256": 4}
