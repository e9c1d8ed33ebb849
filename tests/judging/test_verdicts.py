"""The shipped suites against the judge: good answers pass, and each bad one has exactly its codes.

What is said and done is data (``verdicts/<suite>.json``): wordings of good answers, and broken situations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.judging.players import SHIPPED, WORDINGS, Player, found, judged
from toolbench.domain.case import Case
from toolbench.selfcheck.rehearse import Move

GOOD = [
    pytest.param(player, case, wording, id=f"{name}-{case.lang}-{case.id}-{wording}")
    for name, (player, _) in SHIPPED.items()
    for case in player.suite.cases
    for wording in WORDINGS
]
SITUATIONS = [
    pytest.param(player, situation, id=f"{name}-{situation['name']}")
    for name, (player, situations) in SHIPPED.items()
    for situation in situations
]


@pytest.mark.parametrize(("player", "case", "wording"), GOOD)
def test_a_good_answer_passes(player: Player, case: Case, wording: int) -> None:
    assert found(judged(player.suite, case, player.script(case, wording))) == []


@pytest.mark.parametrize(("player", "situation"), SITUATIONS)
def test_a_situation_has_its_codes(player: Player, situation: Mapping[str, Any]) -> None:
    case = player.suite.case_by_key[situation["lang"], situation["case"]]
    reported = set(judged(player.suite, case, [Move.from_json(move) for move in situation["moves"]]).codes)
    if "among" in situation:
        assert set(situation["among"]) <= reported
    else:
        assert reported == set(situation["codes"])


def test_situations_have_names_of_their_own() -> None:
    names = [param.id for param in SITUATIONS]
    assert len(set(names)) == len(names) == 97


def test_a_write_that_times_out_although_done_is_carried_out_once() -> None:
    """The retry in code finds the work done; the model sees a success and the case passes."""
    player, _ = SHIPPED["reschedule"]
    case = player.suite.case_by_key["en", "full_chain.retried-1"]
    verdict = judged(player.suite, case, player.script(case, 0))
    assert verdict.passed
    assert [call.state for call in verdict.calls] == ["executed"] * 3
