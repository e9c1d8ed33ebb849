import json
from pathlib import Path

import pytest

from tests.support import delivery
from toolbench.domain.config import Config
from toolbench.running.runner import run_matrix_sync
from toolbench.showing import checklist, plots, sections
from toolbench.showing.view import Arm, RunView


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    folder = tmp_path_factory.mktemp("sections") / "run"
    data = {
        "runs": [],
        "repetitions": 2,
        "conditions": ["auto", "reversed", "forced", "no_tools"],
        "cases": {"tags": ["base"]},
    }
    run_matrix_sync(
        Config.from_json(data, "c"),
        [
            delivery("en"),
        ],
        folder,
    )
    return RunView(folder)


def test_arms_are_never_merged(view: RunView) -> None:
    assert view.arms == [Arm("delivery", "en", name) for name in ("auto", "reversed", "forced", "no_tools")]
    assert [arm.condition for arm in sections.main_arms(view)] == ["auto"]


def test_the_table_shows_share_fraction_and_interval(view: RunView) -> None:
    page = sections.metric_table(view, view.arms[0])
    row = view.at(view.metrics, view.arms[0])
    router = row[(row["player"] == "keyword_router") & (row["metric"] == "pass_rate")].iloc[0]
    share = f"{100 * router['value']:.0f} % ({router['numerator']:.0f}/{router['denominator']:.0f})"
    assert share in page.text
    assert "condition:auto" in page.text


def test_the_control_is_one_sentence_and_no_rate(view: RunView) -> None:
    page = sections.control_table(view, view.arms[3])
    assert "no call was reported in 72 attempts" in page.text


def test_a_paired_effect_uses_only_cases_both_conditions_have(view: RunView) -> None:
    page = sections.paired_effect(view, "delivery", "en", "auto", "forced")
    assert "always_first_tool" in page.text
    forced_cases = view.at(view.attempts, view.arms[2])["case_id"].nunique()
    assert f" {forced_cases} " in page.text


def test_the_position_matters_to_the_player_that_takes_the_first_tool(view: RunView) -> None:
    page = sections.paired_effect(view, "delivery", "en", "auto", "reversed")
    first, silent = (
        [line for line in page.text.splitlines() if line.strip().startswith(player)]
        for player in ("always_first_tool", "always_silent")
    )
    assert "100 %       0 % +100 [+43, +100]" in first[1]
    assert "9 (9)" in first[1]
    assert silent[1].split()[3:9] == ["0", "%", "0", "%", "+0", "–"]


def test_plots_say_in_words_what_they_show(view: RunView) -> None:
    page = sections.heatmap(view, view.arms[0])
    assert "keyword_router:" in page.text
    assert 'alt="delivery' in page.html


def test_cases_are_ordered_by_difficulty(view: RunView) -> None:
    order = plots.case_order(view.at(view.attempts, view.arms[0]))
    share = view.at(view.attempts, view.arms[0]).groupby("case_id")["passed"].mean()
    assert [share[case] for case in order] == sorted(share, reverse=True)


def test_every_item_of_the_checklist_is_computed(view: RunView) -> None:
    items = {item.question: item for item in checklist.checklist(view)}
    assert len(items) >= 15
    assert items["absence of calls checked on ambiguous cases"].state == "yes"
    assert items["tool permutation run"].evidence == "reversed"
    # No model was asked, so nothing about requests can be claimed.
    assert items["raw response beside the decision"].state == "not exercised"


def test_an_interrupted_run_says_incomplete_first(tmp_path: Path, view: RunView) -> None:
    log = view.scored.log.path.read_bytes().split(b"\n")
    (tmp_path / "attempts.jsonl").write_bytes(b"\n".join(log[:40]) + b"\n")
    partial = RunView(tmp_path)
    assert partial.incomplete is not None
    assert partial.incomplete.startswith("INCOMPLETE: ")
    assert "were not made" in partial.incomplete
    assert sections.summary(partial).text.index("INCOMPLETE") < sections.summary(partial).text.index("models")


def test_worked_examples_show_the_raw_response(tmp_path: Path, view: RunView) -> None:
    lines = view.scored.log.path.read_text().split("\n")[:-1]
    header = {**json.loads(lines[0]), "seal": None}
    for player in header["players"]:
        player["provider"] = "p"
    attempts = [{**json.loads(line), "provider": "p"} for line in lines[1:]]
    (tmp_path / "attempts.jsonl").write_text("\n".join(json.dumps(v) for v in [header, *attempts]) + "\n")
    as_models = RunView(tmp_path)
    page = sections.worked_examples(as_models, as_models.arms[0])
    assert "raw response of turn 0" in page.text
    assert "missed_call" in page.text
    assert "user: " in page.text
