"""Find the word that a misspelt one stands for."""

import difflib
from collections.abc import Iterable

# Of difflib's ratio, without dashes: "--config" and "--fit" have 0.4, "cache_dir" and "cache" 0.71.
_MIN_SIMILARITY = 0.7
_MIN_BEGINNING = 2  # letters


def closest(given: str, words: Iterable[str]) -> str | None:
    """Return the word that is most like the given one, or that begins with it; None if none is similar enough.

    Args:
        given: A word, such as ``--spilts`` or ``image_sise``.
        words: The words that exist. Dashes and underscores count as nothing: every option begins with two.
    """
    by_letters = {_letters(word): word for word in words}
    letters = _letters(given)
    found = difflib.get_close_matches(letters, by_letters, n=1, cutoff=_MIN_SIMILARITY)
    if not found and len(letters) >= _MIN_BEGINNING:
        found = sorted((word for word in by_letters if word.startswith(letters)), key=len)
    return by_letters[found[0]] if found else None


def _letters(word: str) -> str:
    return word.replace("-", "").replace("_", "").lower()
