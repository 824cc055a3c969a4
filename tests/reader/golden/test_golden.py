"""The batches of commit 5b63eac1 come from its datasets for ever: keys, labels, windows, flips and seeds exactly."""

import numpy as np
import pytest
import tensorflow as tf

from .configurations import CONFIGURATIONS, GOLDEN, batches_of, dataset_fn, flat, plans_of
from .make_golden import as_pixels, digest

pytestmark = pytest.mark.usefixtures("as_users_read")


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_batches_are_those_that_were_written_down(name):
    configuration, golden = CONFIGURATIONS[name], np.load(GOLDEN / f"{name}.npz")
    made, left = dataset_fn(configuration), set(golden.files) - {"tensorflow"}
    for worker, columns in enumerate(plans_of(made, configuration)):
        for one, column in columns.items():
            np.testing.assert_array_equal(column, golden[f"plan {worker} {one}"], one)
            left.remove(f"plan {worker} {one}")
    is_same = str(golden["tensorflow"]) == tf.__version__
    for step, elements in enumerate(batches_of(made, configuration)):
        for at, element in enumerate(elements):
            for part, value in flat(element).items():
                where = f"{step} {at} {part}"
                found, wanted = (digest(value), golden[f"{where} digest"])
                left -= {where, f"{where} digest"}
                if value.dtype.kind == "O" or is_same:  # texts, encoded images
                    assert found == wanted, where
                elif value.ndim == 4:
                    difference = as_pixels(made, value).astype(int) - golden[where]
                    assert np.abs(difference).max() <= 1, where
                else:
                    np.testing.assert_allclose(value, golden[where], rtol=1e-6, err_msg=where)
    assert not left
