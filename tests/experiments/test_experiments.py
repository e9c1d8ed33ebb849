"""The functions behind the experiment notebooks, called without a notebook."""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.numbers.support import failed, renamed
from tests.support import ROOT, delivery
from toolbench.domain.config import Config, ModelConfig
from toolbench.experiments import (
    Refusal,
    charts,
    consistency,
    first_tool,
    forced,
    injection,
    keep,
    open_run,
    overview,
    recovery,
    spending,
    tool_order,
    wire_format,
    wording,
)
from toolbench.experiments.run_source import Setup
from toolbench.numbers.flips import changed_cases, changes, decision
from toolbench.numbers.frames import load_run
from toolbench.showing.html import Page
from toolbench.showing.view import RunView
from toolbench.simulator import Simulator

PROTOCOLS = ("chat_completions", "responses", "messages")
Played = Callable[..., RunView]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """A function that plays a plan on the English base cases of the delivery suite."""

    def play(plan: Setup, name: str, tags: Sequence[str] = ("base",), **config: Any) -> RunView:
        root = tmp_path_factory.mktemp("played")
        for folder in ("contracts", "cases"):
            (root / folder).symlink_to(ROOT / folder)
        file = root / "config.json"
        file.write_text(json.dumps({"runs": [], "suites": ["delivery"], "repetitions": 2, **config}))
        output = str(root / name)
        return asyncio.run(open_run(plan, config=str(file), output=output, tags=tags, langs=["en"]))

    return play


@pytest.fixture(scope="module")
def orders(played: Played) -> RunView:
    return played(tool_order.plan(), "orders")


@pytest.fixture(scope="module")
def variants(played: Played) -> RunView:
    return played(wording.plan(), "variants")


@pytest.fixture(scope="module")
def modes(played: Played) -> RunView:
    return played(forced.plan(), "modes")


@pytest.fixture(scope="module")
def failures(played: Played) -> RunView:
    return played(recovery.plan(["timeout", "not_found"]), "failures", tags=["core"], repetitions=1)


@pytest.fixture(scope="module")
def wires(played: Played) -> Iterator[RunView]:
    with Simulator() as sim, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIM_KEY", "any")
        price = {"currency": "USD", "date": "2026-11-30", "input": 1.0, "output": 4.0}
        common = {"provider": "sim", "model": "sim-router", "api_key_env": "SIM_KEY", "price": price}
        runs = [{**common, "protocol": name, "base_url": sim.base_url(name)} for name in PROTOCOLS]
        yield played(wire_format.plan(), "wires", runs=runs, baselines=[], repetitions=1)


def of(table: pd.DataFrame, **where: str) -> Any:
    """Return the only row of a frame with these values."""
    for name, value in where.items():
        table = table[table[name] == value]
    assert len(table) == 1
    return table.iloc[0]


def test_every_order_is_played_once() -> None:
    assert [one.tool_order for one in tool_order.conditions(3)] == [
        "canonical",
        "rotate:1",
        "rotate:2",
        "reversed",
    ]
    assert [one.tool_order for one in tool_order.conditions(2)] == ["canonical", "rotate:1"]
    assert [one.tool_order for one in tool_order.conditions(1)] == ["canonical"]


def test_only_a_player_that_looks_at_places_flips(orders: RunView) -> None:
    table = tool_order.flips(orders)
    for order in ("rotate:1", "rotate:2", "reversed", tool_order.ALL):
        first = of(table, player="always_first_tool", order=order)
        assert (first["changed"], first["cases"], first["rate"]) == (9, 9, 1.0)
        assert of(table, player="keyword_router", order=order)["changed"] == 0
        assert of(table, player="always_silent", order=order)["chance"] == 0.0
        assert first["p"] < 0.01
        assert np.isnan(of(table, player="keyword_router", order=order)["p"])
    # It draws anew for every attempt: what looks like an effect of the order is chance.
    drawn = of(table, player="random_tool", order=tool_order.ALL)
    assert drawn["rate"] > 0.2
    assert drawn["chance"] > 0.2
    assert not drawn["p"] < 0.05


def test_first_position_preference_is_measured_against_the_choices_over_all_orders(orders: RunView) -> None:
    table = first_tool.first_position(orders)
    first = of(table, player="always_first_tool")
    # First are get_order, quote_delivery and twice cancel_order: (1 + 1 + 2 * 2) / 4 of 4 expected.
    assert (first["calls"], first["first"], first["expected"]) == (72, 72, 72 * 1.5 / 4)
    assert first["excess"] == pytest.approx(0.625)
    assert first["p"] < 0.01
    assert (first["cases"], first["clusters"]) == (9, 9)
    router = of(table, player="keyword_router")
    assert router["first"] == router["expected"]
    assert np.isnan(router["p"])
    silent = of(table, player="always_silent")
    assert silent["calls"] == 0
    assert np.isnan(silent["excess"])


def test_orders_are_compared_on_cases_scored_under_each_of_them(orders: RunView) -> None:
    table = tool_order.accuracy(orders)
    assert set(table["order"]) == {"canonical", "rotate:1", "rotate:2", "reversed"}
    assert set(table["scored"]) == {18}
    router = table[table["player"] == "keyword_router"]
    assert router["share"].nunique() == 1


def test_the_paired_test_is_of_every_order_and_tells_only_what_it_can(orders: RunView) -> None:
    found = tool_order.paired(orders)
    assert len(found.table) == 3 * 4
    # Nine scenarios, of which few differ: nothing can be told, and nothing is.
    assert (found.table["p"].isna() == (found.table["differing"] < 6)).all()
    assert (found.table["p"].isna() == found.table["p_holm"].isna()).all()
    assert set(found.table["before"]) == {"auto"}


def test_the_cases_that_change_show_each_decision(orders: RunView) -> None:
    text = tool_order.cases_page(orders).text
    assert "always_first_tool" in text
    assert "quote_delivery (0/2)" in text
    assert "keyword_router" not in text


def test_an_order_that_is_the_contracts_own_is_no_evidence(played: Played) -> None:
    # Three tools turned by three are the contract again; turned by four they are turned by one.
    wide = (*tool_order.conditions(5),)

    def plan(config: Config, suites: Sequence[Any]) -> tuple[Config, list[Any]]:
        return replace(config, conditions=wide), list(suites)

    view = played(plan, "wide", repetitions=1)
    tools = len(view.suites["delivery"].contract.tools)
    assert tools == 3
    assert list(tool_order.orders_of(view, "delivery")) == ["canonical", "rotate:1", "rotate:2", "reversed"]
    assert set(tool_order.flips(view)["order"]) == {"rotate:1", "rotate:2", "reversed", tool_order.ALL}
    assert set(tool_order.paired(view).table["after"]) == {"rotate_1", "rotate_2", "reversed"}


def test_every_question_is_answered_in_a_sentence_made_of_its_numbers(
    orders: RunView, variants: RunView, modes: RunView, failures: RunView, wires: RunView
) -> None:
    order = tool_order.answer_page(orders).text
    assert (
        "always_first_tool, delivery en: the usual decision is another one under some order in 9 of 9"
        in order
    )
    found = wording.paired(variants, "descriptions", "", "bad")
    assert (
        "Does bad in place of own wording change what passes?" in wording.answer_page(found, "", "bad").text
    )
    assert "of 4 comparisons" in wording.answer_page(found, "", "bad").text
    assert "right in both modes" in forced.answer_page(modes).text
    assert "answers after an error are right; the hardest is" in recovery.answer_page(failures).text
    assert "not told from chance" in wire_format.answer_page(wires).text


def test_a_protocol_that_a_model_was_not_played_over_is_named(wires: RunView) -> None:
    text = wire_format.played_page(wires, [*PROTOCOLS, "ollama_chat"]).text
    assert "no entry of this model speaks it" in text
    assert text.count("played") >= 3


def test_figures_are_objects_and_files_of_two_kinds(orders: RunView) -> None:
    page = keep(orders, tool_order.accuracy_page(orders), "accuracy")
    assert len(page.figures) == 1
    assert sorted(path.name for path in (orders.path / "figures").iterdir()) == [
        "accuracy-1.png",
        "accuracy-1.svg",
    ]
    assert "always_first_tool" in (orders.path / "figures" / "accuracy-1.svg").read_text()


def attempts(**decisions: list[str]) -> pd.DataFrame:
    """Return a frame as made by ``decided``: case → its decision in each repetition."""
    rows = [(case, case, one, one) for case, found in decisions.items() for one in found]
    return pd.DataFrame(rows, columns=["case_id", "scenario", "decision", "behaviour"])


def test_changes_are_held_against_those_between_repetitions_of_one_arm() -> None:
    left = attempts(a=["x", "x", "y"], b=["x", "x", "x"], only_left=["x"])
    right = attempts(a=["x", "y", "x"], b=["y", "y", "x"], only_right=["x"])
    found = changes(left, right)
    assert (found["cases"], found["clusters"], found["changed"]) == (2, 2, 1)
    # Of nine pairs of attempts, one of each arm: four of a differ and six of b.
    assert found["rate"] == pytest.approx((4 / 9 + 6 / 9) / 2)
    # Two of the three pairs of repetitions of a differ in both arms; of b none on the left, two on the right.
    assert found["chance"] == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert found["excess"] == pytest.approx(found["rate"] - found["chance"])
    assert changed_cases(left, right) == {"b"}


def test_a_player_that_draws_changes_no_more_between_arms_than_inside_them() -> None:
    rng = np.random.default_rng(8)
    rates, seen = rng.random(30), []
    for _ in range(60):
        arms = [
            attempts(
                **{f"c{i:02d}": list(rng.choice(["x", "y"], 3, p=[r, 1 - r])) for i, r in enumerate(rates)}
            )
            for _ in range(2)
        ]
        seen.append(changes(*arms))
    assert np.mean([found["excess"] for found in seen]) == pytest.approx(0, abs=0.02)
    assert np.mean([found["p"] < 0.05 for found in seen]) <= 0.12
    assert np.mean([found["rate"] for found in seen]) > 0.25


def test_without_repetitions_no_change_can_be_told_from_chance() -> None:
    found = changes(attempts(a=["x"], b=["x"]), attempts(a=["y"], b=["x"]))
    assert (found["rate"], found["changed"]) == (0.5, 1)
    assert np.isnan([found["chance"], found["p"]]).all()


def test_changes_of_nothing_have_no_rate() -> None:
    found = changes(attempts(a=["x"]), attempts(b=["x"]))
    assert found["cases"] == 0
    assert np.isnan(found["rate"])
    assert np.isnan(found["chance"])


def test_a_decision_names_tools_in_order_and_leaves_arguments_out() -> None:
    signature = json.dumps([["tool_call", [["a", "{}"], ["b", "{}"]]], ["text", []]])
    assert decision(signature) == "a+b → text"
    assert decision("[]") == "nothing"


def test_curves_end_at_the_metrics(played: Played) -> None:
    view = played(consistency.plan(), "repeated", repetitions=3)
    (arm,) = consistency.arms(view)
    curves = consistency.curves(view.at(view.attempts, arm), view.players)
    figures_of = view.at(view.metrics, arm)
    for player in view.players:
        mine = curves[curves["player"] == player]
        assert list(mine["k"]) == [1, 2, 3]
        assert mine["pass^k"].is_monotonic_decreasing
        for name in ("pass^k", "pass@k"):
            expected = of(figures_of, player=player, metric=name)["value"]
            assert mine[name].iloc[-1] == pytest.approx(expected)
    cases = consistency.by_case(view.at(view.attempts, arm))
    assert set(cases[cases["player"] == "keyword_router"]["distinct"]) == {1}
    modal = cases[cases["player"] == "random_tool"]["modal_share"].mean()
    assert modal == pytest.approx(of(figures_of, player="random_tool", metric="consistency")["value"])
    assert_shown(consistency.agreement_page(view), consistency.grid_page(view), consistency.curves_page(view))


def test_sampling_is_left_to_the_provider_and_one_repetition_is_no_question() -> None:
    model = ModelConfig("p", "m", "chat_completions", "http://127.0.0.1:9/v1")
    config = Config(runs=(model,), repetitions=1)
    made, _ = consistency.plan(0.7)(config, [])
    assert (made.runs[0].settings.temperature, made.runs[0].settings.seed, made.repetitions) == (0.7, None, 2)
    kept, _ = consistency.plan()(config, [])
    assert kept.runs[0].settings.temperature == 0.0


def test_bad_descriptions_hurt_the_player_that_reads_names(variants: RunView) -> None:
    found = wording.paired(variants, "descriptions", "", "bad")
    row = of(found.table, player="keyword_router", metric="pass_rate")
    assert row["delta"] < -0.5
    # Too few scenarios differ for an interval; where there is one, it must be below 0.
    assert not row["ci_high"] >= 0
    assert of(found.table, player="always_silent", metric="pass_rate")["delta"] == 0
    failing = wording.classes(found)
    router = failing[failing["player"] == "keyword_router"]
    assert router["newly_failing"].sum() == len(found.newly_failing) == 5
    assert "quote_missing_service" in wording.changed_page(found).text
    assert_shown(wording.effect_page(found, "", "bad"), wording.classes_page(found))


def test_what_was_worded_differently_is_shown_part_by_part(variants: RunView) -> None:
    page = wording.texts_page(variants, "descriptions", "", "bad")
    assert "get_order: name" in page.text
    assert "own wording" in page.text
    assert " t1" in page.text


def test_any_two_prompts_can_be_compared(played: Played) -> None:
    view = played(wording.plan("prompt", "", "short"), "prompts", repetitions=1)
    found = wording.paired(view, "prompt", "", "short")
    assert set(found.table["after"]) == {"prompt_short"}
    assert "{+" in wording.texts_page(view, "prompt", "", "short").text


def test_forced_and_automatic_attempts_stay_apart(modes: RunView) -> None:
    table = forced.outcomes(modes)
    assert set(table["outcome"]) <= set(forced.OUTCOMES)
    counts = table.groupby(["player", "mode"]).size()
    assert set(counts) == {8}
    assert of(forced.honoured(modes), player="always_silent")["called"] == 0
    assert of(forced.honoured(modes), player="random_tool")["called"] == 8
    router = table[(table["player"] == "keyword_router") & (table["mode"] == "forced")]["outcome"]
    assert dict(router.value_counts()) == {"exact": 6, "call missing": 2}


def test_a_player_that_knows_but_does_not_call_has_a_decision_problem(modes: RunView, tmp_path: Path) -> None:
    def shy(attempt: dict[str, Any]) -> dict[str, Any] | None:
        silent = attempt["turns"][0]["decision"]["kind"] == "text"
        return attempt if silent == (attempt["condition"] == "auto") else None

    def once(header: dict[str, Any]) -> dict[str, Any]:
        players = {player["model"]: player for player in header["players"]}
        runs = {run["model"]: run for run in header["config"]["runs"]}
        return {
            **header,
            "players": list(players.values()),
            "config": {**header["config"], "runs": list(runs.values())},
        }

    both = {"always_silent": "shy", "keyword_router": "shy"}
    view = RunView(renamed(modes.path, tmp_path / "shy", both, change=shy, header=once))
    row = of(forced.decision_or_knowledge(view), player="shy")
    assert (row["cases"], row["only forced"], row["neither"], row["both"]) == (4, 3, 1, 0)
    assert "get_order(" in forced.examples_page(view).text


def test_model_text_in_a_table_stays_text(modes: RunView) -> None:
    view = RunView(modes.path)
    view.calls = view.calls.assign(raw_arguments="<script>alert(1)</script>")
    page = forced.examples_page(view)
    assert "<script>" not in page.html
    assert "&lt;script&gt;" in page.html


def test_an_injected_fault_is_all_that_a_tool_answers() -> None:
    suite = injection.inject(delivery("en"), "timeout")
    assert suite.name == "delivery+timeout"
    assert injection.split(suite.name) == ("delivery", "timeout")
    assert {rule.tool for rule in suite.executor.rules} == set(suite.contract.by_name)
    assert all(case.starts_after_result and case.expect.recovery for case in suite.cases)
    assert type(suite).from_snapshot(suite.snapshot(), "test").cases == suite.cases
    with pytest.raises(Refusal, match="no fault 'flood'; there are: timeout"):
        injection.inject(suite, "flood")


def test_recovery_is_counted_by_error_code_and_hint(failures: RunView) -> None:
    table = recovery.by_code(failures)
    assert set(table["error_code"]) == {"TIMEOUT", "NOT_FOUND"}
    assert set(table["suite"]) == {"delivery"}
    for mode in recovery.MODES:
        assert of(table, player="keyword_router", error_code="TIMEOUT", mode=mode)["text"] == "6/6"
        assert of(table, player="always_silent", error_code="TIMEOUT", mode=mode)["text"] == "0/6"
    assert "hidden_tool_failure" in recovery.reactions_page(failures).text
    assert_shown(recovery.by_code_page(failures), recovery.paired_page(failures))


def test_a_provider_that_fails_after_an_error_is_no_wrong_answer(failures: RunView, tmp_path: Path) -> None:
    def outage(attempt: dict[str, Any]) -> dict[str, Any]:
        calls = attempt["calls"]
        return {**failed(attempt), "calls": calls} if attempt["suite"] == "delivery+timeout" else attempt

    view = RunView(renamed(failures.path, tmp_path / "outage", {"keyword_router": "m"}, change=outage))
    table = recovery.by_code(view)
    row = of(table, player="m", error_code="TIMEOUT", mode="without")
    assert (row["text"], row["answers"]) == ("err", 0)
    assert of(table, player="m", error_code="NOT_FOUND", mode="without")["text"] == "6/6"


def test_the_errors_of_the_suites_themselves_have_their_own_codes(played: Played) -> None:
    view = played(recovery.plan(), "scripted", tags=["core"], repetitions=1)
    codes = set(recovery.by_code(view)["error_code"])
    assert {"ORDER_NOT_FOUND", "ALREADY_SHIPPED", "ROUTE_UNAVAILABLE"} <= codes


def test_the_same_model_is_paired_over_its_protocols(wires: RunView) -> None:
    assert wire_format.models(wires) == {("sim", "sim-router"): list(PROTOCOLS)}
    found = wire_format.paired(wires)
    assert set(found.table["before"]) == {"chat_completions"}
    assert set(found.table["after"]) == {"responses", "messages"}
    assert set(found.table["player"]) == {"sim-router"}
    assert set(wire_format.flips(wires)["cases"]) == {9}
    assert_shown(wire_format.paired_page(wires), wire_format.flips_page(wires), spending.latency_page(wires))


def test_what_a_wire_drops_is_listed(wires: RunView) -> None:
    table = wire_format.losses(wires)
    assert of(table, protocol="messages", kind="not sent")["attempts"] == "9/9"
    assert "temperature" in of(table, protocol="messages", kind="not sent")["what"]
    assert "messages" in wire_format.losses_page(wires).text


def test_an_unknown_cost_is_said_and_not_drawn(wires: RunView) -> None:
    page = spending.cost_page(wires)
    assert "not known" in page.text
    assert "<img" not in page.html


def test_an_embedded_model_is_played_over_every_protocol() -> None:
    local = ModelConfig("embedded", "m", "chat_completions", "embedded:", profile="llama_cpp")
    remote = ModelConfig("remote", "m", "messages", "https://example.com/v1")
    made, _ = wire_format.plan()(Config(runs=(local, remote)), [])
    assert [run.protocol for run in made.runs] == [*PROTOCOLS, "messages"]
    assert [run.profile for run in made.runs] == ["llama_cpp", None, None, None]
    with pytest.raises(Refusal, match="no model is configured over two protocols"):
        wire_format.plan()(Config(runs=(remote,)), [])


REFUSALS: dict[str, Callable[[RunView], object]] = {
    "tool order": tool_order.accuracy,
    "first position": first_tool.first_position,
    "consistency": consistency.agreement_page,
    "descriptions": lambda view: wording.paired(view, "descriptions", "", "bad"),
    "prompt": lambda view: wording.paired(view, "prompt", "", "short"),
    "forced choice": forced.outcomes,
    "recovery": recovery.by_code,
    "wire format": wire_format.paired,
}


@pytest.mark.parametrize("question", REFUSALS)
def test_a_run_without_the_conditions_is_refused_in_one_line(
    failures: RunView, question: str, played: Played
) -> None:
    view = failures if question != "recovery" else played(forced.plan(), "no_hints_here", repetitions=1)
    with pytest.raises(Refusal) as refusal:
        REFUSALS[question](view)
    assert "\n" not in str(refusal.value)
    assert "Leave run empty" in str(refusal.value)
    assert refusal.value._render_traceback_() == [f"Not possible: {refusal.value}"]


def test_two_equal_variants_and_unknown_fields_are_refused(variants: RunView) -> None:
    with pytest.raises(Refusal, match="choose two different ones"):
        wording.paired(variants, "descriptions", "bad", "bad")
    with pytest.raises(Refusal, match="choose descriptions or prompt"):
        wording.plan("weather")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "arguments", [{"run": "nowhere"}, {"config": "nowhere.json", "output": "x"}], ids=["run", "config"]
)
def test_what_cannot_be_opened_is_refused(arguments: dict[str, str]) -> None:
    with pytest.raises(Refusal, match="nowhere"):
        asyncio.run(open_run(tool_order.plan(), **arguments))


def test_a_run_that_is_there_is_continued_and_not_repeated(orders: RunView, played: Played) -> None:
    before = orders.scored.log.path.read_bytes()
    root = orders.path.parent
    settings = {"config": str(root / "config.json"), "output": str(orders.path)}
    again = asyncio.run(open_run(tool_order.plan(), **settings, tags=["base"], langs=["en"]))
    added = again.scored.log.path.read_bytes().removeprefix(before)
    assert [json.loads(line)["type"] for line in added.splitlines()] in ([], ["resumed"])
    with pytest.raises(Refusal, match="cannot be resumed"):
        asyncio.run(open_run(tool_order.plan(), **settings, tags=["core"], langs=["en"]))


def test_the_overview_carries_the_signatures(orders: RunView) -> None:
    text = overview(orders).text
    assert text.count("suite:delivery|") == 4
    assert "tool_order=reversed" in text


def texts(fig: Any) -> list[str]:
    return [text.get_text() for axes in fig.axes for text in axes.texts]


def test_figures_say_err_and_dash_where_nothing_was_scored() -> None:
    shares = pd.DataFrame(
        {
            "player": ["a", "a", "b", "c"],
            "order": ["canonical", "reversed", "canonical", "canonical"],
            "share": [0.5, 0.25, np.nan, np.nan],
            "text": ["–", "–", "err", "–"],
        }
    )
    assert texts(charts.order_ticks(shares, "canonical")) == ["err", "–"]
    pairs = pd.DataFrame(
        [["a", 0.5, 0.25, -0.25, -0.5, 0.0], ["b", *[np.nan] * 5]],
        columns=["player", "left", "right", "delta", "ci_low", "ci_high"],
    )
    assert texts(charts.slopes(pairs, "before", "after")) == ["–"]
    points = pd.DataFrame(
        [["a", "s", 0.5, 0.1, 0.9, "1/2"], ["b", "s", *[np.nan] * 3, "err"]],
        columns=["label", "series", "value", "low", "high", "text"],
    )
    assert texts(charts.dots(points, ["s"], "share", (0, 1))) == ["1/2", "err"]
    bars = pd.DataFrame({"label": ["a", "b"], "exact": [2, 0], "no call": [1, 0]})
    assert texts(charts.stacked(bars, ["exact", "no call"])) == ["2", "1", "–"]


def test_parts_of_a_bar_differ_in_hatch_as_well_as_in_colour() -> None:
    bars = pd.DataFrame({"label": ["a"], **{name: [1] for name in forced.OUTCOMES}})
    patches = charts.stacked(bars, forced.OUTCOMES).axes[0].patches
    hatches = [patch.get_hatch() for patch in patches]  # type: ignore[attr-defined]
    assert len(set(hatches)) == len(forced.OUTCOMES)


def assert_shown(*pages: Page) -> None:
    """Every image has words for those who do not see it, and nothing is drawn from elsewhere."""
    for page in pages:
        images = page.html.count("<img")
        assert page.html.count('<img alt="') == images
        assert page.html.count('src="data:image/png;base64,') == images
        assert 'alt=""' not in page.html


def test_every_picture_has_a_text_alternative(orders: RunView, modes: RunView) -> None:
    shown = [tool_order.accuracy_page(orders), first_tool.first_position_page(orders)]
    shown += [forced.outcomes_page(modes), forced.honoured_page(modes), forced.paired_page(modes)]
    assert_shown(*shown)
    assert "always_first_tool reversed 0 % (0/18)" in shown[0].text


def test_the_frames_hold_what_the_log_says(orders: RunView) -> None:
    scored = load_run(orders.path).attempts
    assert len(orders.attempts) == len(scored) == 4 * 9 * 4 * 2
