import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import ROOT, make_case
from toolbench.domain.condition import BUILT_IN_CONDITIONS, Condition, Selection
from toolbench.domain.config import Config, public_url
from toolbench.domain.suite import find_suite
from toolbench.errors import ConfigError

RUN = {"provider": "p", "model": "m", "protocol": "chat_completions", "base_url": "http://127.0.0.1:1/v1"}


def config(**data: Any) -> Config:
    return Config.from_json({"runs": [RUN], **data}, "config.json")


def test_defaults_are_those_of_the_specification() -> None:
    loaded = config()
    assert loaded.runs[0].settings.temperature == 0
    assert loaded.runs[0].settings.max_output_tokens == 500
    assert (loaded.repetitions, loaded.parallelism, loaded.loop_limit) == (3, 1, 5)
    assert [player.model for player in loaded.players[:4]] == list(loaded.baselines)


def test_the_kind_of_a_player_says_how_it_is_reached() -> None:
    loaded = config(
        runs=[
            RUN,
            {**RUN, "model": "tiny", "base_url": "embedded:"},
            {**RUN, "base_url": "embedded:x.gguf", "model": "own"},
        ]
    )
    assert {player.kind for player in loaded.players if player.key.is_baseline} == {"baseline"}
    assert [player.kind for player in loaded.runs] == ["http", "embedded", "embedded"]
    assert [player.weights for player in loaded.runs[1:]] == ["tiny", "x.gguf"]


@pytest.mark.parametrize(
    ("changes", "control"),
    [
        ({}, False),
        ({"tool_choice": "required"}, False),
        ({"tool_choice": "none"}, True),
        ({"tools": "off"}, True),
    ],
    ids=str,
)
def test_a_control_makes_calls_impossible(changes: dict[str, Any], control: bool) -> None:
    assert Condition("c", **changes).control is control


def test_settings_of_a_run_win_over_defaults() -> None:
    loaded = config(
        runs=[{**RUN, "settings": {"temperature": None}}], defaults={"temperature": 0.5, "seed": 7}
    )
    assert loaded.runs[0].settings.temperature is None
    assert loaded.runs[0].settings.seed == 7


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(
            {"runs": [{**RUN, "model": "REPLACE_WITH_REAL_MODEL_ID"}]},
            r"runs\[0\].model.*placeholder",
            id="placeholder",
        ),
        pytest.param({"runs": [{**RUN, "api_key": "x"}]}, "keys are never written here", id="key-field"),
        pytest.param(
            {"runs": [{**RUN, "headers": {"Authorization": "Bearer abc"}}]}, "keys are never", id="header"
        ),
        pytest.param(
            {"runs": [{**RUN, "extra_body": {"user": "sk-abcdefghijklmnop"}}]}, "looks like a key", id="value"
        ),
        pytest.param(
            {"runs": [{**RUN, "provider": "baseline"}]},
            r"runs\[0\].provider: 'baseline' is the label",
            id="label",
        ),
        pytest.param({"runs": [RUN, RUN]}, "occurs twice", id="same-run-twice"),
        pytest.param({"conditions": ["sideways"]}, "unknown condition 'sideways'; built in", id="condition"),
        pytest.param({"conditions": ["auto", {"name": "auto"}]}, "occurs twice", id="condition-twice"),
        pytest.param({"runs": [{**RUN, "protocol": "telnet"}]}, "protocol", id="protocol"),
        pytest.param({"temprature": 1}, "temprature", id="unknown-key"),
        pytest.param({"runs": [], "baselines": []}, "name anything to run", id="nothing-to-run"),
        pytest.param({"repetitions": 0}, "repetitions", id="no-repetition"),
        pytest.param({"runs": [{**RUN, "base_url": "http://x:abc/v1"}]}, "no usable address", id="port"),
        pytest.param({"runs": [{**RUN, "base_url": "http://x:99999/v1"}]}, "no usable", id="large-port"),
        pytest.param({"runs": [{**RUN, "base_url": "http://[::1/v1"}]}, "no usable address", id="bracket"),
        pytest.param({"runs": [{**RUN, "base_url": "http://h/v1\r\nX: y"}]}, "no usable", id="line-end"),
        pytest.param({"runs": [{**RUN, "base_url": f"http://{'a' * 300}/v1"}]}, "no usable", id="long-label"),
        pytest.param({"runs": [{**RUN, "headers": {"ключ": "x"}}]}, "no HTTP header", id="header-name"),
        pytest.param({"runs": [{**RUN, "headers": {"X-A": "я"}}]}, "no HTTP header", id="header-value"),
    ],
)
def test_a_wrong_configuration_is_refused_in_one_line(data: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        config(**data)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith("config.json: ")


def test_the_value_of_a_key_is_never_repeated_in_the_error() -> None:
    with pytest.raises(ConfigError) as error:
        config(runs=[{**RUN, "api_key": "sk-TEST-0123456789abcdef"}])
    assert "0123456789" not in str(error.value)


def test_the_snapshot_holds_no_address_credentials_and_no_secret_values() -> None:
    loaded = config(
        runs=[{**RUN, "base_url": "https://user:pw@h.example/v1?key=abc", "headers": {"X-Team": "env:TEAM"}}]
    )
    text = json.dumps(loaded.snapshot())
    assert "pw" not in text
    assert "abc" not in text
    assert loaded.snapshot()["runs"][0]["headers"] == {"X-Team": "env:TEAM"}
    assert (
        public_url("https://user:pw@h.example:8/v1?key=abc&v=1#x")
        == "https://h.example:8/v1?key=[redacted]&v=1"
    )
    # No scheme, so that no reader of addresses knows where the name ends.
    assert public_url("sk-proj-Abc@h/v1") == public_url("sk-proj-Abc:pw@h/v1") == "h/v1"
    assert public_url("simulator:mine.json") == "simulator:mine.json"


def test_the_root_is_the_nearest_folder_with_contracts(tmp_path: Path) -> None:
    (tmp_path / "contracts").mkdir()
    (tmp_path / "runs").mkdir()
    file = tmp_path / "runs" / "c.json"
    file.write_text(json.dumps({"runs": [RUN]}))
    assert Config.load(file).root == tmp_path


def test_broken_json_is_reported_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text('{\n  "runs": [,]\n}')
    with pytest.raises(ConfigError, match=r"c\.json:2: not valid JSON"):
        Config.load(file)


def test_the_entries_of_providers_are_refused_only_for_their_placeholders() -> None:
    data = json.loads((ROOT / "providers.example.json").read_text())
    with pytest.raises(ConfigError, match="placeholder"):
        Config.from_json(data, "providers.example.json")
    filled = json.loads(
        json.dumps(data).replace("REPLACE_WITH_REAL_MODEL_ID", "m").replace("REPLACE_WITH_YOUR_GATEWAY", "h")
    )
    assert len(Config.from_json(filled, "c").runs) == len(data["runs"])


def test_selection_needs_every_given_list_to_match() -> None:
    case = make_case(user="hi", expect={"kind": "text"}, tags=["a", "b"])
    assert Selection()(case)
    assert Selection(tags=["b", "z"], langs=["en"])(case)
    assert not Selection(tags=["b"], langs=["ru"])(case)


def test_a_forced_choice_admits_only_cases_in_which_a_call_is_right() -> None:
    forced, off = BUILT_IN_CONDITIONS["forced"], BUILT_IN_CONDITIONS["no_tools"]
    frozen = make_case(
        messages=[
            {"role": "user", "content": "x"},
            {"role": "assistant", "tool_calls": [{"id": "1", "name": "get_order", "arguments": {}}]},
            {"role": "tool", "tool_call_id": "1"},
        ],
        expect={"kind": "text"},
    )
    assert forced.admits(make_case(user="x", expect={"kind": "tool_call"}))
    assert not forced.admits(make_case(user="x", expect={"kind": ["tool_call", "text"]}))
    assert not forced.admits(frozen)
    assert not off.admits(frozen)


def test_the_one_day_plan_is_twenty_calls_twenty_silences_and_ten_wrong_values_three_times() -> None:
    config = Config.load(ROOT / "one_day.example.json")
    cases = [case for case in find_suite(ROOT, "tickets").cases if config.cases(case)]
    wrong = {"missing_one", "missing_several", "wrong_type", "out_of_range"}
    due = [case for case in cases if case.expect.call_required]
    silent = [case for case in cases if not case.expect.call_allowed and case.klass not in wrong]
    assert (len(due), len(silent), sum(case.klass in wrong for case in cases)) == (20, 20, 10)
    assert (len(cases), config.repetitions) == (50, 3)
