"""Infer from the first records of a file which fields are the boxes, their classes and the image.

    {"path": "rgb/1.png", "boxes": [{"label": "Green", "x_max": 9, "x_min": 2, "y_max": 8, "y_min": 1}]}
        image                           class               four sides of each of the objects in boxes

Names say what a field may be; `fitting` decides by the images between what is left.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shardkit.sources.formats.inferred.reading import BoxField, Form, label_of, numbers_of, points_of, values_at
from shardkit.sources.formats.inferred.roles import Role, Way, is_of_image, is_turned, role_of, words_of
from shardkit.sources.recognising.detection.inferred.class_fields import class_fields, is_number

_SIDES = 4
_MIN_SHARE = 0.9  # of the objects that have a field of all
_CORNERS = (Role.XMIN, Role.YMIN, Role.XMAX, Role.YMAX)
_SIZES = (Role.XMIN, Role.YMIN, Role.WIDTH, Role.HEIGHT)
_POINT_SIZES = (Role.X, Role.Y, Role.WIDTH, Role.HEIGHT)
_CENTRES = (Role.XCENTRE, Role.YCENTRE, Role.WIDTH, Role.HEIGHT)
# Words of a list of four numbers that say what they are.
_OF_LISTS = {
    "xywh": (Form.SIZE,),
    "ltwh": (Form.SIZE,),
    "tlwh": (Form.SIZE,),
    "xyxy": (Form.CORNERS,),
    "ltrb": (Form.CORNERS,),
    "tlbr": (Form.CORNERS,),
    "cxcywh": (Form.CENTRE,),
    "xcycwh": (Form.CENTRE,),
    "yxyx": (Form.CORNERS_Y_FIRST,),
}
_GUESSES = {"conf", "confidence", "score", "prob", "probability"}
_FIELD = "field "  # what fields without names are called, before their numbers
_LEFT_OUT = {"deleted", "ignore", "ignored", "dontcare"}


@dataclass(slots=True)
class Fields:
    """The fields of some records.

    Attributes:
        repeated: Ways to lists of objects.
        values: Values by the way that leads to them, of each record.
        num_nodes: Number of objects by the way to their list; of records for ().
    """

    repeated: set[Way] = field(default_factory=set)
    values: dict[Way, list[Any]] = field(default_factory=lambda: defaultdict(list))
    num_nodes: dict[Way, int] = field(default_factory=lambda: defaultdict(int))

    @classmethod
    def of(cls, records: Sequence[Any]) -> "Fields":
        """Return the fields of records."""
        made = cls()
        for record in records:
            made.num_nodes[()] += 1
            made._add(record, ())
        return made

    def _add(self, value: Any, way: Way) -> None:
        if isinstance(value, dict):
            for name, one in value.items():
                self._add(one, (*way, name))
        elif isinstance(value, list) and any(isinstance(one, dict) for one in value):
            self.repeated.add(way)
            for one in value:
                self.num_nodes[way] += 1
                self._add(one, way)
        elif value not in ("", None):
            self.values[way].append(value)

    def owner(self, way: Way) -> Way:
        """Return the way to the innermost list of objects that a field is in; () for the record."""
        return next((way[:depth] for depth in range(len(way), 0, -1) if way[:depth] in self.repeated), ())

    def of_owner(self, owner: Way) -> dict[Way, list[Any]]:
        """Return the values of an object's own fields, by the way from the object."""
        return {way[len(owner) :]: found for way, found in self.values.items() if self.owner(way) == owner}


@dataclass(frozen=True, slots=True)
class Candidate:
    """What may be the boxes of some records.

    Attributes:
        objects: The way from a record to its objects; () if the record is one.
        box: Where an object has its box.
        classes: Ways from an object to what may be its class, the surest first.
        guesses: The way to a number that says how sure a model is of its guess; None if there is none.
        size: The ways from a record to the image's width and height; () for none.
        flags: Ways from an object to what says that it is to be left out.
        is_usual: Whether the classes have a name that classes usually have; else the user is to be asked.
    """

    objects: Way
    box: BoxField
    classes: tuple[Way, ...]
    guesses: Way | None
    size: tuple[Way, ...]
    flags: tuple[Way, ...] = ()
    is_usual: bool = True

    def boxes(self, tree: Any) -> Iterator[list[float]]:
        """Yield the numbers of the boxes of a record."""
        objects = values_at([tree], self.objects) if self.objects else [tree]
        return (numbers for given in objects if (numbers := self.box.numbers(given)) is not None)

    def annotated_size(self, tree: Any) -> tuple[int, int] | None:
        """Return the width and height that a record gives its image; None if it gives none."""
        values = [value for way in self.size for value in values_at([tree], way)]
        sides = [int(float(value)) for value in values if is_number(value)]
        return (sides[0], sides[1]) if len(sides) == len(self.size) == 2 and min(sides) > 0 else None


def candidates(records: Sequence[Any], image: Way | None = None) -> list[Candidate]:
    """Return what may be the boxes of some records: of each list of objects, those that have a whole box."""
    fields = Fields.of(records)
    found = list[Candidate]()
    for owner in sorted({fields.owner(way) for way in fields.values}, key=len, reverse=True):
        own = {way: values for way, values in fields.of_owner(owner).items() if owner or way != image}
        if _are_points(own):
            continue
        boxes = [*_named_boxes(own), *_list_boxes(own), *_outlines(fields, owner)]
        if own and all(way[-1].startswith(_FIELD) for way in own if way):
            found += _of_lines(owner, own, fields.num_nodes[owner])
            continue
        boxes = [one for one in boxes if not _is_rare(one, own, fields.num_nodes[owner])]
        whole = [one for one in boxes if one.form is not Form.OUTLINE] or boxes
        size = _size(fields, owner, whole)
        for box in whole:
            others = {way: values for way, values in own.items() if way not in box.ways and way not in size}
            classes, is_usual = class_fields(others, fields.num_nodes[owner])
            guesses = next((way for way, values in others.items() if _are_guesses(way, values)), None)
            flags = tuple(way for way in others if way and _LEFT_OUT.intersection(words_of(way[-1])))
            found.append(Candidate(owner, box, classes, guesses, size, flags, is_usual))
    return found


def _are_points(own: Mapping[Way, Sequence[Any]]) -> bool:
    """Return whether objects are points: they have x and y only."""
    roles = {role[0] if (role := role_of(way[-1:])) else None for way in own if way[-1:] != ("z",)}
    return roles == {Role.X, Role.Y}


def _is_rare(box: BoxField, own: Mapping[Way, Sequence[Any]], num_nodes: int) -> bool:
    return box.form is not Form.OUTLINE and any(
        len(own[way]) < _MIN_SHARE * num_nodes for way in box.ways if way in own
    )


def _named_boxes(own: Mapping[Way, Sequence[Any]]) -> Iterator[BoxField]:
    """Yield the boxes whose sides are four fields."""
    groups: dict[tuple[str, ...], dict[Role, list[tuple[int | None, Way]]]] = {}
    turned = {tuple(_rest(way)) for way in own if is_turned(way)}
    for way, values in own.items():
        role = role_of(way) if all(map(is_number, values)) else None
        if role is not None:
            groups.setdefault(role[1], {}).setdefault(role[0], []).append((role[2], way))
    for rest, roles in groups.items():
        if rest in turned:
            continue
        numbered = _by_numbers(roles)
        for wanted, form in (
            (_CORNERS, Form.CORNERS),
            (_CENTRES, Form.CENTRE),
            (_SIZES, Form.SIZE),
            (_POINT_SIZES, Form.SIZE_OR_CENTRE),
        ):
            if all(len(numbered.get(role, ())) == 1 for role in wanted):
                yield BoxField(tuple(numbered[role][0][1] for role in wanted), form)
                break
        else:
            xs = [way for role in (Role.X, Role.XMIN, Role.XMAX) for _, way in numbered.get(role, ())]
            ys = [way for role in (Role.Y, Role.YMIN, Role.YMAX) for _, way in numbered.get(role, ())]
            if len(xs) == len(ys) >= _SIDES:
                yield BoxField((*xs, *ys), Form.OUTLINE)


def _rest(way: Way) -> list[str]:
    return [word for word in words_of(" ".join(way)) if not is_turned((word,))]


def _by_numbers(roles: Mapping[Role, list[tuple[int | None, Way]]]) -> dict[Role, list[tuple[int | None, Way]]]:
    """Return the roles of x1, y1, x2, y2: the ends, by their numbers."""
    made = dict(roles)
    for role, low, high in ((Role.X, Role.XMIN, Role.XMAX), (Role.Y, Role.YMIN, Role.YMAX)):
        found = sorted(made.get(role, ()), key=lambda one: -1 if one[0] is None else one[0])
        if len(found) == 2 and not made.keys() & {low, high} and found[0][0] != found[1][0]:
            del made[role]
            made[low], made[high] = [found[0]], [found[1]]
    return made


def _list_boxes(own: Mapping[Way, Sequence[Any]]) -> Iterator[BoxField]:
    """Yield the boxes that are a list of four numbers, or a text of them."""
    for way, values in own.items():
        lists = [numbers_of(value) for value in values if value not in ("", None, [])]
        if not lists or any(one is None or len(one) != _SIDES for one in lists):
            continue
        name = "".join(words_of(way[-1])) if way else ""
        forms = next((forms for word, forms in _OF_LISTS.items() if word in name), (Form.LIST,))
        yield BoxField((way,), forms[0])


def _of_lines(owner: Way, own: Mapping[Way, Sequence[Any]], num_lines: int) -> Iterator[Candidate]:
    """Yield the boxes of lines of text: eight or four numbers that follow each other, and one other field.

    A field that never changes is no side of a box.
    """
    fields = {way: values for way, values in own.items() if len(values) >= _MIN_SHARE * num_lines}
    ways = list(fields)
    for count, form in ((2 * _SIDES, Form.OUTLINE), (_SIDES, Form.LIST)):
        for start in range(len(ways) - count + 1):
            box = ways[start : start + count]
            if not all(is_number(value) for way in box for value in fields[way]):
                continue
            if num_lines >= _SIDES and any(len({*fields[way]}) == 1 for way in box):
                continue
            others = {way: values for way, values in fields.items() if way not in box}
            guesses = next((way for way, values in others.items() if _are_guesses(way, values)), None)
            labels = [way for way, values in others.items() if way != guesses and None not in map(label_of, values)]
            texts = [way for way in labels if not all(map(is_number, fields[way]))]
            chosen = texts or labels
            rest = [values for way, values in others.items() if way not in chosen and way != guesses]
            if not all(_are_flags(values) for values in rest):
                continue  # nobody says what these numbers are
            if len(chosen) == 1 or (not others and form is Form.LIST):
                sides = (*box[::2], *box[1::2]) if form is Form.OUTLINE else tuple(box)
                yield Candidate(owner, BoxField(sides, form), tuple(chosen), guesses, ())


def _are_flags(values: Sequence[Any]) -> bool:
    """Return whether a field without a name has few small numbers, such as 0 and 1 for what is difficult."""
    return all(str(value).strip() in {"0", "1", "2", "3"} for value in values)


def _outlines(fields: Fields, owner: Way) -> Iterator[BoxField]:
    """Yield the outlines of an object: lists of points, of pairs, or of x and y in turn."""
    inner = {way: values for way, values in fields.values.items() if way[: len(owner)] == owner and way != owner}
    by_list: dict[Way, list[Way]] = {}
    for way, values in inner.items():
        of_list = fields.owner(way)
        if of_list == owner:
            are_outlines = all(len(points_of([value]) or ()) > 1 for value in values)
            if are_outlines and not all(len(numbers_of(value) or ()) == _SIDES for value in values):
                yield BoxField((way[len(owner) :],), Form.OUTLINE)
        elif fields.owner(of_list[:-1]) == owner:
            by_list.setdefault(of_list, []).append(way)
    for of_list, ways in by_list.items():
        own = {way[len(of_list) :]: inner[way] for way in ways}
        if _are_points(own) and all(is_number(value) for values in own.values() for value in values):
            xs = [way for way in ways if (role := role_of(way[-1:])) and role[0] is Role.X]
            ys = [way for way in ways if way not in xs]
            yield BoxField((xs[0][len(owner) :], ys[0][len(owner) :]), Form.OUTLINE)


def _size(fields: Fields, owner: Way, boxes: Sequence[BoxField]) -> tuple[Way, ...]:
    """Return the ways to the image's width and height: of the record, or of a table's rows."""
    used = {way for box in boxes for way in box.ways} if not owner else set()
    found: dict[tuple[str, ...], dict[Role, Way]] = {}
    for way, values in fields.of_owner(()).items():
        role = role_of(way) if way not in used and all(map(is_number, values)) else None
        if role is not None and role[0] in {Role.WIDTH, Role.HEIGHT} and (is_of_image(way) or not role[1]):
            found.setdefault(role[1], {})[role[0]] = way
    whole = [one for one in found.values() if len(one) == 2]
    return (whole[0][Role.WIDTH], whole[0][Role.HEIGHT]) if len(whole) == 1 else ()


def _are_guesses(way: Way, values: Sequence[Any]) -> bool:
    """Return whether a field says how sure a model is: a number up to 1 or 100 by its name, or by its values alone."""
    numbers = [float(value) for value in values if is_number(value)]
    if len(numbers) < len(values) or not numbers:
        return False
    are_shares = all(0 <= number <= 1 for number in numbers) and any(number % 1 for number in numbers)
    is_named = bool(_GUESSES.intersection(words_of(" ".join(way))))
    return (is_named and len(set(numbers)) > 1) or (are_shares and way[-1].startswith(_FIELD))
