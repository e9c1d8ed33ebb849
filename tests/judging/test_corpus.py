"""Labelled replies: the judge's own error, held by language."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from toolbench.selfcheck.corpus import Judged, judged, replies

ROOT = Path(__file__).parents[2]
WORST = {
    ("en", "alarms"): 2,
    ("en", "misses"): 10,
    ("en", "review"): 8,
    ("ru", "alarms"): 4,
    ("ru", "misses"): 18,
    ("ru", "review"): 8,
}
"""Of 149 right and 137 wrong English, 154 and 139 Russian replies; lowered whenever the judge gets better."""


@cache
def outcome(lang: str) -> tuple[Judged, ...]:
    return tuple(judged(ROOT, replies(ROOT / f"tests/judging/corpus/{lang}.jsonl")))


@pytest.mark.parametrize("lang", ["en", "ru"])
def test_the_judge_errs_no_more_than_before(lang: str) -> None:
    rows = outcome(lang)
    assert len(rows) > 250
    found = {
        (lang, "alarms"): [row.reply.id for row in rows if row.alarm],
        (lang, "misses"): [row.reply.id for row in rows if row.missed],
        (lang, "review"): [row.reply.id for row in rows if row.outcome == "review"],
    }
    assert {key: ids for key, ids in found.items() if len(ids) > WORST[key]} == {}
