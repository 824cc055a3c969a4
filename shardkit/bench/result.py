"""The result of a benchmark, and its JSON."""

from dataclasses import dataclass, field
from typing import Any

from shardkit.bench.advice import Advice, Price, hosts_for, sorted_advice
from shardkit.bench.measurements import Measurement
from shardkit.bench.preparing import Prepared


@dataclass(frozen=True, slots=True)
class Cold:
    """Measurements with an empty page cache.

    Attributes:
        measured: Measurements by name: "read", "whole" and, if it is not the base, "block".
        missing: Why there are none, or "".
    """

    measured: dict[str, Measurement] = field(default_factory=dict)
    missing: str = ""


@dataclass(frozen=True, slots=True)
class BenchResult:
    """What `shardkit bench` found.

    Attributes:
        plan: What was measured.
        stages: The measurements "read", "decode", "pixels" and "whole".
        prices: The price of each stage.
        binds: What holds the input function back.
        expected_rate: Images a second of the input function while no other program runs.
        cold: Measurements with an empty page cache.
        copy_rate: Bytes a second at which shards were copied from an object store; None if none had to be.
        advice: What was tried.
    """

    plan: Prepared
    stages: dict[str, Measurement]
    prices: list[Price]
    binds: str
    expected_rate: float
    cold: Cold
    copy_rate: float | None = None
    advice: list[Advice] = field(default_factory=list)

    @property
    def images_per_second(self) -> float:
        """The rate of the input function."""
        return self.stages["whole"].images_per_second

    @property
    def fits_memory(self) -> bool | None:
        """Whether the split fits into half of the memory; None if the memory's size is unknown."""
        memory = self.plan.host.memory_bytes
        return None if memory is None else 2 * self.plan.part.num_bytes <= memory

    @property
    def hosts(self) -> dict[str, int]:
        """Number of hosts like this one for the target, as it is and with each option that helps; empty without one."""
        target = self.plan.settings.target
        if target is None:
            return {}
        helpful, _ = sorted_advice(self.advice)
        rates = {"as it is": self.expected_rate} | {one.name: one.images_per_second for one in helpful}
        return {name: hosts_for(target, rate) for name, rate in rates.items()}

    def as_json(self) -> dict[str, Any]:
        """Return everything, for `json`."""
        plan, settings, part = self.plan, self.plan.settings, self.plan.part
        helpful, useless = sorted_advice(self.advice)
        return {
            "dataset": part.url,
            "split": part.split,
            "examples": part.num_examples,
            "bytes": part.num_bytes,
            "bytes_per_image": round(part.bytes_per_image),
            "measured_examples": part.part_examples,
            "measured_bytes": part.part_bytes,
            "image_size": list(settings.image_size),
            "batch_size": settings.batch_size,
            "dtype": settings.dtype,
            "order": settings.order,
            "host": {"cores": plan.host.cores, "memory_bytes": plan.host.memory_bytes},
            "stages": {name: measured.as_json() for name, measured in self.stages.items()},
            "prices": {
                price.stage: {"cpu_us_per_image": round(price.cpu_us, 1), "share": round(price.share, 4)}
                for price in self.prices
            },
            "binds": self.binds,
            "expected_images_per_second": round(self.expected_rate, 1),
            "cold": {name: measured.as_json() for name, measured in self.cold.measured.items()},
            "cold_missing": self.cold.missing or None,
            "copy_bytes_per_second": None if self.copy_rate is None else round(self.copy_rate),
            "sample_images": plan.num_sample,
            "advice": [_advice_json(one) for one in helpful],
            "no_gain": [_advice_json(one) for one in useless],
            "not_tried": plan.not_tried,
            "target": settings.target,
            "hosts": self.hosts,
        }


def _advice_json(one: Advice) -> dict[str, Any]:
    return {
        "name": one.name,
        "argument": one.argument,
        "of": one.kind,
        "gain": round(one.gain, 3),
        "gain_from": {"cpu": "CPU time", "rate": "images a second"}[one.figure],
        "images_per_second": round(one.images_per_second, 1),
        "bytes_per_image": None if one.bytes_per_image is None else round(one.bytes_per_image),
        "base": one.base.as_json(),
        "trial": one.trial.as_json(),
    }
