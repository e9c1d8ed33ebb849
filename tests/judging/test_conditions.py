"""The shipped suites under other conditions: bare error texts, and descriptions that say next to nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.judging import test_course_verdicts as course
from tests.judging import test_delivery_verdicts as delivery
from tests.judging import test_refund_verdicts as refund
from tests.judging import test_reschedule_verdicts as reschedule
from tests.judging import test_tickets_verdicts as tickets
from tests.judging.players import Player, found, judged
from toolbench.domain.config import Condition

PLAYERS: Mapping[str, Player] = {
    module.SUITE.name: module.PLAYER for module in (course, delivery, refund, reschedule, tickets)
}
BARE = Condition(name="bare errors", error_hints=False)
BAD = Condition(name="bad descriptions", descriptions="bad")


@pytest.mark.parametrize("player", PLAYERS.values(), ids=PLAYERS)
def test_the_faultless_player_needs_no_hints(player: Player) -> None:
    for case in player.suite.cases:
        assert found(judged(player.suite, case, player.replies(case, 0), BARE)) == [], case.id


@pytest.mark.parametrize("name", ["course", "delivery"])
def test_a_tool_called_by_its_bad_name_is_the_same_tool(name: str) -> None:
    player = PLAYERS[name]
    overlay = player.suite.overlay("bad")
    assert overlay is not None
    wire = {tool: str(entry["name"]) for tool, entry in overlay.tools.items()}
    for case in player.suite.cases:
        replies = [renamed(body, wire) for body in player.replies(case, 1)]
        assert found(judged(player.suite, case, replies, BAD)) == [], case.id


def renamed(body: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return a reply whose calls use other names."""
    copy: dict[str, Any] = json.loads(json.dumps(body))
    for call in copy["choices"][0]["message"].get("tool_calls", ()):
        call["function"]["name"] = names[call["function"]["name"]]
    return copy


@pytest.mark.parametrize("name", ["course", "delivery"])
def test_bad_descriptions_change_words_only(name: str) -> None:
    suite = PLAYERS[name].suite
    overlay = suite.overlay("bad")
    assert overlay is not None
    assert set(overlay.tools) == set(suite.contract.by_name)
    for tool in suite.contract.tools:
        worded = overlay.apply(tool)
        assert worded.name != tool.name
        for lang in suite.langs:
            assert len(worded.described(lang)) < 10 < len(tool.described(lang))
        for argument, schema in worded.properties.items():
            described = tool.properties[argument]["description"]
            assert {**schema, "description": described} == tool.properties[argument]
