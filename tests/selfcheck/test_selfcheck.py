"""The selfcheck: green on what is shipped, and red for every kind of fault it exists for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.judging.suites import ROOT, SUITES
from toolbench.adapters import ADAPTERS, samples
from toolbench.adapters.chat_completions import ChatCompletions
from toolbench.adapters.messages import Messages
from toolbench.adapters.ollama_chat import OllamaChat
from toolbench.adapters.responses import Responses
from toolbench.adapters.wire import Request
from toolbench.domain.contract import ToolSpec
from toolbench.errors import SuiteError
from toolbench.selfcheck import judge_checks, traces, wire_checks
from toolbench.selfcheck.contents import sampled, selfcheck
from toolbench.selfcheck.schema_diff import differences, sent_tools
from toolbench.selfcheck.section import SHOWN, Section

STUDIO = SUITES["studio"]
COURSE = SUITES["course"]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one suite: the whole takes seconds, and the parts are tested apart."""
    folder = tmp_path_factory.mktemp("root")
    (folder / "contracts").mkdir()
    (folder / "cases").mkdir()
    (folder / "contracts/reschedule").symlink_to(ROOT / "contracts/reschedule")
    for file in (ROOT / "cases").glob("reschedule.*.jsonl"):
        (folder / "cases" / file.name).symlink_to(file)
    return folder


def test_everything_shipped_is_in_order_and_the_result_is_text_and_json(root: Path) -> None:
    result = selfcheck(root)
    assert result.ok, result.text()
    assert result.suites == ("reschedule", "studio")
    data = json.loads(json.dumps(result.to_json()))
    assert data["ok"] is True
    assert list(data["sections"]) == [
        "adapter_fixtures",
        "sent_schemas",
        "no_tools_control",
        "second_turns",
        "validator_mutations",
        "broken_traces",
        "perfect_player",
        "mutation_score",
        "false_alarm_rate",
        "labelled_replies",
    ]
    assert data["sections"]["mutation_score"]["figures"]["score"] == 1
    assert data["sections"]["false_alarm_rate"]["figures"]["rate"] == 0
    assert "one case of every class" in data["sections"]["mutation_score"]["figures"]["sample"]
    text = result.text()
    assert "mutation score 100.00%" in text
    assert "false-alarm rate 0.00%" in text
    assert text.splitlines()[-1].startswith("selfcheck of reschedule, studio: all sections ok in ")


def test_a_folder_without_suites_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="no contracts/"):
        selfcheck(tmp_path)


def test_the_sample_has_every_class_and_every_language() -> None:
    chosen = sampled(COURSE.cases)
    assert {case.klass for case in chosen} == {case.klass for case in COURSE.cases}
    assert {case.lang for case in chosen} == {"en", "ru"}
    assert len(chosen) == len({case.klass for case in COURSE.cases})


def test_a_check_that_examined_nothing_has_failed() -> None:
    assert not Section("empty", "nothing", 0, []).ok
    assert not judge_checks.breakage_score([], "none").ok
    assert not judge_checks.validator_mutations([]).ok


def test_text_shows_some_faults_and_counts_the_rest() -> None:
    section = Section("many", "faults", 1, [f"fault {number}" for number in range(SHOWN + 5)])
    lines = section.lines()
    assert lines[0].startswith("FAIL many")
    assert lines[-1].endswith("and 5 more (--json lists all)")
    assert len(section.to_json()["faults"]) == SHOWN + 5


def test_a_fixture_that_is_read_wrongly_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    read = ChatCompletions.parse_decision

    def deaf(self: Any, response: Any, request: Any, offer: Any) -> Any:
        return replace(read(self, response, request, offer), calls=())

    monkeypatch.setattr(ChatCompletions, "parse_decision", deaf)
    section = wire_checks.adapter_fixtures()
    assert not section.ok
    assert any(fault.startswith("chat_completions/one_call: decision.calls") for fault in section.faults)
    control = wire_checks.no_tools_control([STUDIO])
    assert "chat_completions: a call that nobody can have made disappears" in control.faults


def test_a_protocol_without_one_of_the_fixtures_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    known = samples.samples("messages")
    fewer = [sample for sample in known if sample.name != "truncated"]
    monkeypatch.setattr(wire_checks, "samples", lambda protocol: fewer if protocol == "messages" else known)
    assert "messages: no fixture named truncated" in wire_checks.adapter_fixtures().faults


@pytest.mark.parametrize("protocol", ADAPTERS)
def test_a_loss_without_a_name_is_reported(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    build = type(ADAPTERS[protocol]).build_request

    def careless(self: Any, model: Any, messages: Any, offer: Any) -> Request:
        request = build(self, model, messages, offer)
        for tool in sent_tools(request.body):
            for schema in tool.schema.get("properties", {}).values():
                schema.pop("description", None)
                schema.pop("enum", None)
        return request

    monkeypatch.setattr(type(ADAPTERS[protocol]), "build_request", careless)
    section = wire_checks.sent_schemas([STUDIO])
    own = [fault for fault in section.faults if fault.startswith(protocol)]
    assert any("charge_card: $.properties.currency.enum is gone" in fault for fault in own)
    assert any("$.properties.invoice_id.description is gone" in fault for fault in own)


TOOL = ToolSpec(
    "look",
    {"": "Looks."},
    {
        "type": "object",
        "properties": {"city": {"type": "string", "pattern": "^[a-z]+$"}, "days": {"type": "integer"}},
        "required": ["city"],
        "additionalProperties": False,
    },
)


def request_with(description: str = "Looks.", losses: tuple[str, ...] = (), **schema: Any) -> Request:
    sent = {"name": "look", "description": description, "parameters": {**TOOL.parameters, **schema}}
    return Request("/x", {"tools": [{"type": "function", "function": sent}]}, losses=losses)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        pytest.param(request_with(), [], id="equal"),
        pytest.param(request_with("Look."), ["look: description became 'Look.'"], id="description"),
        pytest.param(
            request_with(additionalProperties=True), ["look: $.additionalProperties became true"], id="open"
        ),
        pytest.param(
            request_with(required=["city", "days"]),
            ["look: $.properties.days became required"],
            id="required",
        ),
        pytest.param(
            request_with(required=[]), ["look: $.properties.city is no longer required"], id="not-required"
        ),
        pytest.param(
            request_with(properties={"city": {"type": "string"}, "days": {"type": "integer"}}),
            ["look: $.properties.city.pattern is gone"],
            id="pattern",
        ),
        pytest.param(
            request_with(properties={"city": TOOL.properties["city"]}),
            ["look: $.properties.days is gone"],
            id="property",
        ),
        pytest.param(request_with(title="T"), ['look: $.title was added: "T"'], id="added"),
        pytest.param(Request("/x", {}), ["look: $ was not sent"], id="no-tool"),
    ],
)
def test_every_field_that_differs_is_found(request_: Request, expected: list[str]) -> None:
    assert [str(found) for found in differences(request_, (TOOL,), "en")] == expected


def test_a_loss_names_its_field_or_the_value_it_belongs_to() -> None:
    (found,) = differences(request_with(required=["city", "days"]), (TOOL,), "en")
    assert found.named_by(("look: $.properties.days became required and nullable in strict mode",))
    assert not found.named_by(("look: $.properties.city became required",))
    assert not found.named_by(("other: $.properties.days became required",))
    (deep,) = differences(
        request_with(properties={**TOOL.properties, "days": {"type": ["integer", "null"]}}), (TOOL,), "en"
    )
    assert deep.field == "$.properties.days.type"
    assert deep.named_by(("look: $.properties.days became required and nullable in strict mode",))


def test_tools_left_in_a_request_without_tools_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    build = Messages.build_request

    def stubborn(self: Any, model: Any, messages: Any, offer: Any) -> Request:
        request = build(self, model, messages, offer)
        return replace(request, body={**request.body, "tool_choice": {"type": "auto"}})

    monkeypatch.setattr(Messages, "build_request", stubborn)
    section = wire_checks.no_tools_control([STUDIO])
    assert any("the request has 'tool_choice'" in fault for fault in section.faults)


def test_a_judge_that_ignores_calls_without_tools_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    from toolbench.judging import score

    monkeypatch.setattr(score, "check_decision", lambda *_: iter(()))
    faults = wire_checks.no_tools_control([STUDIO]).faults
    assert faults == ["studio/amount: a call without tools is not flagged"]


@pytest.mark.parametrize(
    ("adapter", "change", "fault"),
    [
        pytest.param(ChatCompletions, lambda r: r[::-1], "results answer", id="wrong-order"),
        pytest.param(Responses, lambda r: r[:1], "1 entries for the results of 2 calls", id="one-left-out"),
        pytest.param(
            OllamaChat,
            lambda r: [(call, replace(result, is_error=False)) for call, result in r],
            "results read",
            id="error-hidden",
        ),
    ],
)
def test_results_in_the_wrong_place_are_reported(
    adapter: type, change: Any, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = adapter.append_tool_results  # type: ignore[attr-defined]
    monkeypatch.setattr(adapter, "append_tool_results", lambda self, m, r: append(self, m, change(r)))
    assert any(fault in one for one in wire_checks.second_turns().faults)


def test_messages_with_one_user_message_a_result_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    append = Messages.append_tool_results

    def apart(self: Any, messages: Any, results: Any) -> Any:
        silent = [messages[0], {"role": "assistant", "content": []}]
        return [*messages, *(append(self, silent, [pair])[-1] for pair in results)]

    monkeypatch.setattr(Messages, "append_tool_results", apart)
    faults = wire_checks.second_turns().faults
    assert "messages: 2 entries for the results of 2 calls" in faults


def test_an_unknown_protocol_has_no_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    from toolbench.selfcheck.second_turn import second_turn_faults

    sample = next(s for s in samples.samples("messages") if s.name == "several_calls")
    assert list(second_turn_faults("telegraph", sample)) == ["no shape is known for this protocol"]


def test_a_validator_that_mixes_up_two_faults_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    from toolbench.domain import contract, validation

    monkeypatch.setitem(validation.CODE_OF_KEYWORD, "maximum", "wrong_type")
    # Faults of arguments are kept; a mixed-up validator must not live on that, nor leave anything behind.
    contract._issues.cache_clear()
    try:
        faults = judge_checks.validator_mutations([STUDIO]).faults
    finally:
        contract._issues.cache_clear()
    assert "studio/book_slot: above_maximum at $.guests: ['out_of_range'] due, got ['wrong_type']" in faults


def test_a_trace_that_is_explained_differently_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = replace(traces.broken_traces()[0], codes=frozenset({"missing_required"}))
    monkeypatch.setattr(judge_checks, "broken_traces", lambda: [trace])
    assert judge_checks.broken_conversations().faults == [
        f"wrong_type ({trace.why}): missing_required due, got wrong_type"
    ]


def test_a_finding_about_the_perfect_player_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    play = judge_checks.rehearse
    monkeypatch.setattr(
        judge_checks, "rehearse", lambda suite, case, script, c: play(suite, case, [script[0], *script], c)
    )
    faults = judge_checks.perfect_player([STUDIO]).faults
    assert any(fault.startswith("studio/en/amount (auto): repeated_call") for fault in faults)
    assert any("order_validity is" in fault for fault in faults)
