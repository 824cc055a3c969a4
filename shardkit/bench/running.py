"""The whole benchmark: the stages, arguments of the reader, cold reading, and conversions of a sample.

Every group of measurements has its base in it, because a ratio is only good between slices that took turns.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from shardkit.bench import page_cache
from shardkit.bench.advice import Advice, Figure, cpu_binds, expected_rate, gain, prices, what_binds
from shardkit.bench.measurements import Measurement
from shardkit.bench.preparing import Prepared, Show, prepared
from shardkit.bench.result import BenchResult, Cold
from shardkit.bench.settings import BenchSettings
from shardkit.bench.stages import Stage, StageSpec
from shardkit.bench.trials import ConversionTrial, ReaderTrial
from shardkit.bench.workers import Worker, measure_in_turn, processes, running
from shardkit.extras import require_extra

ROUNDS, MIN_ROUNDS = 5, 3
STAGES: tuple[Stage, ...] = ("read", "decode", "pixels", "whole")
_BASE = "base"


def run(settings: BenchSettings, show: Show = lambda _what, _share: None) -> BenchResult:
    """Measure how fast this host feeds a trainer, and what would make it faster.

    Args:
        settings: What is measured.
        show: Receives what is being done, and the share of it that is done.

    Raises:
        MissingExtraError: TensorFlow is not installed.
        CallError: The settings do not fit the dataset.
        DataError: The dataset is damaged.
        MachineError: The disk or the network failed, or a process ended.
    """
    require_extra("tensorflow", "measuring")
    with prepared(settings, show) as plan:
        return _Bench(plan, show).run()


@dataclass(frozen=True, slots=True)
class _Bench:
    """One benchmark.

    Attributes:
        plan: What is measured.
        show: See `run`.
    """

    plan: Prepared
    show: Show

    def run(self) -> BenchResult:
        plan = self.plan
        groups = {"stages": self._stages(), "reader": self._reader(), "copies": self._copies()}
        flat = {(group, name): spec for group, specs in groups.items() for name, spec in specs.items()}
        if plan.part.is_local:
            page_cache.warm(plan.part.paths)
        with processes(flat) as started:
            first, trials, copies = ({name: started[group, name] for name in specs} for group, specs in groups.items())
            with self._running(first):
                stages = self._measure("the stages", first)
                for name in ("decode", "pixels"):  # for their memory
                    first[name].end()
                with self._running(trials):
                    advice = self._try_reader(stages, first["whole"], trials)
                    cold = self._cold(first, trials)
                copy_rate = first["whole"].copy_rate(plan.part.part_bytes)
            with self._running(copies):
                advice += self._try_conversions(stages, copies)
        self.show("", 1)
        found = prices(*(stages[name] for name in STAGES))
        binds = what_binds(found, stages["read"], stages["whole"], plan.host)
        expected = expected_rate(stages["read"], stages["whole"], plan.host)
        return BenchResult(plan, stages, found, binds, expected, cold, copy_rate, advice)

    def _stages(self) -> dict[str, StageSpec]:
        return {name: replace(self.plan.base, stage=name) for name in STAGES}

    def _reader(self) -> dict[str, StageSpec]:
        return {trial.name: replace(self.plan.base, **trial.changes) for trial in self.plan.reader}

    def _copies(self) -> dict[str, StageSpec]:
        plan = self.plan
        if plan.original is None:
            return {}
        return {_BASE: plan.original.spec} | {trial.name: copy.spec for trial, copy in plan.conversions}

    def _running(self, group: Mapping[str, Worker]) -> AbstractContextManager[Mapping[str, Worker]]:
        if group:
            self.show("starting processes", 0)
        return running(group)

    def _measure(
        self, what: str, measured: Mapping[str, Worker], before_slice: Callable[[], int | None] = lambda: None
    ) -> dict[str, Measurement]:
        self.show(f"measuring {what}", 0)
        return measure_in_turn(
            measured,
            rounds=ROUNDS,
            min_rounds=MIN_ROUNDS,
            seconds=self.plan.settings.seconds * len(measured) / self._num_measurements,
            before_slice=before_slice,
            show=lambda share: self.show(f"measuring {what}", share),
        )

    @property
    def _num_measurements(self) -> int:
        """Number of measurements that share the time; a base counts in each of its groups."""
        plan = self.plan
        reader = len(plan.reader) + 1 if plan.reader else 0
        conversions = len(plan.conversions) + 1 if plan.conversions else 0
        return len(STAGES) + reader + conversions + (0 if plan.no_cold else 3)

    def _try_reader(
        self, stages: Mapping[str, Measurement], whole: Worker, trials: Mapping[str, Worker]
    ) -> list[Advice]:
        if not trials:
            return []
        measured = self._measure("arguments of the reader", {_BASE: whole, **trials})
        return [self._advice(stages, trial, measured[_BASE], measured[trial.name], None) for trial in self.plan.reader]

    def _cold(self, first: Mapping[str, Worker], trials: Mapping[str, Worker]) -> Cold:
        plan = self.plan
        if plan.no_cold:
            return Cold(missing=plan.no_cold)
        measured = {"read": first["read"], "whole": first["whole"]}
        for trial in plan.reader:
            if trial.changes.get("order") == "block":
                measured["block"] = trials[trial.name]

        def drop() -> int:
            page_cache.drop(plan.part.paths)
            return plan.part.part_examples

        return Cold(self._measure("cold reading", measured, before_slice=drop))

    def _try_conversions(self, stages: Mapping[str, Measurement], copies: Mapping[str, Worker]) -> list[Advice]:
        plan = self.plan
        if plan.original is None:
            return []
        measured = self._measure("conversions of a sample", copies)
        scale = plan.part.bytes_per_image / plan.original.bytes_per_image
        return [
            self._advice(stages, trial, measured[_BASE], measured[trial.name], scale * copy.bytes_per_image)
            for trial, copy in plan.conversions
        ]

    def _advice(
        self,
        stages: Mapping[str, Measurement],
        trial: ReaderTrial | ConversionTrial,
        base: Measurement,
        found: Measurement,
        bytes_per_image: float | None,
    ) -> Advice:
        read, whole = stages["read"], stages["whole"]
        figure: Figure = "cpu" if cpu_binds(read, whole, self.plan.host) else "rate"
        factor = gain(base, found, figure)
        rate = factor * expected_rate(read, whole, self.plan.host)
        return Advice(trial.name, trial.argument, trial.kind, factor, figure, rate, bytes_per_image, found, base)
