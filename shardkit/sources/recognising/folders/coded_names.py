"""Refuse folders of images whose names begin with the folder's name and go on with codes: each code may be the class.

s0001/s0001_00017_0_0_1_2_1_01.png      a person, a number, and what is known of the image
an2i/an2i_left_angry_open.pgm
"""

import itertools
import posixpath
import re
from collections.abc import Sequence

from shardkit.naming import printable
from shardkit.refusals import RefusalError
from shardkit.sources.mask_pixels import images_below
from shardkit.sources.recognising.folders.first_images import listed
from shardkit.sources.recognising.folders.name_fields import NameField, form_of
from shardkit.sources.recognising.folders.source_place import FORCED, SourcePlace
from shardkit.storage import Folder

_NUM_NAMES = 200  # of each folder that are looked at
_MIN_CODES = 3  # cat_12_rot_90_flip_1.png has two, and is a cat
_MAX_VALUES = 8  # of a code
_MAX_SHOWN = 4


def refuse_coded_names(folder: Folder, names: Sequence[str], place: SourcePlace) -> None:
    """Refuse folders in which the images' names say more than the folders do."""
    files = {
        name: [posixpath.basename(path) for path in itertools.islice(images_below(folder, name), _NUM_NAMES)]
        for name in names
    }
    every = [file for found in files.values() for file in found]
    form = form_of(every)
    if form is None or len(names) < 2 or not all(map(form.fits, every)):
        return
    if any(file.partition(form.separator)[0].lower() != name.lower() for name in names for file in files[name]):
        return
    codes = [field for field in form.repeating_fields(every) if field.number > 1 and _is_code(field, [*files.values()])]
    if len(codes) < _MIN_CODES:
        return
    problem = (
        f"{place.shown}: the names of the images in {listed(names)} begin with the folder's name and go on with "
        f"{len(codes)} codes, such as {printable(every[0])}, so the class may be the folder or a code"
    )
    changes = [
        place.tree({"label_pattern": code.pattern}, f"the label is field {code.number} of the file name")
        for code in codes[:_MAX_SHOWN]
    ]
    raise RefusalError(problem, [*changes, place.tree(FORCED, "each folder is a class")])


def _is_code(field: NameField, files: Sequence[Sequence[str]]) -> bool:
    """Return whether a field has few values, and several in each folder, which repeat."""
    values = [{found[1] for file in names if (found := re.search(field.pattern, file))} for names in files]
    repeat = all(1 < len(one) <= len(names) / 2 for one, names in zip(values, files, strict=True))
    return repeat and len(set().union(*values)) <= _MAX_VALUES
