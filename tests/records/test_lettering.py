"""Texts in pictures are readable in every language for which this machine has a font."""

import pytest
from PIL import ImageFont

from shardkit.records import drawing
from shardkit.records.drawing import lettering as letter


@pytest.fixture(autouse=True)
def other_fonts(monkeypatch):
    """Forget fonts that other tests have found."""
    drawing._fonts.cache_clear()
    yield monkeypatch
    drawing._fonts.cache_clear()


def is_drawn(text, size=13):
    """Whether no character is drawn as the box of an unknown one."""
    text, font = letter(text, size)
    return all(bytes(font.getmask(char)) != bytes(font.getmask("\uffff")) for char in text)


def test_a_usual_text_has_pillows_own_font():
    text, font = letter("Cat, 12.jpg", 13)
    assert (text, font.getname()) == ("Cat, 12.jpg", ImageFont.load_default(13).getname())


@pytest.mark.parametrize("text", ["Hündchen", "Кошка", "chien à Évian – 3 × 4"])
def test_other_letters_have_a_font_that_has_them(text):
    pytest.importorskip("matplotlib", reason="it ships such a font")
    assert letter(text, 13)[0] == text
    assert is_drawn(text)


def test_without_such_a_font_accents_are_lost_and_letters_are_not(other_fonts):
    other_fonts.setattr(drawing, "_FILES", ("there is no such font.ttf",))
    other_fonts.setattr(drawing, "_of_matplotlib", list)
    assert letter("Hündchen é", 13)[0] == "Hundchen e"
    assert letter("Кошка", 13)[0] == "Кошка"
