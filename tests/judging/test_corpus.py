"""Labelled replies: the judge's own error, held in total and in every cell.

The files without a suffix were there when the readers were written; those of ``second`` were written by
others and first judged unseen (false alarms 7.3 % and 10.9 %, misses 14.5 % and 7.3 % in English and
Russian); ``third`` was written to find more kinds of error; ``fourth`` was judged unseen as well (English:
false alarms 8.5 %, misses 7.6 %; Russian: 9.6 % and 4.4 %; one label corrected since in each). The English
``fifth`` was judged unseen with false alarms of 8.0 % and misses of 13.3 %; its odd lines were then looked
at, and the even ones, still unseen, came to 3.6 % and 11.0 %. Of the Russian one the odd lines had 10.6 % and
17.2 %, the even ones 7.0 % and 14.7 % before; after the odd ones had been mended from, the even ones had
4.0 % and 16.2 %. ``sixth`` holds sixty replies a language of yet another author, who saw no
word list, judged when all else was done: false alarms 5.6 % in both languages, misses 12.5 % in both; two
kinds were mended since. Its last lines were written with the cases of relative dates and of five steps.
All of them are development data by now.
"""

from __future__ import annotations

import pytest

from tests.judging.figures import FILES, committed, figures, rows

ASKED = {"alarms": 0.02, "misses": 0.08, "review": 0.08}
"""Largest share of right replies failed, of wrong ones passed, and of all left to a person."""
MORE = {
    "ru.fourth": {"alarms": 0.025}, "en.fifth": {"misses": 0.11}, "ru.fifth": {"misses": 0.12},
    "en.sixth": {"alarms": 0.025, "misses": 0.13}, "ru.sixth": {"alarms": 0.045, "misses": 0.14},
}  # fmt: skip
"""What a file may exceed; nobody has looked at what is missed on the even lines of ``en.fifth``."""


@pytest.mark.parametrize("file", FILES)
def test_the_judge_errs_no_more_than_is_asked(file: str) -> None:
    judged = rows(file)
    right = [row for row in judged if row.reply.right]
    wrong = [row for row in judged if not row.reply.right]
    found = {
        "alarms": sum(row.alarm for row in right) / len(right),
        "misses": sum(row.missed for row in wrong) / len(wrong),
        "review": sum(row.outcome == "review" for row in judged) / len(judged),
    }
    asked = ASKED | MORE.get(file, {})
    assert {name: share for name, share in found.items() if share > asked[name]} == {}


@pytest.mark.parametrize("file", FILES)
def test_no_cell_gets_worse(file: str) -> None:
    before, now = committed()[file], figures(file)
    assert {name: cell["replies"] for name, cell in now.items()} == {
        name: cell["replies"] for name, cell in before.items()
    }
    worse = {
        name: (before[name], cell)
        for name, cell in now.items()
        # What moves from an error to a person is better; what moves the other way is worse.
        if cell["errors"] > before[name]["errors"]
        or cell["errors"] + cell["review"] > before[name]["errors"] + before[name]["review"]
    }
    assert worse == {}


def test_most_replies_are_judged() -> None:
    assert {file: len(rows(file)) for file in FILES} == {
        "en": 286, "en.second": 110, "en.third": 179, "en.fourth": 174, "en.fifth": 368, "en.sixth": 78,
        "ru": 293, "ru.second": 110, "ru.third": 178,
        "ru.fourth": 174, "ru.fifth": 336, "ru.sixth": 76,
    }  # fmt: skip
