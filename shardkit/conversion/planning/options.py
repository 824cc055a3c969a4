"""Options of a conversion that decide which bytes it writes, and whether it writes any."""

from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Literal

from shardkit.conversion.planning.sizing import check_target_bytes
from shardkit.errors import CallError
from shardkit.hashing import MAX_SEED
from shardkit.image_limits import LARGEST_FILE_BYTES, MAX_FILE_BYTES
from shardkit.images.stored.options import StoredForm
from shardkit.options.definition import written_options
from shardkit.options.groups import TARGET_SHARD_BYTES
from shardkit.options.parsing import within
from shardkit.options.values import AUTO_SCALE, Check, Dedupe, SplitBy
from shardkit.options.words import named

KeptSplits = Literal["made", "own"]


@dataclass(frozen=True, slots=True)
class ConvertOptions(StoredForm):
    """Options that decide what is written. Workers, runner, progress and the reject limit do not.

    How images are stored is inherited from `StoredForm`.

    Attributes:
        name: Name of the dataset, for the manifest and TFDS.
        splits: Ratio of each split; None to keep the source's splits.
        splits_of: The source's own splits that `splits` divides, in the usual order; the others stay as they are. Empty
            if the source has no splits.
        split_by: ``hash`` keeps an example in its split when data is added; ``stratified`` gives every class
            its share, within one image, or within a few if examples have several labels.
        shards: Number of shards of every split, or by split; None to choose from the sizes.
        shard_bytes: Target size of a shard in bytes.
        pipelines: Number of input pipelines that will read the dataset; numbers of shards are multiples of it.
        seed: Seed for splits and for the assignment to shards, 0 to 2**63 - 1.
        classes: Class names in label order; None to sort the source's names.
        group_by: A regular expression for keys, whose first group names the examples that share a split; or a column,
            if the source is a table.
        block: Numbers of a block, into which groups are divided; None for whole groups.
        dedupe: Treatment of identical and near-identical images if contents are known: ``group`` keeps them in one
            split, ``identical`` does so with identical ones only, ``drop`` rejects all but the first key (with boxes or
            masks, of identical ones only), ``ignore`` treats them like other examples.
        where: Condition on the examples of a dataset that is the source.
        drop: Number and sha256 of the keys that are left out of it.
        labels: Number and sha256 of the corrected labels.
        check: ``decode`` reads and decodes every file before planning; ``header`` opens no file before writing.
        max_file_bytes: Size above which an image file is rejected before it is read.
        accept: Codes of findings that are said and do not stop the conversion.
        appended_to: Digest of the manifest of the dataset that the examples are appended to; None for a new dataset.
        inherited: Names of the fields that are rules of the dataset that is converted; the user gave none of them.
        overruled: Names of rules that the user gave in place of the dataset's.
        kept_splits: Whether the examples keep the splits that their dataset has, so that `splits` is only the rule for
            what is appended later: ``made`` if `--splits` made all of them, ``own`` if some are a source's own. None if
            `splits` divides the source.
    """

    name: str = "dataset"
    splits: dict[str, Fraction] | None = None
    splits_of: tuple[str, ...] = ()
    split_by: SplitBy = "stratified"
    shards: int | dict[str, int] | None = None
    shard_bytes: int = TARGET_SHARD_BYTES
    pipelines: int = 1
    seed: int = 0
    classes: tuple[str, ...] | None = None
    check: Check = "decode"
    group_by: str | None = None
    block: int | None = None
    dedupe: Dedupe = "group"
    where: str | None = None
    drop: str | None = None
    labels: str | None = None
    max_file_bytes: int = MAX_FILE_BYTES
    accept: tuple[str, ...] = ()
    appended_to: str | None = None
    inherited: frozenset[str] = frozenset()
    overruled: frozenset[str] = frozenset()
    kept_splits: KeptSplits | None = None

    def __post_init__(self) -> None:
        StoredForm.__post_init__(self)  # super() does not know a class with slots
        within("input_pipelines", self.pipelines, 1, 1 << 16)
        within("seed", self.seed, 0, MAX_SEED)
        within("max_file_size", self.max_file_bytes, 1, LARGEST_FILE_BYTES)
        if not self.name.isidentifier():
            msg = f"{named('name')} must be letters, digits and '_', not starting with a digit; found {self.name!r}"
            raise CallError(msg)
        check_target_bytes(self.shard_bytes)
        if self.splits_of and self.splits is None:
            shares = named("splits", "train=0.9,validation=0.1")
            msg = f"{named('splits_of')} needs the shares to divide by, such as {shares}"
            raise CallError(msg)
        # With `splits_of`, the source's other splits are written too; kept splits may have any names.
        if self.splits is not None and not self.splits_of and self.kept_splits is None:
            self.check_split_names(self.splits)
        for option, value in (("dedupe", "drop"), ("bit_depth", AUTO_SCALE)):
            if self.check == "header" and getattr(self, option) == value:
                needs, reads_none, reads = named(option, value), named("check", "header"), named("check", "decode")
                msg = f"{needs} needs to know the contents, and {reads_none} reads none; give {reads}"
                raise CallError(msg)

    @property
    def has_open_scale(self) -> bool:
        """Whether planning finds the range of samples that becomes black and white."""
        return self.bit_depth == AUTO_SCALE

    def stored_form(self) -> StoredForm:
        """Return the options of the form in which images are stored."""
        return StoredForm(**{one.name: getattr(self, one.name) for one in fields(StoredForm)})

    def applied(self) -> "ConvertOptions":
        """Return the options without the rules that only examples which are appended later follow."""
        changes: dict[str, Any] = {}
        if self.kept_splits is not None:
            changes |= {"splits": None, "splits_of": (), "kept_splits": None}
        if "group_by" in self.inherited:
            changes["group_by"] = None
        if "block" in self.inherited:
            changes["block"] = None
        return replace(self, **changes) if changes else self

    def check_split_names(self, names: Collection[str]) -> None:
        """Check that `shards` names only splits that are written.

        Args:
            names: Names of the splits that are written.

        Raises:
            CallError: It names another split.
        """
        unknown = sorted(set(self.shards) - set(names)) if isinstance(self.shards, dict) else []
        if unknown:
            msg = f"{named('shards')} names the split {unknown[0]!r}; the conversion writes {', '.join(names)}"
            raise CallError(msg)

    def requested_shards(self, split: str) -> int | None:
        """Return the requested number of shards of a split, or None to choose it."""
        return self.shards.get(split) if isinstance(self.shards, dict) else self.shards

    def as_json(self) -> dict[str, Any]:
        """Return the options as in the manifest and the fingerprint; the manifest stores `classes` separately."""
        of_rules = {name: one.form.as_json(getattr(self, name)) for name, one in written_options().items()}
        # Of appends, and of conversions of a dataset: no options.
        others = {"appended_to": self.appended_to, "kept_splits": self.kept_splits}
        return {**of_rules, **{name: value for name, value in others.items() if value is not None}}
