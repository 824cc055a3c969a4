import re
from html.parser import HTMLParser

import numpy as np
import pytest

from shardkit.report.charts.bars import Bar, bar_chart, shortened
from shardkit.report.charts.distributions import Line, histogram
from shardkit.report.charts.maps import place_map, size_map
from shardkit.report.facts.bins import SIDES

BAD_NAME = '<script>alert("1")</script> $x$ & co'
NUMBERS = np.arange(12, dtype=np.int64)
SIZES = np.zeros((SIDES.num, SIDES.num), np.int64)
SIZES[20, 22] = 5
CHARTS = {
    "bars": lambda: bar_chart(
        BAD_NAME, "d", [Bar(BAD_NAME, 3, "3 · 75%"), Bar("猫" * 30, 0, "0"), Bar("rest", 1, "1", True)]
    ),
    "histogram": lambda: histogram("t", "d", np.arange(13.0), [Line("a", NUMBERS)], "x", mark=(3, "here")),
    "lines": lambda: histogram("t", "d", np.arange(13.0), [Line("a", NUMBERS), Line("b", NUMBERS[::-1])], "x"),
    "nothing": lambda: histogram("t", "d", np.arange(13.0), [Line("a", NUMBERS * 0)], "x"),
    "sizes": lambda: size_map("t", "d", SIZES, (224, 224)),
    "no sizes": lambda: size_map("t", "d", SIZES * 0, (192, 1024)),
    "places": lambda: place_map("t", "d", np.eye(20, dtype=np.int64)),
}


class Elements(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found, self.texts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_has_neither_styles_nor_ids_nor_colours_of_its_own(name):
    svg = CHARTS[name]()
    elements = Elements(svg)
    assert {tag for tag, _ in elements.found} <= {"svg", "path", "text"}
    for _, attributes in elements.found:
        assert not {"style", "id", "fill", "stroke", "onload"} & attributes.keys()
    assert not re.search("#[0-9a-f]{6}", svg)
    assert elements.found[0][1]["role"] == "img"
    assert elements.found[0][1]["aria-label"]
    assert len(svg) < 40_000
    assert svg == CHARTS[name]()


def test_names_are_texts_whatever_they_contain():
    elements = Elements(CHARTS["bars"]())
    assert shortened(BAD_NAME) in elements.texts
    assert "3 · 75%" in elements.texts


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("short", "short"),
        ("a" * 30, "a" * 11 + "…" + "a" * 6),
        ("猫" * 30, "猫" * 5 + "…" + "猫" * 3),
        ("a\nb", "a\\nb"),
    ],
)
def test_long_names_keep_beginning_and_end(name, wanted):
    assert shortened(name) == wanted


def test_a_wide_range_of_sizes_has_few_numbers_at_its_axes():
    sizes = SIZES.copy()
    sizes[0, 0] = sizes[-1, -1] = 1
    numbers = [
        text for text in Elements(size_map("t", "d", sizes, (224, 224))).texts if text.replace(",", "").isdigit()
    ]
    assert len(numbers) <= 14
    assert "8" in numbers
