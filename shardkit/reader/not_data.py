"""Refuse an input function where its data is wanted: the sentence says which call is missing."""

from collections.abc import Callable
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


def _refusing(message: str) -> Callable[..., NoReturn]:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise TypeError(message)

    return refuse


class NotData:
    """An input function: without these methods Python, Keras and TensorFlow only say what it is not."""

    __iter__ = _refusing(_UNCALLED)
    __next__ = _refusing(f"{_FUNCTION}: write next(iter(train_fn())) for its first batch, or train_fn.read_batch(0)")
    # It could be that of examples or of batches.
    __len__ = _refusing(
        f"{_FUNCTION}: write train_fn.num_examples, or train_fn.steps_per_epoch for the number of batches"
    )
    __getitem__ = _refusing(
        f"{_FUNCTION}: write train_fn.read_batch(0) for the global batch of a step; single examples are those of "
        "shardkit.open(dataset, split)"
    )
    # Without it, Keras says only that it does not know the type of what `fit` has; it asks for the shape first.
    __array__ = _refusing(_UNCALLED)
    shape = property(_refusing(_UNCALLED))

    def __bool__(self) -> bool:
        """Return True, for `if train_fn`: Python would ask for the length."""
        return True

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
