"""A run in which nothing can be played as it was asked for: said, with the remedy, and not a success."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from toolbench.cli import main
from toolbench.domain.log import RunLog

MODEL = {"provider": "p", "protocol": "ollama_chat", "model": "sim-ollama", "base_url": "simulator:"}


def run(folder: Path, **config: Any) -> tuple[int, str]:
    """Run a configuration and return exit code and everything printed."""
    path = folder / "config.json"
    plain = {"runs": [MODEL], "baselines": [], "suites": ["delivery"], "repetitions": 1, **config}
    path.write_text(json.dumps({**plain, "cases": {"langs": ["en"], "ids": ["direct_lookup"]}}))
    done = CliRunner().invoke(main, ["run", "--config", str(path), "--output", str(folder / "run")])
    return done.exit_code, done.output + done.stderr


def test_a_run_of_nothing_but_unsupported_attempts_is_no_success(tmp_path: Path) -> None:
    code, told = run(tmp_path, conditions=["forced"])
    assert code == 1
    assert "every attempt of a model is unsupported" in told
    assert "1 attempt of p/sim-ollama/ollama_chat under forced unsupported" in told
    assert "leave forcing conditions out for this model" in told
    assert {attempt.status for attempt in RunLog.open(tmp_path / "run").attempts} == {"unsupported"}


def test_baselines_that_play_make_it_no_success_either(tmp_path: Path) -> None:
    code, told = run(tmp_path, conditions=["forced"], baselines=["always_silent"])
    assert code == 1
    assert "nothing was played" in told


def test_a_run_with_something_to_show_succeeds_and_names_the_rest(tmp_path: Path) -> None:
    code, told = run(tmp_path, conditions=["auto", "forced"])
    assert code == 0
    assert "1 unsupported" in told
    assert "nothing was played" not in told


def test_a_resumed_run_of_unsupported_attempts_stays_what_it_is(tmp_path: Path) -> None:
    run(tmp_path, conditions=["forced"])
    arguments = ["run", "--config", str(tmp_path / "config.json"), "--output", str(tmp_path / "run")]
    done = CliRunner().invoke(main, [*arguments, "--resume"])
    assert done.exit_code == 1


@pytest.mark.parametrize("conditions", [["forced"], ["auto", "forced"]])
def test_unsupported_attempts_are_a_column_of_the_score(tmp_path: Path, conditions: list[str]) -> None:
    run(tmp_path, conditions=conditions)
    told = CliRunner().invoke(main, ["score", str(tmp_path / "run")]).output
    forced = told[told.index("delivery · en · forced") :]
    assert forced.splitlines()[1].split()[:3] == ["player", "scored", "unsupported"]
    assert forced.splitlines()[2].split()[:3] == ["sim-ollama", "0", "1"]
    if "auto" in conditions:
        auto = told[: told.index("delivery · en · forced")]
        assert "unsupported" not in auto


def test_a_schema_that_a_wire_cannot_carry_is_refused_before_the_first_request_and_others_play(
    tmp_path: Path,
) -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    walk = {"type": "object", "properties": {"at": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}}
    entry = {"name": "walk", "description": "Walks a chain.", "effect": "read", "parameters": walk}
    tools = {"version": "1", "tools": [entry]}
    folder = tmp_path / "contracts" / "chain"
    folder.mkdir(parents=True)
    (folder / "tools.json").write_text(json.dumps(tools))
    (folder / "prompt.en.md").write_text("Be brief.")
    (tmp_path / "cases").mkdir()
    case = {"id": "hello", "class": "chat", "lang": "en", "user": "Hello!", "expect": {"kind": "text"}}
    (tmp_path / "cases" / "chain.en.jsonl").write_text(json.dumps(case) + "\n")
    families = {
        "chat_completions": "sim-openai",
        "responses": "sim-openai",
        "ollama_chat": "sim-ollama",
        "messages": "sim-claude",
    }
    path = tmp_path / "config.json"
    runs = [{**MODEL, "protocol": protocol, "model": name} for protocol, name in families.items()]
    path.write_text(json.dumps({"runs": runs, "baselines": [], "suites": ["chain"], "repetitions": 1}))
    done = CliRunner().invoke(main, ["run", "--config", str(path), "--output", str(tmp_path / "run")])
    found = {attempt.protocol: attempt for attempt in RunLog.open(tmp_path / "run").attempts}
    assert {name: attempt.status for name, attempt in found.items()} == {
        "chat_completions": "ok",
        "responses": "ok",
        "ollama_chat": "unsupported",
        "messages": "ok",
    }
    refused = found["ollama_chat"]
    assert refused.stop == "schema_inexpressible"
    assert not refused.turns, "nothing was sent"
    assert "the schema is recursive (#/$defs/node)" in str(refused.error)
    assert done.exit_code == 0
    assert "simplify the tool's schema" in done.stderr
