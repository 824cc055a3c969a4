"""The lines about exported files that describe an earlier state of a dataset, and the commands that renew them."""

import shlex

from shardkit.cli.printing.lines import COMMAND
from shardkit.dataset.export_list import old_exports
from shardkit.dataset.manifest import Manifest
from shardkit.exporting import targets_of
from shardkit.naming import first_of, printable
from shardkit.storage import Folder

FILES_SHOWN = 10


def old_exports_lines(folder: Folder, manifest: Manifest, dataset: str) -> list[str]:
    """Return the lines; none if all exported files in the dataset's folder describe it as it is.

    Args:
        folder: The dataset's folder.
        manifest: Its manifest.
        dataset: DATASET as the user wrote it.
    """
    old = old_exports(folder, manifest.digest)
    if not old:
        return []
    names = first_of([*map(printable, old)], FILES_SHOWN)
    targets = targets_of(old)
    facts = "" if targets == ["dali-index"] else ", with the same --title, --license and other facts"
    commands = [f"{COMMAND}export {shlex.join([dataset, '--to', target])}" for target in targets]
    return [f"exported from an earlier state of the dataset: {names}; export again{facts}:", *commands]
