"""Numbers with the form of the word that they take: ``1 attempt``, ``2 attempts``; ``2 попытки``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

FORMS: Mapping[str, Callable[[int], int]] = {
    "en": lambda n: int(n != 1),
    "ru": lambda n: (
        0 if n % 10 == 1 and n % 100 != 11 else 1 if 2 <= n % 10 <= 4 and not 12 <= n % 100 <= 14 else 2
    ),
}
"""Language → which of a word's forms a number takes (Unicode's plural rules for whole numbers)."""


def plural(number: int, one: str, many: str = "") -> str:
    """Return an English number with its word: ``plural(2, "case")``; an odd plural is given."""
    return f"{number} {many or one + 's' if FORMS['en'](number) else one}"


class Counted(int):
    """A number that a template of a language may follow with the forms of a word.

    ``"{number:attempt|attempts}"`` gives ``1 attempt`` or ``2 attempts``; Russian has three forms.
    """

    lang: str

    def __new__(cls, number: int, lang: str) -> Counted:
        """Return the number with the language of its template."""
        made = super().__new__(cls, number)
        made.lang = lang
        return made

    def __format__(self, forms: str) -> str:
        """Return the number and, where forms of a word are given, the one it takes."""
        if "|" not in forms:
            return format(int(self), forms)
        return f"{int(self)} {forms.split('|')[FORMS[self.lang](abs(self))]}"
