"""Detect the layouts whose files a folder has, in the order of the registry."""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from shardkit.layouts import LAYOUTS, Layout
from shardkit.storage import Folder


def recognising_layouts(folder: Folder) -> Iterator[Layout]:
    """Yield the layouts that recognise a folder by its files, the one that reads it first."""
    tried = [(row.name, row.recognise) for row in LAYOUTS.values()]
    tried += [(row.name, row.recognise_last) for row in LAYOUTS.values()]
    return (name for name, function in tried if function and function_of(function)(folder))


def function_of(name: str) -> Callable[..., Any]:
    """Return a function that a row of the layouts names."""
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(import_module(f"shardkit.{module}"), function)
    return found
