"""Lines of values inside JSON documents."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolbench.authoring.positions import line_index, repeated_key_line

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def paths(value: Any, at: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return {at}.union(*(paths(inner, (*at, key)) for key, inner in items))


@given(json_values, st.sampled_from([None, 0, 2]))
def test_every_value_has_a_line(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    lines = line_index(text)
    assert lines.keys() == paths(value)
    assert all(1 <= line <= text.count("\n") + 1 for line in lines.values())


def test_brackets_and_newlines_inside_strings_do_not_count() -> None:
    assert line_index('{"a": "{[\\n\\"",\n "b": 1}') == {(): 1, ("a",): 1, ("b",): 2}


def test_the_repeated_key_is_found_on_its_line() -> None:
    assert repeated_key_line('{"a": {"x": 1},\n "b": 2,\n "a": 3}') == 3
    assert repeated_key_line('{"a": 1, "b": 2}') == 1
