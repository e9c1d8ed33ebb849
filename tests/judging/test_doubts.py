"""Values that may be right although nobody gave them."""

from __future__ import annotations

import pytest

from toolbench.judging.doubts import derived, other_half
from toolbench.judging.reading.reader import read
from toolbench.judging.reading.statements import Value


def values(text: str) -> tuple[Value, ...]:
    """Return the values of an English text."""
    return read(text, "en").values


@pytest.mark.parametrize(
    ("stated", "given"),
    [
        ("300 dollars", "3 tickets at 100 dollars"),
        ("4,010 roubles", "9000 roubles, 4990 roubles"),
        ("five hours", "16:30 and 11:30"),
        ("2 kg each", "40 kg in 20 boxes"),
    ],
)
def test_a_number_may_follow_from_two_given_ones(stated: str, given: str) -> None:
    assert derived(values(stated)[0], values(given))


@pytest.mark.parametrize(
    ("stated", "given"),
    [("7391 roubles", "9000 roubles, 4990 roubles"), ("12 kg", "3 days, 4 days"), ("16:30", "3:30")],
)
def test_other_numbers_do_not_follow(stated: str, given: str) -> None:
    assert not derived(values(stated)[0], values(given))


@pytest.mark.parametrize(
    ("stated", "given", "open_to_it"),
    [("3:30", "15:30", True), ("3:30 am", "15:30", False), ("4:30", "15:30", False)],
)
def test_a_time_may_leave_the_half_of_the_day_open(stated: str, given: str, open_to_it: bool) -> None:
    assert other_half(values(f"At {stated}.")[0], values(f"At {given}.")) is open_to_it
