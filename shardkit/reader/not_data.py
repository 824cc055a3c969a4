"""Refuse an input function where its data is wanted: the sentence says which call is missing."""

from typing import TYPE_CHECKING, Any, NoReturn

import tensorflow as tf

_FUNCTION = "this is the input function, not its data"
_UNCALLED = (
    f"{_FUNCTION}: use strategy.distribute_datasets_from_function(train_fn), or call it, as in model.fit(train_fn(), "
    "steps_per_epoch=train_fn.steps_per_epoch)"
)
# Attributes of other readers' datasets, and those that an input function has instead.
_OTHER_NAMES = {
    "batch_size": "element_spec, whose shapes are those of a whole global batch",
    "class_indices": "class_names, in label order",
    "classes": "class_names, in label order",
    "num_batches": "steps_per_epoch",
    "samples": "num_examples",
}


class NotData:
    """An input function: without these methods Python, Keras and TensorFlow only say what it is not."""

    def __iter__(self) -> NoReturn:
        raise TypeError(_UNCALLED)

    def __next__(self) -> NoReturn:
        raise TypeError(f"{_FUNCTION}: write next(iter(train_fn())) for its first batch, or train_fn.read_batch(0)")

    def __len__(self) -> NoReturn:
        # It could be that of examples or of batches.
        msg = f"{_FUNCTION}: write train_fn.num_examples, or train_fn.steps_per_epoch for the number of batches"
        raise TypeError(msg)

    def __bool__(self) -> bool:
        """Return True, for `if train_fn`: Python would ask for the length."""
        return True

    def __getitem__(self, number: Any) -> NoReturn:
        raise TypeError(
            f"{_FUNCTION}: write train_fn.read_batch(0) for the global batch of a step; single examples are those of "
            "shardkit.open(dataset, split)"
        )

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        # Without this, Keras says only that it does not know the type of what `fit` has.
        raise TypeError(_UNCALLED)

    @property
    def shape(self) -> NoReturn:
        """Refuse to be an array: Keras asks whatever has `__array__` for its shape before it converts it."""
        raise TypeError(_UNCALLED)

    if not TYPE_CHECKING:  # otherwise type checkers accept every attribute

        def __getattr__(self, name: str) -> NoReturn:
            """Refuse to be a dataset: say what to do for `train_fn.take(1)`."""
            msg = f"{type(self).__name__!r} object has no attribute {name!r}"
            if name == "_variant_tensor":  # what `experimental_distribute_dataset` takes from a dataset
                msg = _UNCALLED
            elif not name.startswith("_") and hasattr(tf.data.Dataset, name):
                msg = f"{_FUNCTION}: call it first, as in train_fn().{name}(...)"
            elif name in _OTHER_NAMES:
                msg = f"{msg}; use {_OTHER_NAMES[name]}"
            raise AttributeError(msg, name=name, obj=self)  # with both, Python suggests a name that is close
