"""The orders of shardkit.order as TensorFlow ops; tests compare them with the NumPy reference."""
