import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support import delivery
from toolbench.cli import main
from toolbench.domain.config import Config
from toolbench.domain.log import LOG_NAME, RunLog
from toolbench.running.reparse import reparse
from toolbench.running.runner import run_matrix_sync
from toolbench.simulator import Simulator

PROTOCOLS = ["chat_completions", "responses", "messages", "ollama_chat", "generate_content"]


def played(tmp_path: Path, protocol: str, stream: bool) -> Path:
    suite = delivery("en")
    cases = [case for case in suite.cases if "base" in case.tags]
    with Simulator() as simulator:
        entry = {
            "provider": "sim",
            "model": "sim-router",
            "protocol": protocol,
            "base_url": simulator.base_url(protocol),
            "api_key_env": "SIM_KEY",
        }
        config = Config.from_json(
            {
                "runs": [entry],
                "baselines": ["keyword_router"],
                "repetitions": 1,
                "defaults": {"stream": stream},
            },
            "test",
        )
        summary = run_matrix_sync(config, [suite.keep(cases)], tmp_path / "run")
    assert summary.complete
    return tmp_path / "run"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_same_parser_reads_the_same_decisions_from_raw_responses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str, stream: bool
) -> None:
    monkeypatch.setenv("SIM_KEY", "any-key-will-do")
    run = played(tmp_path, protocol, stream)
    assert list(reparse(RunLog.open(run))) == []
    assert {a.provider for a in RunLog.open(run).attempts} == {"baseline", "sim"}


def test_what_another_parser_would_have_recorded_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIM_KEY", "any-key-will-do")
    run = played(tmp_path, "chat_completions", False)
    lines = (run / LOG_NAME).read_text().split("\n")[:-1]
    record = json.loads(lines[-1])
    record["turns"][0]["decision"]["text"] = "something else"
    (run / LOG_NAME).write_text("\n".join([*lines[:-1], json.dumps(record)]) + "\n")
    (difference,) = reparse(RunLog.open(run))
    assert (difference.field, difference.recorded, difference.turn) == ("text", "something else", 0)
    result = CliRunner().invoke(main, ["score", str(run), "--reparse"])
    assert result.exit_code == 1
    assert "1 difference between" in result.output


def test_an_unreadable_response_is_a_difference_not_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIM_KEY", "any-key-will-do")
    run = played(tmp_path, "chat_completions", False)
    lines = (run / LOG_NAME).read_text().split("\n")[:-1]
    record = json.loads(lines[-1])
    record["turns"][0]["response"]["text"] = "<html>"
    (run / LOG_NAME).write_text("\n".join([*lines[:-1], json.dumps(record)]) + "\n")
    (difference,) = reparse(RunLog.open(run))
    assert difference.field == "kind"
