"""Adopt files a second time: the same files with the same options are nothing to do, everything else is refused.

So the command of an adoption that was killed after it had written the manifest ends well, as `convert` does.
"""

from collections.abc import Mapping
from typing import Any

from shardkit import software
from shardkit.adoption.publishing import Adoption
from shardkit.dataset.manifest import Manifest
from shardkit.dataset.manifest.readopting import ADOPT, adopt_command
from shardkit.errors import CallError, DataError
from shardkit.naming import printable


def refuse_other(before: Manifest, recorded: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    """Refuse other options or other files than those of an earlier adoption, before any record is read.

    Args:
        before: The manifest of the earlier adoption.
        recorded: What this one's would keep of the options.
        sizes: Size of each file, by its path in the folder of the records.

    Raises:
        CallError: They differ.
    """
    url, earlier = printable(before.root.url), before.options.get(ADOPT, {})
    others = sorted(name for name in {*earlier, *recorded} if earlier.get(name) != recorded.get(name))
    if others:
        msg = (
            f"{url}: the files were adopted before, with other {' and '.join(map(_called, others))}; add --overwrite "
            "to adopt them again, or --into DATASET to write another manifest elsewhere"
        )
        raise CallError(msg)
    known = {before.path_in_records(shard): shard.num_bytes for _, shard in before.shards()}
    path = next((path for path in sorted({*known, *sizes}) if known.get(path) != sizes.get(path)), None)
    if path is not None:
        what = "has another size now" if path in sizes and path in known else "is new" if path in sizes else "is gone"
        msg = f"{url}: the files were adopted before, and {printable(path)} {what}; {_again(before)}"
        raise CallError(msg)


def refuse_changed(before: Manifest, adoption: Adoption) -> None:
    """Refuse an adoption that differs from an earlier one of the same files with the same options.

    Raises:
        DataError: A file has changed.
        CallError: Another version of a package decided something else.
    """
    if adoption.digest == before.plan_digest and adoption.name == before.name:
        return
    url = printable(before.root.url)
    known = {before.path_in_records(shard): shard.sha256 for _, shard in before.shards()}
    pairs = zip(adoption.files, adoption.sha256, strict=True)
    changed = next((file.path for file, sha256 in pairs if known.get(file.path) != sha256), None)
    if changed is not None:
        msg = f"{url}: the files were adopted before, and {printable(changed)} has changed since; {_again(before)}"
        raise DataError(msg)
    why = software.difference(before.software, software.versions(), ignored=software.OPTIONAL)
    msg = f"{url}: the files were adopted before, with another result ({why or 'of other features'}); {_again(before)}"
    raise CallError(msg)


def _again(before: Manifest) -> str:
    return f"adopt the files as they are now with `{adopt_command(before)}`"


def _called(name: str) -> str:
    return "files" if name == "files" else f"--{name.replace('splits', 'split').replace('_', '-')}"
