"""Spellings of a result's values: all that people usually write, and nothing that is another value."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolbench.authoring.spellings import statements
from toolbench.errors import SuiteError
from toolbench.judging.facts import mentions
from toolbench.judging.reading.reader import read


@pytest.mark.parametrize(
    ("kind", "value", "lang", "text"),
    [
        ("number", 1500, "ru", "Это 1 500 рублей."),
        ("number", 1500, "en", "That is 1,500 roubles."),
        ("number", 1500, "ru", "Ровно 1500,00."),
        ("number", 0.8621, "ru", "Курс 0,86."),
        ("number", 258.63, "en", "About 259 euros."),
        ("number", 12500.5, "ru", "Сумма 12 500,50 ₽"),
        ("number", -65, "en", "It is −65."),
        ("number", -65, "ru", "Получится минус 65."),
        ("date", "2026-12-02", "ru", "Перенесено на 2 декабря."),
        ("date", "2026-12-02", "en", "Moved to December 2nd."),
        ("date", "2026-12-02", "ru", "Дата: 02.12.2026"),
        ("time", "2026-11-30T15:30:00+09:00", "en", "It is 3:30 PM there."),
        ("time", "2026-11-30T15:30:00+09:00", "ru", "Сейчас 15:30."),
        ("hour", "10:00", "ru", "Интервал с 10 до 12."),
        ("hour", "12:00", "ru", "Интервал 10–12."),
        ("hour", "18:00", "en", "Between 6 pm and 8 pm."),
        ("text", "in_transit", "en", "The order is in transit."),
    ],
)
def test_usual_spellings_state_the_value(kind: str, value: object, lang: str, text: str) -> None:
    assert mentions(statements(kind, value, lang), read(text, lang).clauses, lang)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("number", 150, "That is 1500."),
        ("number", 36, "That is 36.5."),
        ("number", -65, "That is 65."),
        ("date", "2026-12-02", "Moved to December 22."),
        ("time", "2026-11-30T15:30:00+09:00", "It is 5:30 pm."),
        ("hour", "10:00", "From 1 to 2."),
    ],
)
def test_another_value_does_not(kind: str, value: object, text: str) -> None:
    assert not mentions(statements(kind, value, "en"), read(text, "en").clauses, "en")


@given(st.integers(-(10**9), 10**9) | st.decimals(-(10**6), 10**6, places=3).map(float))
def test_a_number_is_stated_by_its_own_spelling(value: float) -> None:
    assert statements("number", value, "en")[0] == str(value)


@given(st.dates(date(2000, 1, 1), date(2099, 12, 31)), st.sampled_from(["ru", "en"]))
def test_a_date_is_stated_by_its_own_spelling(day: date, lang: str) -> None:
    assert statements("date", day.isoformat(), lang)[0] == day.isoformat()


@pytest.mark.parametrize(
    ("kind", "value"), [("number", "many"), ("date", "soon"), ("time", 12), ("hour", "noon"), ("hour", 10)]
)
def test_a_value_of_another_kind_is_refused(kind: str, value: object) -> None:
    with pytest.raises(SuiteError, match=f"cannot be stated as a {kind}"):
        statements(kind, value, "en")
