"""The options of an adoption, and what the manifest keeps of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from shardkit.dataset.foreign.inferring import LayoutOverrides
from shardkit.dataset.manifest import Manifest
from shardkit.dataset.manifest.readopting import ADOPT, relative_to
from shardkit.storage import Folder


@dataclass(frozen=True, slots=True)
class AdoptOptions:
    """What the user says.

    Attributes:
        into: The dataset's folder; None for that of the files.
        splits: Split by pattern of paths.
        classes: Class names, line by line; None for those of TFDS, of the records, or numbers; if `overwrite` replaces
            an adoption that was given names, for these.
        overrides: Features of the image and of the label.
        key_feature: Feature that holds the keys; None to look for one.
        name: Name of the dataset; None for that of its folder.
        overwrite: Whether to replace an adoption in the dataset's folder.
    """

    into: str | None = None
    splits: Mapping[str, str] = field(default_factory=dict)
    classes: Sequence[str] | None = None
    overrides: LayoutOverrides = field(default_factory=LayoutOverrides)
    key_feature: str | None = None
    name: str | None = None
    overwrite: bool = False

    def recorded(self, given: Sequence[str], root: Folder) -> dict[str, Any]:
        """Return what the manifest keeps: the files, and the options that are not the default.

        Args:
            given: Files, folders and patterns.
            root: The dataset's folder.
        """
        values: dict[str, Any] = {
            "into": self.into is not None,
            "splits": dict(self.splits),
            "classes": list(self.classes or ()),
            "image_feature": self.overrides.image_feature,
            "label_feature": self.overrides.label_feature,
            "label_type": None if self.overrides.label_type == "auto" else self.overrides.label_type,
            "unlabelled": self.overrides.unlabelled,
            "key_feature": self.key_feature,
            "name": self.name,
        }
        return {"files": [relative_to(root, one) for one in given]} | {name: one for name, one in values.items() if one}

    def after(self, before: Manifest | None) -> "AdoptOptions":
        """Return the options with the class names of an earlier adoption, if this one gives none and replaces it.

        Args:
            before: The manifest of the earlier adoption; None for none.
        """
        kept = before.options.get(ADOPT, {}).get("classes") if before is not None and self.overwrite else None
        return self if self.classes is not None or kept is None else replace(self, classes=tuple(kept))
