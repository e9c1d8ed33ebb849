"""A number takes the right form of its word in both languages."""

import pytest

from toolbench.domain.plurals import Counted, plural

RUSSIAN = {
    "попытка": (1, 21, 101, 121),
    "попытки": (2, 4, 22, 34, 102),
    "попыток": (0, 5, 11, 12, 14, 20, 25, 100, 111, 112),
}


@pytest.mark.parametrize(
    ("number", "word"), [(n, word) for word, numbers in RUSSIAN.items() for n in numbers]
)
def test_a_russian_number_has_one_of_three_forms(number: int, word: str) -> None:
    assert f"{Counted(number, 'ru'):попытка|попытки|попыток}" == f"{number} {word}"


@pytest.mark.parametrize(
    ("number", "expected"), [(0, "0 cases"), (1, "1 case"), (2, "2 cases"), (21, "21 cases")]
)
def test_an_english_number_has_one_of_two_forms(number: int, expected: str) -> None:
    assert f"{Counted(number, 'en'):case|cases}" == expected == plural(number, "case")


def test_an_odd_plural_is_given_and_a_number_alone_stays_one() -> None:
    assert plural(2, "guess", "guesses") == "2 guesses"
    assert f"{Counted(3, 'en')} {Counted(3, 'en'):.1f}" == "3 3.0"
