"""The type that networks compute in."""

from typing import Any

import jax
import jax.numpy as jnp


def compute_type() -> Any:
    """Return bfloat16 on GPUs and TPUs, float32 on a CPU; parameters and losses are float32."""
    return jnp.float32 if jax.default_backend() == "cpu" else jnp.bfloat16
