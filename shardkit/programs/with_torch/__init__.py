"""Parts of the PyTorch programs, made in the way of `programs.with_keras`; `shardkit.open` reads, not TensorFlow.

A task module has `prepare`, which makes tensors of an example, `make_model`, `measure` and `summary`.
"""
