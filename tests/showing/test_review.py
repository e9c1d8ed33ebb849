"""Attempts that only a person can judge: in no share, and seen on the first screen and beside every share."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support import attempt_of, delivery, said
from toolbench.domain.config import Config, ModelConfig
from toolbench.domain.log_writer import LogWriter
from toolbench.running.header import make_header
from toolbench.showing.dossier import Dossier
from toolbench.showing.front import front
from toolbench.showing.matrix import cases
from toolbench.showing.model_blocks import blocks

ANSWERS = {
    "missing_id": "Which order is it?",
    "missing_id.wording-1": "I twiddled it for you. Which order is it?",
    "missing_id.wording-2": "Everything is fine.",
}
"""One that passes, one that no word list can read, and one that fails."""


@pytest.fixture(scope="module")
def dossier(tmp_path_factory: pytest.TempPathFactory) -> Dossier:
    """Return a run of one model with an attempt of each kind."""
    folder = tmp_path_factory.mktemp("review") / "run"
    folder.mkdir()
    whole = delivery("en")
    suite = whole.keep([case for case in whole.cases if case.id in ANSWERS])
    player = ModelConfig("lab", "talker", "chat_completions", "http://127.0.0.1:9/v1")
    config = Config(runs=(player,), baselines=(), repetitions=1)
    hashes = {name: suite.hashes[name] for name in ("contract", "executor", "rules")}
    hashes |= {"prompt": suite.hashes["prompt.en"], "config": "0"}
    with LogWriter(folder, lambda text: text) as writer:
        writer.append(make_header(config, [suite], folder.name))
        for case in suite.cases:
            made = attempt_of(case, [said(ANSWERS[case.id])], suite)
            own = {**hashes, "case": case.hash}
            writer.append(replace(made, provider="lab", model="talker", run_id=folder.name, hashes=own))
    return Dossier(folder)


def test_what_is_left_to_a_person_is_counted_before_any_figure(dossier: Dossier) -> None:
    assert dossier.in_review == 1
    told = front(dossier).text
    assert "33 % of the attempts (1) need a person to decide" in told
    assert "0 unsupported, 1 left to a person, 0 lost to transport errors, 0 not made" in told
    assert "Passes 1 of 2 attempts (50 %)" in told
    assert "to review: 1" in told
    assert "cannot decide" not in told


def test_a_share_that_it_could_move_has_both_bounds(dossier: Dossier) -> None:
    page = blocks(dossier).html.replace("\u2060", "")
    assert "50 %<br><small>1/2</small><br><small>33–67 with 1 to review</small>" in page


def test_its_case_says_so_and_leads_to_the_conversation(dossier: Dossier) -> None:
    (page,) = (table.html for table in cases(dossier))
    (arm,) = dossier.main
    link = dossier.talks.link("talker", arm, "missing_id.wording-1")
    assert link is not None
    assert f'<td class=none><a href="{link}">1?</a></td>' in page
