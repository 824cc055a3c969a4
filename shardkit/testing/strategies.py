"""Strategies of hypothesis for what shardkit stores."""

from typing import Any

from hypothesis import strategies as st


def features() -> st.SearchStrategy[dict[str, tuple[str, list[Any]]]]:
    """Return a strategy for features of an example, name to (kind, values); names are often prefixes of others."""
    # Few letters make prefixes likely: one of each length in UTF-8, and some that UTF-16 orders differently.
    prefixes = st.text("ab\0/é\uffee\U0001f600", max_size=5)
    names = prefixes | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    integers = st.integers(-(2**63), 2**63 - 1) | st.integers(-300, 300)
    values = st.one_of(
        st.tuples(st.just("bytes"), st.lists(st.binary(max_size=20), max_size=4)),
        st.tuples(st.just("int64"), st.lists(integers, max_size=40)),
        st.tuples(st.just("float"), st.lists(st.floats(width=32), max_size=40)),
    )
    return st.dictionaries(names, values, min_size=1, max_size=6)
