"""Made-up input for everything that reads what others wrote: an answer or one line, never anything else."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.running.test_log import new_log
from tests.support import ROOT, attempt_of, called, delivery, make_case, said
from tests.torture.profile import EXAMPLES
from toolbench.adapters import adapter_for
from toolbench.adapters.streams import assemble
from toolbench.adapters.wire import Offer, Request
from toolbench.authoring.lint import lint
from toolbench.domain import labels
from toolbench.domain.condition import BUILT_IN_CONDITIONS
from toolbench.domain.config import Config
from toolbench.domain.log import LOG_NAME, RunLog
from toolbench.domain.suite import load_suite
from toolbench.errors import InputError, LogError, TransportError
from toolbench.numbers.frames import load_run
from toolbench.numbers.outputs import errors_csv, report_text
from toolbench.numbers.rows import ATTEMPT, CALL, FINDING, call_rows, finding_rows
from toolbench.numbers.scorer import Scorer, Table

CORPUS = json.loads((Path(__file__).parent / "corpus.json").read_text(encoding="utf-8"))
PROTOCOLS = ("chat_completions", "responses", "messages", "ollama_chat", "generate_content")
fuzzed = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.function_scoped_fixture,
        HealthCheck.data_too_large,
    ],
)
LEAVES = st.sampled_from(CORPUS["values"]) | st.integers() | st.floats() | st.text(max_size=20)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
SUITE = delivery()


def spots(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every place in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(spot for key, one in inner for spot in spots(one, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return a JSON value with another one at a path."""
    if not path:
        return new
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[path[0]] = replaced(value[path[0]], path[1:], new)
    return copied


@st.composite
def damaged(draw: st.DrawFn, whole: Any) -> Any:
    """Draw a value that is right except in one or two places."""
    for _ in range(draw(st.integers(1, 2))):
        whole = replaced(whole, draw(st.sampled_from(spots(whole))), draw(VALUES))
    return whole


@pytest.mark.parametrize("protocol", PROTOCOLS)
@fuzzed
@given(
    body=st.dictionaries(
        st.sampled_from(["choices", "output", "content", "message", "candidates", "usage"]), VALUES
    )
)
def test_every_body_is_a_decision(protocol: str, body: dict[str, Any]) -> None:
    offer = Offer(SUITE.contract.tools, "en", {tool.name: tool.name for tool in SUITE.contract.tools})
    adapter = adapter_for(protocol)
    decision = adapter.parse_decision(body, Request("/", {}), offer)
    assert decision.kind in ("tool_call", "text", "refusal", "invalid")
    adapter.usage(body)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@fuzzed
@given(lines=st.lists(VALUES | st.sampled_from(CORPUS["lines"]), max_size=6))
def test_every_stream_is_a_body_or_no_reply(protocol: str, lines: list[Any]) -> None:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    for prefix in ("data: ", "", "event: x\ndata: "):
        try:
            body = assemble(
                adapter_for(protocol).stream_assembler(), "\n".join(prefix + text for text in texts)
            )
        except TransportError:
            continue
        assert isinstance(body, dict)


@fuzzed
@given(
    arguments=VALUES,
    text=st.text(max_size=200)
    | st.sampled_from(["7" * 5000, "9" * 309, "e" + "\u0301" * 5000, "\ud800 \udfff"]),
)
@example(arguments={"order_id": "9" * 309}, text="7" * 4400)
@example(arguments={"order_id": "\ud800"}, text="\udfff")
def test_every_conversation_has_a_verdict_and_a_row(arguments: Any, text: str) -> None:
    case = make_case(user="Where is ORD-123456?", expect={"kind": ["tool_call", "text"]})
    suite = SUITE.keep([case])
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
    attempt = attempt_of(case, [called(("get_order", raw)), said(text)], suite, unused_ok=True)
    row, verdict = Scorer({suite.name: suite}, BUILT_IN_CONDITIONS, {}).judged(attempt)
    assert row["status"] == "ok", row["error"]
    assert verdict is not None
    for columns, rows in ((ATTEMPT, [row]), (FINDING, finding_rows(verdict)), (CALL, call_rows(verdict))):
        table = Table(columns)
        for one in rows:
            table.add({**row, **one})
        assert len(table.frame().to_csv().encode()) > 0


@fuzzed
@given(data=st.data())
def test_every_log_is_read_around_what_is_wrong_with_it(data: st.DataObject, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    if not folder.exists():
        new_log(folder)
        (tmp_path / "whole").write_bytes((folder / LOG_NAME).read_bytes())
    lines = (tmp_path / "whole").read_text(encoding="utf-8").split("\n")[:-1]
    number = data.draw(st.integers(1, len(lines) - 1))
    if data.draw(st.booleans()):
        line = json.dumps(data.draw(damaged(json.loads(lines[number]))))
    else:
        line = data.draw(st.sampled_from(CORPUS["lines"]) | st.text(max_size=50)).replace("\n", " ")
    lines[number] = line
    (folder / LOG_NAME).write_bytes("\n".join(lines).encode("utf-8", "surrogatepass") + b"\n")
    scored = load_run(folder)
    assert len(scored.attempts) >= len(lines) - 2
    report_text(scored)
    errors_csv(scored)


@fuzzed
@given(data=st.data())
def test_every_header_is_read_or_refused(data: st.DataObject, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    if not folder.exists():
        new_log(folder)
        (tmp_path / "whole").write_bytes((folder / LOG_NAME).read_bytes())
    lines = (tmp_path / "whole").read_text(encoding="utf-8").split("\n")
    header = data.draw(damaged({**json.loads(lines[0]), "seal": None}))
    lines[0] = json.dumps(header)
    (folder / LOG_NAME).write_text("\n".join(lines), encoding="utf-8")
    try:
        RunLog.open(folder)
    except LogError as fault:
        assert "\n" not in str(fault)  # noqa: PT017 - being refused is as good as being read


RUN = {
    "provider": "p",
    "model": "m",
    "protocol": "chat_completions",
    "base_url": "http://h/v1",
    "api_key_env": "KEY",
    "headers": {"a": "b"},
    "settings": {"temperature": 0.5},
    "price": {"currency": "USD", "date": "2026-01-01", "input": 1, "output": 2},
}
CONFIG = {
    "runs": [RUN],
    "baselines": ["always_silent"],
    "suites": ["delivery"],
    "conditions": ["auto", {"name": "x", "tool_order": "reversed"}],
    "labels": {"who": "me"},
    "repetitions": 2,
    "retries": {"tries": 2},
    "budgets": {"requests": 5},
}


@fuzzed
@given(data=damaged(CONFIG))
def test_every_configuration_is_read_or_refused(data: Any) -> None:
    try:
        Config.from_json(data, "config.json").snapshot()
    except InputError as fault:
        assert str(fault).startswith("config.json: ")  # noqa: PT017 - being refused is as good as being read


@pytest.mark.parametrize("part", ["tools.json", "executor.json", "rules.json", "cases.jsonl"])
@fuzzed
@given(data=st.data())
def test_every_suite_is_read_or_refused(part: str, data: st.DataObject, tmp_path: Path) -> None:
    folder = tmp_path / "delivery"
    if not folder.exists():
        shutil.copytree(ROOT / "contracts/delivery", folder)
        lines = (ROOT / "cases/delivery.en.jsonl").read_text(encoding="utf-8").splitlines()
        (folder / "cases.jsonl").write_text("\n".join(lines[:2]), encoding="utf-8")
        for name in ("tools.json", "executor.json", "rules.json", "cases.jsonl"):
            shutil.copy(folder / name, folder / f"{name}.whole")
    text = (folder / f"{part}.whole").read_text(encoding="utf-8")
    first, _, rest = text.partition("\n") if part == "cases.jsonl" else (text, "", "")
    (folder / part).write_text(
        json.dumps(data.draw(damaged(json.loads(first)))) + f"\n{rest}", encoding="utf-8"
    )
    try:
        suite = load_suite(folder / "tools.json", [folder / "cases.jsonl"])
    except InputError as fault:
        told = str(fault)
        assert "\n" not in told
        return
    assert suite.cases
    list(lint([folder]))


@fuzzed
@given(data=st.data())
def test_every_label_is_used_or_named(data: st.DataObject, tmp_path: Path) -> None:
    case = make_case(user="Hello!", expect={"kind": "text"})
    attempt = attempt_of(case, [said("hi")], SUITE.keep([case]))
    kept = labels.label(attempt, "judge", "unclear", "fail", who="somebody", note="why")
    whole = json.loads(json.dumps(kept.to_json()))
    if data.draw(st.booleans()):
        line = json.dumps(data.draw(damaged(whole)))
    else:
        line = data.draw(st.sampled_from(CORPUS["lines"]) | st.text(max_size=50)).replace("\n", " ")
    (tmp_path / labels.LABELS_NAME).write_bytes((line + "\n").encode("utf-8", "surrogatepass"))
    known = {attempt.key: labels.digest(attempt)}
    try:
        found = labels.read(tmp_path, known, "judge")
    except LogError as fault:
        assert "\n" not in str(fault)  # noqa: PT017 - being refused is as good as being read
        return
    # A lone CR ends a line as well, as everywhere.
    lines = re.split("\r\n?|\n", line)
    assert len(found.found) + len(found.problems) == sum(bool(one.strip()) for one in lines)
    assert all("\n" not in problem for problem in found.problems)
