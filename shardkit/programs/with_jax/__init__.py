"""Parts of the JAX programs, made in the way of `programs.with_keras`: Flax for networks, Optax, Orbax."""
