"""Validation on a part of the training split, if there is no other one."""

FOLD: tuple[int, int] | None = None  # (0, 10): evaluate on a tenth of the split, and train on the rest
