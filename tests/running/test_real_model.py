"""The whole way on a real model: our adapters against the real llama.cpp server, over three protocols.

What a small model says is not asserted, only what holds whatever it says.
"""

import json
from pathlib import Path

import pytest

from tests.support import delivery, make_case
from toolbench.domain.config import Config
from toolbench.domain.log import RunLog
from toolbench.numbers.frames import load_run
from toolbench.running.runner import run_matrix_sync

pytestmark = pytest.mark.local_model


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("protocol", ["chat_completions", "responses", "messages"])
def test_tools_second_turn_and_streaming_on_every_protocol_of_the_server(
    smollm2: str, tmp_path: Path, protocol: str, stream: bool
) -> None:
    suite = delivery("en")
    lookup = make_case(
        id="lookup",
        user="Where is order ORD-123456?",
        tools=["get_order"],
        expect={
            "kind": "tool_call",
            "calls": [{"tool": "get_order", "arguments": {"order_id": "ORD-123456"}}],
        },
    )
    frozen = next(case for case in suite.cases if case.id == "after_not_found.wording-1")
    entry = {"provider": "embedded", "model": smollm2, "protocol": protocol, "base_url": "embedded:"}
    config = Config.from_json(
        {
            "runs": [entry],
            "baselines": [],
            "repetitions": 1,
            "conditions": [{"name": "auto", "cases": {"ids": [frozen.id]}}, "forced"],
            "loop_limit": 1,
            "defaults": {"max_output_tokens": 80, "stream": stream, "parallel_tool_calls": False},
        },
        "test",
    )
    summary = run_matrix_sync(config, [suite.keep([lookup, frozen])], tmp_path / "run")
    assert summary.complete
    attempts = {(a.condition, a.case_id): a for a in RunLog.open(tmp_path / "run").attempts}
    assert len(attempts) == 2
    forced = attempts["forced", "lookup"]
    decision = forced.turns[0].decision
    assert decision.kind == "tool_call", forced.turns[0].response["text"]
    assert decision.calls[0].name in suite.contract.by_name
    assert suite.contract.by_name[decision.calls[0].name].issues(decision.calls[0].arguments) == []
    assert forced.turns[0].settings["tool_choice"]["asked"] == "required"
    assert forced.turns[0].settings["tool_choice"]["honoured"] is True
    assert len(forced.turns) == 2
    assert decision.calls[0].id in json.dumps(forced.turns[1].request["body"])
    for attempt in attempts.values():
        for turn in attempt.turns:
            assert turn.response["text"]
            assert turn.decision.usage.output is not None
            assert turn.decision.returned_model == smollm2
            assert (turn.first_token_ms is not None) is stream
    scored = load_run(tmp_path / "run")
    assert scored.missing == 0
    assert scored.attempts["scored"].all()
