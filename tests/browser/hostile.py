"""A run in which everything a model, a provider or a case can say tries to become markup."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from tests.support import attempt_of, called, delivery, make_case, said
from toolbench.domain.case import Case
from toolbench.domain.config import Config, ModelConfig
from toolbench.domain.log_writer import LogWriter
from toolbench.domain.record import Attempt
from toolbench.domain.suite import Suite
from toolbench.running.header import make_header

Result = TypeVar("Result")
PAYLOADS = (
    "<img src=x onerror=\"document.title='P'\">",
    "<script>document.title='P';window.ran=1</script>",
    "<svg onload=alert(1)>",
    "</td></tr></table></pre></details></main><script>window.ran=2</script>",
    "<iframe src=\"javascript:parent.document.title='P'\"></iframe>",
    '<a href="javascript:alert(2)" autofocus onfocus=alert(3)>x</a>',
    "<img src=http://127.0.0.1:9/leak>",
    '<meta http-equiv="refresh" content="0;url=http://127.0.0.1:9/">',
    "<style>@import url(http://127.0.0.1:9/s.css);*{background:url(http://127.0.0.1:9/b)}</style>",
    "<link rel=stylesheet href=http://127.0.0.1:9/l.css><base href=http://127.0.0.1:9/>",
    "<form action=http://127.0.0.1:9/><input autofocus onfocus=alert(4)></form>",
    "<math><mtext><table><mglyph><style><img src onerror=alert(5)>",
    "\" onmouseover=alert(6) x='",
    "<!-- --!><script>window.ran=3</script> ]]>",
    "&lt;script&gt;window.ran=4&lt;/script&gt; &#60;img&#62;",
    "$x_{$ \\href{javascript:alert(7)}{x} $$\\unicode{<img src=x onerror=alert(8)>}$$",
    "{{ 7*7 }} {% raw %} ${alert(9)} [x](javascript:alert(10)) ![x](http://127.0.0.1:9/m)",
    "'<svg onload=alert(11)>' is not of type 'integer'",
)
MIXED = " ".join(PAYLOADS)
PROVIDER, MODEL = "p<img src=x onerror=alert(20)>", "m<script>window.ran=5</script>"


def apart(work: Callable[..., Result], *arguments: object) -> Result:
    """Call something that starts an event loop of its own: playwright's is running in this thread."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work, *arguments).result()


def write_hostile_run(folder: Path) -> Path:
    """Write the run's log and return its folder."""
    suite = delivery().keep(_cases())
    # A configuration file refuses such names; a log from elsewhere need not have come from one.
    player = ModelConfig(PROVIDER, MODEL, "chat_completions", "http://127.0.0.1:9/v1")
    config = Config(runs=(player,), baselines=(), repetitions=1, labels={"note": MIXED})
    folder.mkdir()
    with LogWriter(folder, lambda text: text) as writer:
        writer.append(make_header(config, [suite], folder.name))
        for attempt in _attempts(suite):
            writer.append(attempt)
    return folder


def _cases() -> list[Case]:
    lookup = {"kind": "tool_call", "calls": [{"tool": "get_order", "arguments": {"order_id": MIXED}}]}
    names = ("text", "name", "arguments", "broken", "error", "c<1>")
    return [make_case(id=name, user=f"{MIXED} {name}", expect=lookup) for name in names]


def _attempts(suite: Suite) -> Iterator[Attempt]:
    by_id = {case.id: case for case in suite.cases}
    replies = {
        "text": [{**said(MIXED), "model": MIXED}],
        "name": [called((MIXED, {MIXED: MIXED})), said(MIXED)],
        "arguments": [called(("get_order", {"order_id": MIXED, MIXED: 1})), said(MIXED)],
        "broken": [called(("get_order", MIXED))],
        "c<1>": [called(("cancel_order", {"order_id": "ORD-123456", "reason": MIXED})), said(MIXED)],
    }
    for name, bodies in replies.items():
        yield _named(attempt_of(by_id[name], bodies, suite), suite, by_id[name])
    failed = attempt_of(by_id["error"], [said(MIXED)], suite)
    error = {"code": "server_error", "message": f"HTTP 500: {MIXED}", "status": 500}
    broken = replace(failed, status="transport_error", stop="server_error", error=error, turns=[], calls=[])
    yield _named(broken, suite, by_id["error"])


def _named(attempt: Attempt, suite: Suite, case: Case) -> Attempt:
    hashes = {name: suite.hashes[name] for name in ("contract", "executor", "rules")}
    hashes |= {"prompt": suite.hashes["prompt.en"], "case": case.hash, "config": "0"}
    return replace(attempt, provider=PROVIDER, model=MODEL, hashes=hashes, run_id="hostile")


def same_text(payload: str, text: str) -> bool:
    """Whether a payload stands in a text as it is, or as a JSON text spells it."""
    return payload in text or json.dumps(payload, ensure_ascii=False)[1:-1] in text
