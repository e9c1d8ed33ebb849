"""The command line: exit codes, one clear line for bad input, and no traceback."""

import json
import socket
import stat
from pathlib import Path
from typing import Any

import click
import httpx
import pytest
from click.testing import CliRunner, Result

from tests.support import ROOT
from toolbench.cli import main
from toolbench.cli.plain import plain_errors
from toolbench.domain.log import LOG_NAME, RunLog
from toolbench.domain.suite import find_suite
from toolbench.showing.view import RunView
from toolbench.simulator import Simulator

DELIVERY = [
    "--tools",
    str(ROOT / "contracts/delivery/tools.json"),
    "--cases",
    str(ROOT / "cases/delivery.en.jsonl"),
]


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def one_line(result: Result) -> str:
    """Return the only line of a refusal, after checking that it is one."""
    assert result.exit_code == 2, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    lines = [line for line in result.stderr.splitlines() if line.startswith("toolbench: ")]
    assert len(lines) == 1
    assert "Traceback" not in result.output
    return lines[0]


def config(tmp_path: Path, **data: Any) -> Path:
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"runs": [], "repetitions": 1, "cases": {"tags": ["base"]}, **data}))
    return file


def a_run(tmp_path: Path, **data: Any) -> Path:
    run = tmp_path / "run"
    result = invoke("run", "--config", config(tmp_path, **data), *DELIVERY, "--output", run)
    assert result.exit_code == 0, result.output
    return run


def test_run_score_and_json_agree(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    text = invoke("score", run)
    assert text.exit_code == 0
    assert "keyword_router" in text.output
    figures = json.loads(invoke("score", run, "--json").stdout)
    router = next(r for r in figures["results"] if r["model"] == "keyword_router")
    assert router["scored"] == 9
    assert router["metrics"]["pass_rate"]["denominator"] == 9


@pytest.mark.parametrize(
    ("chosen", "players", "langs", "cases"),
    [
        (["--models", "always_silent"], {"always_silent"}, {"en", "ru"}, {"direct_lookup", "missing_id"}),
        (["--models", "*router", "--langs", "ru"], {"keyword_router"}, {"ru"},
         {"direct_lookup", "missing_id"}),
        (["--models", "baseline/random_tool", "--cases", "missing*", "--tags", "base,core"],
         {"random_tool"}, {"en", "ru"}, {"missing_id"}),
    ],
    ids=["model", "pattern-and-language", "case-and-tag"],
)  # fmt: skip
def test_part_of_a_matrix_is_played(
    tmp_path: Path, chosen: list[str], players: set[str], langs: set[str], cases: set[str]
) -> None:
    file = config(tmp_path, suites=["course"], cases={"ids": ["direct_lookup", "missing_id"]})
    run = tmp_path / "run"
    result = invoke("run", "--config", file, "--suites", "delivery", *chosen, "--output", run)
    assert result.exit_code == 0, result.stderr
    made = list(RunLog.open(run).attempts)
    assert {attempt.model for attempt in made} == players
    assert {attempt.lang for attempt in made} == langs
    assert {attempt.case_id for attempt in made} == cases
    assert f"next: toolbench report {run}" in result.stdout


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (["--models", "gpt"], "no model is called 'gpt'; there are: always_first_tool"),
        (["--langs", "de"], "no language is called 'de'; there are: en, ru"),
        (["--cases", "nowhere"], "no case is called 'nowhere'"),
        (["--tags", "nothing"], "no tag is called 'nothing'"),
        (["--cases", "direct_lookup", "--tags", "wording"], "--cases and --tags have to meet"),
        (["--suites", "nothing"], "no such suite; there are: "),
    ],
    ids=["model", "language", "case", "tag", "nothing-left", "suite"],
)
def test_part_that_is_not_there_is_refused_with_what_there_is(
    tmp_path: Path, chosen: list[str], message: str
) -> None:
    file = config(tmp_path, suites=["delivery"])
    assert message in one_line(invoke("run", "--config", file, *chosen, "--output", tmp_path / "run"))


def test_missing_run_is_answered_with_the_runs_there_are(tmp_path: Path) -> None:
    a_run(tmp_path)
    line = one_line(invoke("report", tmp_path / "nope"))
    assert "no such run; there are: " in line
    assert str(tmp_path / "run") in line


def test_scoring_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    assert invoke("score", run, "--json").stdout_bytes == invoke("score", run, "--json").stdout_bytes


def test_conditions_repetitions_and_parallelism_can_be_given(tmp_path: Path) -> None:
    run = tmp_path / "run"
    result = invoke(
        "run", "--config", config(tmp_path), *DELIVERY, "--output", run,
        "--conditions", "auto,no_tools", "--repetitions", "2", "--parallelism", "3",
    )  # fmt: skip
    assert result.exit_code == 0
    assert "144 attempts made" in result.output


def test_a_part_of_the_plan_is_made_now_and_the_rest_on_resume(tmp_path: Path) -> None:
    run, file = tmp_path / "run", config(tmp_path)
    given = ("run", "--config", file, *DELIVERY, "--conditions", "auto,no_tools", "--output", run)
    first = invoke(*given, "--now", "condition=auto", "--now", "model=keyword_router")
    assert first.exit_code == 0, first.output
    assert "9 attempts made, 0 there before, 72 planned" in first.output
    assert "63 planned attempts left for --resume" in first.output
    assert RunView(run).incomplete == "INCOMPLETE: 63 of 72 planned attempts were not made"
    rest = invoke(*given, "--resume")
    assert rest.exit_code == 0, rest.output
    assert "63 attempts made, 9 there before, 72 planned" in rest.output
    assert RunView(run).incomplete is None


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ("condition=forced", "the run has no condition 'forced'; there is auto"),
        ("when=soon", "there are: provider"),
    ],
)
def test_a_part_that_the_plan_does_not_have_is_refused(tmp_path: Path, now: str, told: str) -> None:
    run = tmp_path / "run"
    refused = invoke("run", "--config", config(tmp_path), *DELIVERY, "--output", run, "--now", now)
    assert told in one_line(refused)
    assert not run.exists()


def test_missing_config(tmp_path: Path) -> None:
    assert "no such file" in one_line(invoke("run", "--config", tmp_path / "no.json"))


def test_placeholder_model(tmp_path: Path) -> None:
    line = one_line(invoke("run", "--config", ROOT / "providers.example.json", "--output", tmp_path / "r"))
    assert "placeholder" in line


def test_example_configuration_runs_as_it_is_and_shows_a_good_and_a_bad_player(tmp_path: Path) -> None:
    run = tmp_path / "run"
    given = ("--langs", "en", "--tags", "base", "--conditions", "auto")
    result = invoke("run", "--config", ROOT / "config.example.json", *given, "--output", run)
    assert result.exit_code == 0, result.output
    figures = json.loads(invoke("score", run, "--json").stdout)["results"]
    rates = {row["model"]: row["metrics"]["pass_rate"]["value"] for row in figures}
    assert rates["careful"] > rates["hasty"]


def test_a_sequential_run_of_scripted_players_stops_by_its_rule_and_its_report_shows_the_path(
    tmp_path: Path,
) -> None:
    run = tmp_path / "run"
    given = ("--langs", "en", "--tags", "core", "--conditions", "auto", "--models", "scripted/*")
    sides = ("--repetitions", "9", "--until", "model=careful", "model=hasty", "--width", "0.05")
    result = invoke("run", "--config", ROOT / "config.example.json", *given, *sides, "--output", run)
    assert result.exit_code == 0, result.output
    (told,) = [line for line in result.stdout.splitlines() if "rounds: " in line]
    log = RunLog.open(run)
    played = {attempt.repetition for attempt in log.attempts}
    assert f"after {len(played)} of 9 rounds: differs; difference between -" in told
    assert 1 < len(played) < 9
    # The rule is in the header, which is written before the first request.
    rule = {"left": "model=careful", "right": "model=hasty", "budget": 9, "width": 0.05}
    assert json.loads(log.header.labels["until"]) == rule
    report = invoke("report", run, "--bom")
    assert report.exit_code == 0, report.output
    page = (run / "report.html").read_text(encoding="utf-8")
    assert f"ended after {len(played)}: they differ; {9 - len(played)} rounds were saved" in page
    assert (run / "errors.csv").read_bytes().startswith(b"\xef\xbb\xbfprovider,model,")
    assert invoke("report", run).exit_code == 0
    assert (run / "errors.csv").read_bytes().startswith(b"provider,model,")


def test_scripted_players_of_the_demo_are_good_and_bad_in_both_languages(tmp_path: Path) -> None:
    run = tmp_path / "run"
    given = ("--models", "scripted/*", "--conditions", "auto")
    result = invoke("run", "--config", ROOT / "runs/demo.config.json", *given, "--output", run)
    assert result.exit_code == 0, result.output
    figures = json.loads(invoke("score", run, "--json").stdout)["results"]
    rates = {(row["model"], row["lang"]): row["metrics"]["pass_rate"]["value"] for row in figures}
    assert {lang for _, lang in rates} == {"en", "ru"}
    for lang in ("en", "ru"):
        assert rates["careful-script", lang] == 1
        assert rates["hasty-script", lang] < 0.3


def test_tools_without_cases(tmp_path: Path) -> None:
    assert "belong together" in one_line(invoke("run", "--config", config(tmp_path), *DELIVERY[:2]))


def test_unknown_tool_in_a_case(tmp_path: Path) -> None:
    cases = tmp_path / "c.jsonl"
    cases.write_text(
        '{"id":"a","class":"c","lang":"en","user":"x","tools":["teleport"],"expect":{"kind":"text"}}\n'
    )
    line = one_line(
        invoke("run", "--config", config(tmp_path), *DELIVERY[:3], cases, "--output", tmp_path / "r")
    )
    assert "c.jsonl:1" in line
    assert "teleport" in line
    assert not (tmp_path / "r").exists()


def test_unknown_condition(tmp_path: Path) -> None:
    line = one_line(invoke("run", "--config", config(tmp_path), *DELIVERY, "--conditions", "sideways"))
    assert "sideways" in line


def test_dead_server_ends_with_code_2_and_keeps_the_log(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    entry = {
        "provider": "p",
        "model": "m",
        "protocol": "chat_completions",
        "base_url": f"http://127.0.0.1:{port}/v1",
    }
    file = config(tmp_path, runs=[entry], baselines=["always_silent"], retries={"tries": 1, "patience": 0})
    result = invoke("run", "--config", file, *DELIVERY, "--output", tmp_path / "r")
    assert result.exit_code == 2
    assert f"p/m/chat_completions: given up after repeated failure: http://127.0.0.1:{port}" in result.stderr
    assert "--resume --retry-errors" in result.stderr
    assert (tmp_path / "r" / LOG_NAME).exists()


def test_a_missing_key_variable_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    entry = {
        "provider": "p",
        "model": "m",
        "protocol": "chat_completions",
        "base_url": "http://127.0.0.1:1/v1",
        "api_key_env": "NO_SUCH_KEY",
    }
    assert "NO_SUCH_KEY" in one_line(invoke("run", "--config", config(tmp_path, runs=[entry]), *DELIVERY))


def test_read_only_output(tmp_path: Path) -> None:
    (tmp_path / "plain file").write_text("")
    line = one_line(
        invoke("run", "--config", config(tmp_path), *DELIVERY, "--output", tmp_path / "plain file" / "r")
    )
    assert "cannot be created" in line


@pytest.mark.parametrize("command", ["score", "report"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(None, "no such run", id="missing"),
        pytest.param("", "header is missing", id="empty"),
        pytest.param("garbage\n", "header is missing", id="garbage"),
    ],
)
def test_a_run_that_cannot_be_read(tmp_path: Path, command: str, content: str | None, message: str) -> None:
    run = tmp_path / "r"
    run.mkdir()
    if content is not None:
        (run / LOG_NAME).write_text(content)
    else:
        run.rmdir()
    assert message in one_line(invoke(command, run))


def test_a_broken_line_is_reported_and_the_rest_is_scored(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    with open(run / LOG_NAME, "a") as log:
        log.write("{broken\n")
    result = invoke("score", run)
    assert result.exit_code == 0
    assert f"{LOG_NAME}:38: not valid JSON" in result.stderr
    assert "INCOMPLETE" in result.stdout


def test_existing_run_without_resume(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    before = (run / LOG_NAME).read_bytes()
    assert "already holds a run" in one_line(
        invoke("run", "--config", config(tmp_path), *DELIVERY, "--output", run)
    )
    assert (run / LOG_NAME).read_bytes() == before
    assert stat.S_ISDIR(run.stat().st_mode)


def test_lint_accepts_what_is_shipped_and_refuses_with_file_and_line(tmp_path: Path) -> None:
    assert invoke("lint", ROOT / "contracts/delivery").exit_code == 0
    bad = tmp_path / "x.en.jsonl"
    bad.write_text('{"id": "a"}\n')
    result = invoke("lint", bad)
    assert result.exit_code == 2
    assert "x.en.jsonl:1" in result.stdout


def test_help_has_examples_for_every_command() -> None:
    for command in main.commands:
        result = invoke(command, "--help")
        assert result.exit_code == 0
        assert "Example" in result.output or command == "serve", command


def test_an_unknown_local_model_names_the_known_ones() -> None:
    line = one_line(invoke("serve", "local", "gpt-99"))
    assert "smollm2-135m-instruct" in line


def test_selfcheck_needs_suites() -> None:
    assert "no contracts" in one_line(invoke("selfcheck", "--root", ROOT / "notebooks"))


def test_promoted_cases_are_linted_and_get_free_ids(tmp_path: Path) -> None:
    run, target = a_run(tmp_path), tmp_path / "again.en.jsonl"
    refused = invoke("promote", run, "--failed", "--suite", "delivery", "--lang", "en", "--output", target)
    assert "nothing to promote: baselines are left out" in one_line(refused)
    assert not target.exists()


def test_a_failed_case_is_promoted_once_into_a_suite_that_lints_and_runs_by_name(tmp_path: Path) -> None:
    run, target = a_run(tmp_path), tmp_path / "cases" / "again.en.jsonl"
    target.parent.mkdir()
    log = run / LOG_NAME
    header, *attempts = (json.loads(line) for line in log.read_text("utf-8").splitlines())
    text = "".join(json.dumps(line) + "\n" for line in (header | {"seal": None}, *attempts))
    log.write_text(text.replace('"provider": "baseline"', '"provider": "rules"'))
    wanted = ("promote", run, "--failed", "--suite", "delivery", "--lang", "en", "--output", target)
    told = invoke(*wanted)
    assert told.exit_code == 0
    assert f"next: toolbench lint {tmp_path / 'contracts'} {target.parent}" in told.stdout
    assert "--suites again --output runs/again" in told.stdout
    first = target.read_text()
    assert first.count("\n") > 0
    assert "0 cases added" in invoke(*wanted).stdout
    assert target.read_text() == first
    assert invoke("lint", tmp_path / "contracts", target.parent).output == "0 problems\n"
    config = tmp_path / "config.json"
    config.write_text('{"runs": [], "baselines": ["always_silent"], "suites": ["delivery"]}')
    played = invoke("run", "--config", config, "--suites", "again", "--output", tmp_path / "again")
    assert played.exit_code == 0, played.output
    assert {key.suite for key in RunLog.open(tmp_path / "again").keys} == {"again"}


def test_promoted_cases_are_a_suite_that_is_linted_and_run_by_its_name(tmp_path: Path) -> None:
    run, target = a_run(tmp_path), tmp_path / "bench/cases/again.en.jsonl"
    log = run / LOG_NAME
    header, *attempts = (json.loads(line) for line in log.read_text("utf-8").splitlines())
    text = "".join(json.dumps(line) + "\n" for line in (header | {"seal": None}, *attempts))
    log.write_text(text.replace('"provider": "baseline"', '"provider": "rules"'))
    target.parent.mkdir(parents=True)
    made = invoke("promote", run, "--failed", "--suite", "delivery", "--lang", "en", "--output", target)
    assert made.exit_code == 0, made.output
    bench = tmp_path / "bench"
    linted = invoke("lint", bench / "contracts", bench / "cases")
    assert linted.exit_code == 0, linted.output
    config = bench / "config.json"
    config.write_text('{"runs": [], "conditions": ["auto"], "repetitions": 1, "suites": ["again"]}')
    played = invoke("run", "--config", config, "--output", tmp_path / "played")
    assert played.exit_code == 0, played.output
    cases = target.read_text().count("\n")
    assert len((tmp_path / "played" / LOG_NAME).read_text().splitlines()) == 1 + 4 * cases
    shipped = find_suite(ROOT, "delivery").hashes
    again = find_suite(bench, "again").hashes
    assert {name: again[name] for name in shipped if name != "cases"} == {
        name: value for name, value in shipped.items() if name != "cases"
    }


def test_a_gate_needs_gates_and_says_which_way_it_went(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    assert "no gates were fixed" in one_line(invoke("gate", run))
    decided = invoke("gate", run, "--default")
    assert decided.exit_code == 3
    assert "not enough data" in decided.output


def test_compare_pairs_two_conditions_and_refuses_what_differs_elsewhere(tmp_path: Path) -> None:
    run = a_run(tmp_path, conditions=["auto", "reversed"])
    same = invoke("compare", run, "--left", "condition=auto", "--right", "condition=reversed")
    assert same.exit_code == 0, same.output
    assert "compared: condition" in same.output
    assert "column=value" in one_line(invoke("compare", run, "--where", "auto"))
    for column in ("scored", "label"):
        line = one_line(invoke("compare", run, "--where", f"{column}=True"))
        assert f"{column!r} is not one of provider, model" in line
    assert "no condition 'sideways' here" in one_line(invoke("compare", run, "--where", "condition=sideways"))


def test_generate_writes_the_committed_bytes(tmp_path: Path) -> None:
    result = invoke("generate", ROOT / "contracts/refund", "--cases", tmp_path)
    assert result.exit_code == 0, result.output
    for name in ("refund.en.jsonl", "refund.ru.jsonl"):
        assert (tmp_path / name).read_bytes() == (ROOT / "cases" / name).read_bytes()


def test_generate_makes_its_folder_or_says_why_not(tmp_path: Path) -> None:
    assert invoke("generate", ROOT / "contracts/refund", "--cases", tmp_path / "a" / "b").exit_code == 0
    (tmp_path / "file").write_text("")
    line = one_line(invoke("generate", ROOT / "contracts/refund", "--cases", tmp_path / "file"))
    assert "cannot be written" in line


def test_mutations_of_any_contract_are_printed_with_their_codes() -> None:
    good = '{"order_id": "ORD-123456"}'
    lines = [
        json.loads(x)
        for x in invoke(
            "generate", ROOT / "contracts/delivery", "--mutate", "get_order", good
        ).stdout.splitlines()
    ]
    kinds = {line["kind"]: line["codes"] for line in lines}
    assert kinds["drop_required"] == ["missing_required"]
    assert kinds["bad_pattern"] == ["pattern_mismatch"]
    for tool, arguments in (("nope", good), ("get_order", "{"), ("get_order", "{}")):
        one_line(invoke("generate", ROOT / "contracts/delivery", "--mutate", tool, arguments))


def test_nothing_printed_is_obeyed_by_the_terminal_or_fakes_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    entry = {
        "provider": "p",
        "model": "m\nok   p/fake\x1b]0;title\x07",
        "protocol": "chat_completions",
        "base_url": "http://127.0.0.1:1/v1",
        "api_key_env": "NO_SUCH_KEY",
    }
    file = config(tmp_path, runs=[entry])
    listed = invoke("models", "--config", file)
    assert len(listed.stdout.splitlines()) == 1
    refused = invoke("lint", tmp_path / "no\x1b[31m\nfile")
    for result in (listed, refused, invoke("run", "--config", tmp_path / "no\x1b[31m\nfile")):
        assert result.exit_code == 2
        assert "\x1b" not in result.output
        assert "\\u001b" in result.output
        assert "\\n" in result.output


def test_models_against_lists_what_differs_and_says_so_by_its_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIM_KEY", "any-key-will-do")
    rules = [
        {"when": {"after_tool_result": True}, "then": {"text": "Rain."}},
        {"then": {"calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]}},
    ]
    served = {"m": {"dialect": "openai"}, "gate/m": {"dialect": "compatible"}}
    with Simulator({"models": served, "rules": rules}) as sim:
        common = {"protocol": "chat_completions", "base_url": sim.base_url("chat_completions")}
        common["api_key_env"] = "SIM_KEY"
        runs = [{**common, "provider": "a", "model": "m"}, {**common, "provider": "b", "model": "gate/m"}]
        runs.append({**common, "provider": "c", "model": "m"})
        result = invoke("models", "--config", config(tmp_path, runs=runs), "--against", "a")
    assert result.exit_code == 1
    first, *listed, last = result.stdout.splitlines()
    assert (
        first == f"a/m/chat_completions directly and as b/gate/m/chat_completions: {len(listed)} differences"
    )
    assert "  changed (call, whole) model name: m → gate/m" in listed
    assert "  dropped (call, streamed) fingerprint: present → nothing" in listed
    assert last == "a/m/chat_completions directly and as c/m/chat_completions: 0 differences"


def test_models_against_an_unknown_label_is_one_line(tmp_path: Path) -> None:
    entry = {"provider": "a", "model": "m", "protocol": "responses", "base_url": "http://127.0.0.1:9/v1"}
    line = one_line(invoke("models", "--config", config(tmp_path, runs=[entry]), "--against", "z"))
    assert "--against z" in line


class _Private(httpx.HTTPError):
    __module__ = "httpx._exceptions"


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        (ValueError("a\nb\x1b" + "x" * 500), "toolbench: unexpected ValueError: a\\nb\\u001b" + "x" * 196),
        (_Private("http://x/?key=canary"), "toolbench: unexpected _Private"),
    ],
    ids=["cut and visible", "no message that may hold a key"],
)
def test_an_unexpected_error_is_one_line(
    fault: Exception, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    @click.command()
    @plain_errors
    def broken() -> None:
        raise fault

    result = CliRunner().invoke(broken)
    assert result.exit_code == 2
    assert result.stderr == f"{line}\n"
    monkeypatch.setenv("TOOLBENCH_DEBUG", "1")
    assert "Traceback" in CliRunner().invoke(broken).stderr


def test_what_click_says_passes_through() -> None:
    @click.command()
    @plain_errors
    def refusing() -> None:
        raise click.UsageError("not so")

    assert "Error: not so" in CliRunner().invoke(refusing).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "--config", "c.json", "--output", ""), "the path is empty"),
        (("run", "--config", "c.json", "--conditions", ","), "no name is given"),
        (("serve", "simulator", "--port", "65536"), "0<=x<=65535"),
        (("serve", "local", "m", "--port", "-1"), "0<=x<=65535"),
    ],
    ids=["output", "conditions", "simulator", "local"],
)
def test_an_option_that_says_nothing_usable_is_refused(arguments: tuple[str, ...], message: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_shell_completes_commands_and_options() -> None:
    def completed(words: str) -> str:
        position = str(len(words.split(" ")) - 1)
        env = {"_TOOLBENCH_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": position}
        return CliRunner(env=env).invoke(main, prog_name="toolbench").output

    assert completed("toolbench sel").split() == ["plain,selfcheck"]
    assert "plain,--repetitions" in completed("toolbench run --rep")
