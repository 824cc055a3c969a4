"""Parts of the Keras programs, each a module that ruff and mypy check; `programs.assembling` makes one file of them.

A task module, such as `classification`, has `READING`, `make_model`, `measure` and `summary`; `training` has the loop
that all tasks share, `settings` the numbers, and `small_images` and `large_images` the network below the head.
"""
