"""Conditions that decide what is on offer and how a model may choose, from configuration to figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support import entry, play
from tests.support import delivery, make_case
from toolbench.domain.condition import BUILT_IN_CONDITIONS, Condition
from toolbench.domain.config import Config
from toolbench.domain.record import Attempt
from toolbench.domain.suite import Suite
from toolbench.errors import ConfigError
from toolbench.numbers.frames import load_run
from toolbench.numbers.metrics import metrics
from toolbench.numbers.signature import signature
from toolbench.running.distractors import crowded
from toolbench.simulator import Simulator

ORDER = {"tool": "get_order", "arguments": {"order_id": "ORD-123456"}}
LOOKUP = make_case(id="lookup", user="Where is ORD-123456?", expect={"kind": "tool_call", "calls": [ORDER]})
NARROW = make_case(
    id="narrow",
    user="Where is ORD-123456?",
    tools=["get_order"],
    expect={"kind": "tool_call", "calls": [ORDER]},
)
CHAT = make_case(id="chat", user="Hello!", expect={"kind": "text"})
SUITE = delivery().keep([LOOKUP, NARROW, CHAT])

SCRIPT: dict[str, Any] = {
    "models": {},
    "rules": [
        {"when": {"after_tool_result": True}, "then": {"text": "It says: $result"}},
        {
            "when": {"user_matches": r"(?P<order>ORD-\d{6})", "tool_offered": "get_order"},
            "then": {"calls": [{"name": "get_order", "arguments": {"order_id": "$order"}}]},
        },
        {"then": {"text": "Hello."}},
    ],
}
FORCING = {
    "chat_completions": {"type": "function", "function": {"name": "get_order"}},
    "responses": {"type": "function", "name": "get_order"},
    "messages": {"type": "tool", "name": "get_order"},
    "generate_content": {"mode": "ANY", "allowedFunctionNames": ["get_order"]},
}
"""Protocol → how it says that one tool has to be called."""


def run(folder: Path, protocol: str, condition: Mapping[str, Any], **more: Any) -> list[Attempt]:
    with Simulator(SCRIPT) as sim:
        return play(folder, [SUITE], [entry(sim, protocol, **more)], conditions=[condition])


def choice_sent(attempt: Attempt) -> Any:
    return attempt.turns[0].settings["tool_choice"]["sent"]


@pytest.mark.parametrize("protocol", FORCING)
def test_a_named_choice_forces_the_cases_tool_and_ends_with_its_call(tmp_path: Path, protocol: str) -> None:
    attempts = run(tmp_path / "r", protocol, {"name": "named"})
    assert {attempt.case_id for attempt in attempts} == {"lookup", "narrow"}
    for attempt in attempts:
        assert (attempt.status, attempt.stop, len(attempt.turns)) == ("ok", "called", 1), attempt.error
        assert choice_sent(attempt) == FORCING[protocol]
        assert [call.states[-1] for call in attempt.calls] == ["executed"]


def test_a_named_choice_has_figures_of_arguments_and_no_others(tmp_path: Path) -> None:
    run(tmp_path / "r", "chat_completions", {"name": "named"})
    scored = load_run(tmp_path / "r")
    table = metrics(scored.attempts, (), scored.planned).set_index("metric")
    shown = table[table["denominator"] > 0].index
    assert {"raw_schema_validity", "exact_argument_accuracy", "normalized_argument_accuracy"} <= set(shown)
    judged = {"pass_rate", "decision_accuracy", "tool_selection_accuracy", "tool_precision", "tool_recall"}
    beside = {"order_validity", "unsafe_call_rate", "completion_rate", "final_answer_support"}
    assert not (judged | beside) & set(shown)
    assert table.loc[list(judged | beside), ["value", "numerator"]].fillna(0).to_numpy().sum() == 0
    assert table.loc["exact_argument_accuracy", "value"] == 1
    assert scored.findings.empty


@pytest.mark.parametrize("protocol", ["ollama_chat", "messages"])
def test_a_forced_choice_that_cannot_be_sent_is_in_no_figure(tmp_path: Path, protocol: str) -> None:
    more = {"messages": {"model": "sim-claude-no-forced"}}.get(protocol, {})
    attempts = run(tmp_path / "r", protocol, {"name": "named"}, **more)
    assert {attempt.status for attempt in attempts} == {"unsupported"}
    scored = load_run(tmp_path / "r")
    assert not scored.attempts["scored"].any()


@pytest.mark.parametrize("profile", ["glm", "minimax", "ollama_v1", "deepseek"])
def test_dialects_known_to_ignore_or_refuse_a_named_choice_are_not_asked(
    tmp_path: Path, profile: str
) -> None:
    attempts = run(tmp_path / "r", "chat_completions", {"name": "named"}, profile=profile)
    assert {attempt.status for attempt in attempts} == {"unsupported"}
    assert all(attempt.stop.startswith("forced_choice_") and not attempt.turns for attempt in attempts)


@pytest.mark.parametrize(
    ("protocol", "state"),
    [
        ("chat_completions", "ok"),
        ("responses", "ok"),
        ("generate_content", "ok"),
        ("messages", "unsupported"),
        ("ollama_chat", "unsupported"),
    ],
)
def test_allowed_tools_show_the_whole_contract_and_let_the_cases_own_be_called(
    tmp_path: Path, protocol: str, state: str
) -> None:
    attempts = run(tmp_path / "r", protocol, {"name": "a", "tool_choice": "allowed"})
    assert {attempt.status for attempt in attempts} == {state}
    for attempt in attempts:
        if attempt.turns and attempt.case_id == "narrow":
            body = attempt.turns[0].request["body"]
            assert len(body["tools"][0].get("functionDeclarations", body["tools"])) == 3
            assert "get_order" in str(choice_sent(attempt))
            assert "create_delivery" not in str(choice_sent(attempt))


def test_a_call_outside_the_allowed_tools_is_not_carried_out(tmp_path: Path) -> None:
    stray = {"models": {}, "rules": [{"then": {"calls": [{"name": "calculate_delivery", "arguments": {}}]}}]}
    with Simulator(stray) as sim:
        allowed = {"name": "a", "tool_choice": "allowed", "cases": {"ids": ["narrow"]}}
        (attempt,) = play(
            tmp_path / "r", [SUITE], [entry(sim, "chat_completions")], conditions=[allowed], loop_limit=1
        )
    assert attempt.turns[0].settings["tool_choice"]["honoured"] is False
    assert attempt.calls[0].rejection == "UNKNOWN_TOOL"


@pytest.mark.parametrize(
    ("protocol", "where"),
    [
        ("chat_completions", ("parallel_tool_calls", False)),
        ("responses", ("parallel_tool_calls", False)),
        ("messages", ("tool_choice", {"type": "auto", "disable_parallel_tool_use": True})),
    ],
)
def test_parallel_calls_can_be_switched_off_by_a_condition(
    tmp_path: Path, protocol: str, where: tuple[str, Any]
) -> None:
    attempts = run(tmp_path / "r", protocol, {"name": "one_at_a_time"})
    field, value = where
    for attempt in attempts:
        assert attempt.status == "ok"
        assert attempt.turns[0].request["body"][field] == value
        assert attempt.turns[0].settings["parallel_tool_calls"]["asked"] is False


@pytest.mark.parametrize("protocol", ["ollama_chat", "generate_content"])
@pytest.mark.parametrize("parallel", [True, False])
def test_a_wire_without_a_switch_for_parallel_calls_is_unsupported(
    tmp_path: Path, protocol: str, parallel: bool
) -> None:
    attempts = run(tmp_path / "r", protocol, {"name": "p", "parallel_tool_calls": parallel})
    assert {(attempt.status, attempt.stop) for attempt in attempts} == {
        ("unsupported", "parallel_switch_unsupported")
    }


def test_calls_that_have_to_come_at_once_are_not_asked_for_one_at_a_time() -> None:
    both = make_case(
        id="both",
        user="Both, please.",
        expect={"kind": "tool_call", "calls": [ORDER], "parallel": "required"},
    )
    assert not BUILT_IN_CONDITIONS["one_at_a_time"].admits(both)
    assert BUILT_IN_CONDITIONS["auto"].admits(both)


def offered(attempt: Attempt) -> list[str]:
    tools: Sequence[Mapping[str, Any]] = attempt.turns[0].request["body"]["tools"]
    return [tool["function"]["name"] for tool in tools]


def test_tools_of_other_suites_fill_an_offer_up_and_are_no_unknown_tools(tmp_path: Path) -> None:
    conditions = [{"name": f"n{number}", "tools_on_offer": number} for number in (3, 6, 12)]
    with Simulator(SCRIPT) as sim:
        attempts = play(
            tmp_path / "r", [SUITE], [entry(sim, "chat_completions")], conditions=conditions, repetitions=2
        )
    by_number: dict[tuple[str, str], list[list[str]]] = {}
    for attempt in attempts:
        assert attempt.status == "ok"
        assert len(offered(attempt)) == int(attempt.condition[1:])
        by_number.setdefault((attempt.case_id, attempt.condition), []).append(offered(attempt))
    assert all(first == second for first, second in by_number.values()), "every repetition sees the same"
    few, more = (set(by_number["lookup", name][0]) for name in ("n6", "n12"))
    assert few < more
    places = {tuple(names[0].index("get_order") for (_, n), names in by_number.items() if n == "n12")}
    assert places != {(0, 0, 0)}, "the own tools do not always stand first"
    # The own tools keep their order.
    own = [name for name in by_number["lookup", "n12"][0] if name in SUITE.contract.by_name]
    assert own == [tool.name for tool in SUITE.contract.tools]
    scored = load_run(tmp_path / "r")
    assert scored.attempts.loc[scored.attempts["case_id"] == "lookup", "selection_right"].eq(1).all()
    assert "tools_on_offer=12,distractors@" in str(signature(scored.log.header, {"condition": "n12"}))


def test_calling_a_tool_of_another_suite_is_a_wrong_choice_of_a_known_tool(tmp_path: Path) -> None:
    crowd = crowded(
        Config(runs=(), conditions=(Condition("c", tools_on_offer=12),)), SUITE
    ).contract.distractors
    name = crowd[0].name
    stray = {
        "models": {},
        "rules": [
            {"when": {"after_tool_result": True}, "then": {"text": "Sorry."}},
            {"then": {"calls": [{"name": name, "arguments": {}}]}},
        ],
    }
    with Simulator(stray) as sim:
        play(
            tmp_path / "r",
            [SUITE.keep([LOOKUP])],
            [entry(sim, "chat_completions")],
            conditions=[{"name": "c", "tools_on_offer": 12}],
        )
    codes = set(load_run(tmp_path / "r").findings["code"])
    assert "wrong_tool" in codes
    assert "unknown_tool" not in codes


@pytest.mark.parametrize(
    ("number", "said"), [(2, "has 3 tools of its own"), (900, "tools of other suites and")]
)
def test_a_number_that_cannot_be_offered_is_refused_before_the_run(number: int, said: str) -> None:
    config = Config(runs=(), conditions=(Condition("c", tools_on_offer=number),))
    with pytest.raises(ConfigError, match=said):
        crowded(config, SUITE)


def test_every_built_in_condition_is_in_the_readme() -> None:
    told = Path("README.md").read_text("utf-8")
    assert [name for name in BUILT_IN_CONDITIONS if f"| `{name}` |" not in told] == []


def test_a_suite_keeps_its_distractors_in_the_log() -> None:
    config = Config(runs=(), conditions=(BUILT_IN_CONDITIONS["many_tools"],))
    suite = crowded(config, SUITE)
    again = Suite.from_snapshot(suite.snapshot(), "test")
    assert again.contract.distractors == suite.contract.distractors != ()
    assert again.hashes == suite.hashes != SUITE.hashes
