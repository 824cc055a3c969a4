"""Check that workers can see SOURCE and OUT, as far as their names tell."""

from collections.abc import Iterator

from shardkit.doctor.addresses import is_distant
from shardkit.doctor.check import Check
from shardkit.doctor.engine import Engine


def is_local(url: str) -> bool:
    """Return whether a path or URL names a folder of one machine's file system."""
    scheme, separator, _ = url.partition("://")
    return not separator or scheme == "file"


def check_paths(engine: Engine, **places: str) -> Iterator[Check]:
    """Yield checks of places that driver and workers share.

    Args:
        engine: The engine.
        **places: Paths and URLs by the names that messages give them: SOURCE, OUTPUT.
    """
    for name, url in places.items():
        if not is_local(url):
            continue
        if engine.kind == "dataflow":
            found = f"{name} {url} is a path of this machine, which Dataflow's workers cannot reach"
            yield Check(name, "failed", found, "copy it to gs://, and give that URL", is_call=True)
        elif is_distant(engine):
            found = f"{name} {url} is a path of this machine, and the engine runs on others"
            yield Check(name, "warning", found, "every worker must see the same folder under the same path")


def check_temp_location(engine: Engine) -> Iterator[Check]:
    """Yield a check of ``--temp_location``, through which `plan` and `verify` collect what workers report."""
    if engine.kind == "dataflow" and (engine.temp_location is None or is_local(engine.temp_location)):
        found = f"--temp_location is {engine.temp_location or 'not given'}"
        yield Check("--temp_location", "failed", found, "Dataflow needs a gs:// folder", is_call=True)
    elif is_distant(engine) and engine.temp_location is None:
        found = "--temp_location is not given"
        yield Check("--temp_location", "note", found, "`plan` and `verify` need a folder that all workers reach")
