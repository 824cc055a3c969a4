"""`StepTimes`: how long the steps of a training waited for their batches, and what follows from that."""

from dataclasses import dataclass

WORTH_A_LOOK = 0.1  # share of waiting from which a faster input is worth an effort: training gets 1.1 times faster


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Waits of steps that follow each other, from the return of one batch to the return of a later one.

    Attributes:
        num_images: Number of images in these steps.
        seconds: Duration of these steps, waits included.
        seconds_waited: Time spent waiting for batches.
    """

    num_images: int = 0
    seconds: float = 0.0
    seconds_waited: float = 0.0

    def __add__(self, other: "StepTimes") -> "StepTimes":
        return StepTimes(
            self.num_images + other.num_images,
            self.seconds + other.seconds,
            self.seconds_waited + other.seconds_waited,
        )

    @property
    def is_empty(self) -> bool:
        """Whether nothing was measured."""
        return not self.seconds

    @property
    def share_waiting(self) -> float:
        """Share of the time spent waiting, 0 to 1."""
        return self.seconds_waited / self.seconds if self.seconds else 0.0

    @property
    def images_per_second(self) -> float:
        """Images per second, waits included."""
        return self.num_images / self.seconds if self.seconds else 0.0

    @property
    def step_images_per_second(self) -> float:
        """Images per second of the training steps alone, as with an input that never has to be waited for."""
        between = self.seconds - self.seconds_waited
        return self.num_images / between if between > 0 else float("inf")

    def advice(self, dataset: str) -> str:
        """Return one sentence: what was measured, and what to do.

        Args:
            dataset: The dataset, as a word of a shell command.
        """
        if self.is_empty:
            return "InputMonitor measured nothing: it needs epochs of at least three steps."
        waited = f"{self.share_waiting:.0%}" if self.share_waiting >= WORTH_A_LOOK else f"{self.share_waiting:.1%}"
        line = f"Training waited for input {waited} of the time ({self.images_per_second:,.0f} images/s)"
        if self.share_waiting < WORTH_A_LOOK:
            return f"{line}; the input is fast enough."
        if self.step_images_per_second == float("inf"):
            return f"{line}; run `shardkit bench {dataset}` to see what would help."
        return (
            f"{line}; without waiting it would be {self.step_images_per_second:,.0f} images/s. "
            f"Run `shardkit bench {dataset} --target {self.step_images_per_second:.0f}` to see what would help."
        )
