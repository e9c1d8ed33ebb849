import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolbench.domain.canonical import StrictJSONError, canonical_json, loads_strict, sha256

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param('{"a": 1', "invalid_json", id="cut-off"),
        pytest.param("", "invalid_json", id="empty"),
        pytest.param('{"a": 1, "a": 2}', "duplicate_key", id="repeated-key"),
        pytest.param('{"x": [{"a": 1, "a": 1}]}', "duplicate_key", id="repeated-key-deep-inside"),
        pytest.param('{"a": NaN}', "non_finite_number", id="nan"),
        pytest.param('{"a": -Infinity}', "non_finite_number", id="infinity"),
        pytest.param('{"a": 1e999}', "non_finite_number", id="overflow"),
        pytest.param('{"a": 1}{"a": 2}', "trailing_text", id="two-objects"),
        pytest.param('{"a": 1} thanks', "trailing_text", id="text-after"),
        pytest.param("[" * 100_000, "invalid_json", id="nested-too-deep"),
        pytest.param("1" * 5000, "invalid_json", id="number-too-long"),
        pytest.param("{'a': 1}", "invalid_json", id="python-quotes"),
    ],
)
def test_every_way_of_not_being_strict_json_has_its_code(text: str, code: str) -> None:
    with pytest.raises(StrictJSONError) as error:
        loads_strict(text)
    assert error.value.code == code


@given(JSON_VALUES)
def test_strict_reading_agrees_with_json_on_what_json_writes(value: object) -> None:
    assert loads_strict(json.dumps(value)) == value


@given(st.dictionaries(st.text(), st.integers(), max_size=6))
def test_hash_ignores_key_order_and_nothing_else(value: dict[str, int]) -> None:
    shuffled = dict(reversed(list(value.items())))
    assert canonical_json(shuffled) == canonical_json(value)
    assert sha256(shuffled) == sha256(value)
    assert sha256({**value, "another key": 1}) != sha256(value)


def test_types_are_kept_apart() -> None:
    spellings = {canonical_json(value) for value in (1, "1", True, None, [], {}, 1.5)}
    assert len(spellings) == 7


def test_error_names_the_line_of_trailing_text() -> None:
    with pytest.raises(StrictJSONError) as error:
        loads_strict('{\n"a": 1\n}\n\nrest')
    assert error.value.line == 5
