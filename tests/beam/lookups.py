"""Beam without lookups that it repeats thousands of times for one pipeline: a third of the CPU time of small pipelines.

For each transform, Beam builds the parser of each view of its options again, and it inspects the signatures of all
methods of a DoFn ten times. Programs that the tests start as processes have Beam as it is.
"""

import copy
import functools
import sys
import types

from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.transforms import core

_inspect = core.get_function_args_defaults


def look_up_once():
    """Inspect each method of a DoFn once in this process, and parse flags once for each class of options."""
    core.get_function_args_defaults = _args_defaults
    PipelineOptions.view_as = _view_as


def _args_defaults(function):
    if not isinstance(function, types.MethodType):
        return _inspect(function)
    args, defaults = _of_method(function.__func__)
    return list(args), list(defaults)


@functools.lru_cache(maxsize=4096)
def _of_method(function):
    return _inspect(types.MethodType(function, object()))


@functools.lru_cache(maxsize=4096)
def _parsed(options_class, flags):
    return options_class(flags)._visible_options


def _view_as(options, options_class):
    """Return what Beam's method returns. Values are copied: two objects of options must not share a list."""
    flags = options._flags
    view = object.__new__(options_class)
    view._flags, view._all_options = flags, options._all_options
    view._visible_options = _parsed(options_class, tuple(sys.argv[1:] if flags is None else flags))
    for name, value in vars(view._visible_options).items():
        if name not in options._all_options:
            options._all_options[name] = copy.copy(value)
    return view
