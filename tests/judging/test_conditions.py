"""The shipped suites under other conditions: bare error texts, and descriptions that say next to nothing."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.judging.players import SHIPPED, Player, found, judged
from toolbench.domain.condition import Condition

PLAYERS: Mapping[str, Player] = {name: player for name, (player, _) in SHIPPED.items()}
BARE = Condition(name="bare errors", error_hints=False)
BAD = Condition(name="bad descriptions", descriptions="bad")


@pytest.mark.parametrize("player", PLAYERS.values(), ids=PLAYERS)
def test_the_faultless_player_needs_no_hints(player: Player) -> None:
    for case in player.suite.cases:
        assert found(judged(player.suite, case, player.script(case, 0), BARE)) == [], case.id


@pytest.mark.parametrize("name", ["course", "delivery"])
def test_a_tool_called_by_its_bad_name_is_the_same_tool(name: str) -> None:
    player = PLAYERS[name]
    for case in player.suite.cases:
        assert found(judged(player.suite, case, player.script(case, 1), BAD)) == [], case.id


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
