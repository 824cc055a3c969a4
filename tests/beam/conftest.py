import bz2
import weakref
from types import MethodType, SimpleNamespace

import pytest
from apache_beam.internal import cloudpickle_pickler
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.transforms import core

from ..cli.conftest import dataset, source

__all__ = ["dataset", "source"]


def _keep_what_beam_asks_again():
    """Keep two answers that Beam works out hundreds of times a pipeline: three tenths of the CPU of these tests.

    They are the arguments of each method of each step, and the options as one of its classes of options shows them,
    for which it makes a parser of arguments.
    """
    arguments, views = weakref.WeakKeyDictionary(), weakref.WeakKeyDictionary()
    find_arguments, view_as = core.get_function_args_defaults, PipelineOptions.view_as

    def kept_arguments(called):
        if not isinstance(called, MethodType):
            return find_arguments(called)
        if called.__func__ not in arguments:
            arguments[called.__func__] = find_arguments(called)
        names, defaults = arguments[called.__func__]
        return [*names], [*defaults]

    def kept_view(options, kind):
        of_options = views.setdefault(options, {})
        if kind not in of_options:
            of_options[kind] = view_as(options, kind)
        return of_options[kind]

    core.get_function_args_defaults, PipelineOptions.view_as = kept_arguments, kept_view


_keep_what_beam_asks_again()


@pytest.fixture
def real_pickles():
    """Pickles are compressed, as workers in other processes expect them."""


@pytest.fixture(autouse=True)
def cheap_pickles(request, monkeypatch):
    """Compress nothing that is pickled for this process: a tenth of the time of a pipeline."""
    if "real_pickles" in request.fixturenames:
        return
    codec = SimpleNamespace(
        compress=lambda data, compresslevel: b"-" + data,
        decompress=lambda data: data[1:] if data[:1] == b"-" else bz2.decompress(data),
    )
    monkeypatch.setattr(cloudpickle_pickler, "bz2", codec)
