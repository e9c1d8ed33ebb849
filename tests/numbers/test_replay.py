"""Policy replay: composite policies over saved attempts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from tests.numbers.support import PRICE, failed, renamed, value
from toolbench.cli import main
from toolbench.errors import InputError
from toolbench.numbers.compare import compare
from toolbench.numbers.frames import ScoredRun, load_run
from toolbench.numbers.metrics import metrics
from toolbench.numbers.policies import SIGNALS, Policy, examples, load_policies
from toolbench.numbers.replay import as_side, replay, replay_table
from toolbench.showing.replayed import replay_page
from toolbench.showing.view import RunView

CHEAP, STRONG = "acme/cheap", "acme/strong"
KEY = ["suite", "lang", "condition", "case_id", "repetition"]


def of(scored: ScoredRun, model: str) -> pd.DataFrame:
    mine = scored.attempts[(scored.attempts["model"] == model) & ~scored.attempts["control"]]
    return mine.set_index(KEY).sort_index()


def played(scored: ScoredRun, **policy: Any) -> pd.DataFrame:
    data = {"name": "p", "routes": [{"use": CHEAP}], **policy}
    return replay(scored, Policy.from_json(data)).set_index(KEY).sort_index()


def test_a_policy_with_one_player_is_that_player(priced: ScoredRun) -> None:
    simulated, alone = played(priced), of(priced, "cheap")
    for name in ("passed", "unsafe", "completed", "cost", "latency_ms", "turns", "codes"):
        pd.testing.assert_series_equal(simulated[name], alone[name])
    assert (simulated["players"] == 1).all()
    figures = metrics(simulated.reset_index())
    assert set(figures["provider"]) == {"policy"}
    assert set(figures["model"]) == {"p"}


def test_reads_go_to_one_player_and_writes_to_another(priced: ScoredRun) -> None:
    simulated = played(priced, routes=[{"when": {"write_due": False}, "use": CHEAP}, {"use": STRONG}])
    cheap, strong = of(priced, "cheap"), of(priced, "strong")
    writes = strong["write_due"]
    assert writes.any()
    assert not writes.all()
    assert (simulated["passed"] == cheap["passed"].where(~writes, strong["passed"])).all()
    assert (simulated["players"] == 1).all()


def test_a_fallback_after_an_invalid_call_is_paid_for_twice(priced: ScoredRun) -> None:
    simulated = played(priced, takeovers=[{"on": ["invalid"], "use": STRONG}])
    cheap, strong = of(priced, "cheap"), of(priced, "strong")
    fell = simulated["players"] == 2
    assert fell.any()
    assert not fell.all()
    assert (fell == (cheap["calls_raw_valid"] < cheap["calls"])).all()
    assert (simulated["passed"] == cheap["passed"].where(~fell, strong["passed"])).all()
    wanted = cheap["cost"] + strong["cost"].where(fell, 0)
    assert simulated["cost"].to_numpy() == pytest.approx(wanted.to_numpy())
    assert (simulated["latency_ms"] == cheap["latency_ms"] + strong["latency_ms"].where(fell, 0)).all()


def test_a_takeover_on_a_write_holds_the_write_back(priced: ScoredRun) -> None:
    held = played(priced, takeovers=[{"on": ["write"], "use": STRONG}])
    assert of(priced, "cheap")["unsafe"].sum() > 0
    assert held["unsafe"].sum() == 0
    # Any other takeover comes too late for what was done before.
    late = played(priced, takeovers=[{"on": ["invalid"], "use": STRONG}])
    assert late["unsafe"].sum() == of(priced, "cheap")["unsafe"].sum()


def test_confirmation_prevents_unsafe_writes_and_counts_the_questions(priced: ScoredRun) -> None:
    simulated, alone = played(priced, confirm_writes=True), of(priced, "cheap")
    assert simulated["unsafe"].sum() == 0
    assert simulated["asked"].sum() >= alone["unsafe"].sum() > 0
    assert (simulated["passed"] == alone["passed"]).all()
    assert (simulated["cost"] == alone["cost"]).all()


def test_an_unknown_error_is_handed_over(base_run: Path, tmp_path: Path) -> None:
    def break_tool(attempt: dict[str, Any]) -> dict[str, Any]:
        for call in attempt["calls"]:
            if call["result"] and call["states"][-1] == "executed":
                call["result"] |= {"is_error": True, "code": "ODD", "content": "ODD: ?"}
                call["states"][-1] = "failed"
        return attempt

    scored = load_run(renamed(base_run, tmp_path / "odd", {"keyword_router": "cheap"}, PRICE, break_tool))
    alone = played(scored)
    stopped = played(scored, known_errors=["ORDER_NOT_FOUND"])
    known = played(scored, known_errors=["ODD", "ORDER_NOT_FOUND", "ROUTE_UNAVAILABLE", "ALREADY_SHIPPED"])
    assert alone["handed_over"].sum() == known["handed_over"].sum() == 0
    assert stopped["handed_over"].sum() > 0
    assert (stopped.loc[stopped["handed_over"] > 0, "passed"] == 0).all()
    assert (stopped.loc[stopped["handed_over"] > 0, "completed"] == 0).all()


def test_a_provider_that_failed_can_be_replaced(base_run: Path, tmp_path: Path) -> None:
    models = {"keyword_router": "strong", "random_tool": "cheap"}

    def lose(attempt: dict[str, Any]) -> dict[str, Any]:
        return failed(attempt) if attempt["model"] == "cheap" else attempt

    scored = load_run(renamed(base_run, tmp_path / "down", models, PRICE, lose))
    assert not played(scored)["scored"].any()
    rescued = played(scored, takeovers=[{"on": ["transport_error"], "use": STRONG}])
    assert rescued["scored"].all()
    assert (rescued["passed"] == of(scored, "strong")["passed"]).all()


def test_cost_is_unknown_when_currencies_differ_or_a_price_is_missing(priced: ScoredRun) -> None:
    mixed = played(priced, takeovers=[{"on": ["invalid"], "use": "baseline/keyword_router"}])
    fell = mixed["players"] == 2
    assert mixed.loc[fell, "cost"].isna().all()
    assert mixed.loc[~fell, "cost"].notna().all()


def test_controls_are_not_replayed(priced: ScoredRun) -> None:
    assert "no_tools" not in set(played(priced).reset_index()["condition"])


def test_the_table_gives_paired_differences_from_the_first_policy(priced: ScoredRun) -> None:
    table = replay_table(priced, examples(CHEAP, STRONG))
    first, second = f"only {CHEAP}", f"only {STRONG}"
    here = {"lang": "en", "condition": "auto"}
    figures = metrics(priced.attempts)
    cheap = value(figures, "pass_rate", model="cheap", **here)
    strong = value(figures, "pass_rate", model="strong", **here)
    assert value(table, "pass_rate", policy=second, **here) == pytest.approx(strong)
    assert value(table, "pass_rate", "delta", policy=second, **here) == pytest.approx(strong - cheap)
    assert np.isnan(value(table, "pass_rate", "delta", policy=first, **here))
    low, high = (value(table, "pass_rate", f"delta_{end}", policy=second, **here) for end in ("low", "high"))
    # Fewer than ten scenarios: a difference and no interval.
    assert np.isnan([low, high]).all()
    assert {"pass_rate", "unsafe_call_rate", "latency_p95", "cost_per_completed", "asked"} <= set(
        table["metric"]
    )
    pd.testing.assert_frame_equal(table, replay_table(priced, examples(CHEAP, STRONG)))


def test_a_policy_can_be_compared_with_another_case_by_case(priced: ScoredRun) -> None:
    left, right = (as_side(p.name, replay(priced, p)) for p in examples(CHEAP, STRONG)[:2])
    result = compare(left, right, ["model"])
    assert len(result.newly_passing) > 0


def test_two_policies_of_one_name_are_refused(priced: ScoredRun) -> None:
    policy = Policy("p", [({}, CHEAP)])
    with pytest.raises(InputError, match="'p' occurs twice"):
        replay_table(priced, [policy, policy])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param({"routes": [{"use": CHEAP}]}, "name and routes are needed", id="no name"),
        pytest.param({"name": "p", "routes": []}, "name and routes are needed", id="no route"),
        pytest.param({"name": "p", "routes": [{"when": {}}]}, "a route needs use", id="route to nobody"),
        pytest.param(
            {"name": "p", "routes": [{"when": {"luck": True}, "use": CHEAP}]}, "unknown 'luck'", id="fact"
        ),
        pytest.param(
            {"name": "p", "routes": [{"use": CHEAP}], "takeovers": [{"on": ["luck"], "use": STRONG}]},
            "unknown 'luck'; there are: invalid",
            id="signal",
        ),
        pytest.param({"name": "p", "routes": [{"use": CHEAP}], "luck": 1}, "unknown key 'luck'", id="key"),
    ],
)
def test_a_wrong_policy_is_refused(data: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Policy.from_json(data)


def test_policies_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "policies.json"
    path.write_text(
        '{"policies": [{"name": "p", "routes": [{"use": "acme/cheap"}], "confirm_writes": true}]}'
    )
    assert load_policies(path) == (Policy("p", (({}, CHEAP),), confirm_writes=True),)
    path.write_text('{"policies": [{"name": "p"}]}')
    with pytest.raises(InputError, match=r"policies\.json: policy p: name and routes"):
        load_policies(path)
    path.write_text("[]")
    with pytest.raises(InputError, match="policies is needed"):
        load_policies(path)


@pytest.mark.parametrize(
    ("routes", "message"),
    [
        pytest.param(
            [{"use": "acme/nobody"}], "player 'acme/nobody': there are baseline", id="unknown player"
        ),
        pytest.param([{"when": {"write_due": True}, "use": CHEAP}], "no route is for the case", id="a gap"),
    ],
)
def test_a_policy_that_does_not_fit_the_run_is_refused(
    priced: ScoredRun, routes: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        replay(priced, Policy.from_json({"name": "p", "routes": routes}))


def test_the_example_policies_use_only_known_signals() -> None:
    for policy in examples(CHEAP, STRONG):
        assert all(signal in SIGNALS for on, _ in policy.takeovers for signal in on)
        assert policy.players


def test_the_page_and_the_command_show_every_policy_beside_the_first(
    priced: ScoredRun, tmp_path: Path
) -> None:
    run = priced.log.path.parent
    page = replay_page(RunView(run))
    (first, *_), names = examples(CHEAP, STRONG), [policy.name for policy in examples(CHEAP, STRONG)]
    told = CliRunner().invoke(main, ["replay", str(run), "--cheap", CHEAP, "--strong", STRONG])
    assert told.exit_code == 0, told.output
    assert all(name in told.output for name in names)
    assert any("confirm every write" in line and "%, " in line for line in told.output.splitlines())
    assert "acme/strong/chat_completions" in page.text
    given = tmp_path / "policies.json"
    given.write_text(json.dumps({"policies": [{"name": "alone", "routes": [{"use": CHEAP}]}]}))
    alone = CliRunner().invoke(main, ["replay", str(run), "--policies", str(given)])
    assert "alone" in alone.output
    assert first.name not in alone.output
    refused = CliRunner().invoke(main, ["replay", str(run), "--cheap", CHEAP])
    assert refused.exit_code == 2
