"""Child processes for servers written by strangers, and a conversation with one of them."""

from __future__ import annotations

import re
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from httpx_aiohttp import AiohttpTransport

from tests.adapters.support import model, tool
from tests.support import delivery, make_case
from toolbench.adapters import adapter_for
from toolbench.adapters.wire import Messages, Offer
from toolbench.domain.config import Config, ModelConfig
from toolbench.domain.decision import ModelDecision
from toolbench.domain.log import RunLog
from toolbench.domain.record import Attempt, ToolResult
from toolbench.errors import TransportError
from toolbench.judging.score import score
from toolbench.running.redaction import redactor_for
from toolbench.running.runner import run_matrix_sync
from toolbench.running.summary import RunSummary
from toolbench.running.transport import Response, Transport

START_SECONDS = 40.0
STOP_SECONDS = 5.0
_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

WEATHER = tool(
    "look",
    {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "minimum": 2, "maximum": 5},
            "unit": {"type": "string", "enum": ["C", "F"]},
        },
        "required": ["city"],
        "additionalProperties": False,
    },
    "Look up the weather of a city.",
)

SUITE = delivery().keep(
    [
        make_case(id="hello", user="Hello!", expect={"kind": "text"}),
        make_case(
            id="lookup",
            user="Where is ORD-123456?",
            expect={
                "kind": "tool_call",
                "calls": [{"tool": "get_order", "arguments": {"order_id": "ORD-123456"}}],
                "final": {"facts": [["samara"]]},
            },
        ),
        make_case(
            id="both",
            user="Look up ORD-123456 and ORD-204518.",
            expect={
                "kind": "tool_call",
                "calls": [
                    {"tool": "get_order", "arguments": {"order_id": "ORD-123456"}},
                    {"tool": "get_order", "arguments": {"order_id": "ORD-204518"}},
                ],
                "parallel": "required",
                "final": {"facts": [["samara"], ["not found"]]},
            },
        ),
    ]
)
"""A text, a call and two calls at once, for a whole run with each server."""

SAYS = {
    "hello": "Hello! I look up orders.",
    "lookup": "It is in Samara.",
    "both": "The first is in Samara, the other was not found.",
}


@contextmanager
def child(command: Sequence[str], log: Path, env: Mapping[str, str] | None = None) -> Iterator[str]:
    """Run a server that prints its address and ends when its standard input does; yield the address.

    However the tests end, the system closes that pipe.
    """
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=log.parent,
            env=env,
        ) as process,
    ):
        try:
            yield _address(process, log)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        found = re.search(r"http://127\.0\.0\.1:[1-9]\d*", log.read_text("utf-8", "replace"))
        if found:
            return found[0]
        time.sleep(0.05)
    raise AssertionError(f"{process.args}: no server after all:\n{log.read_text('utf-8', 'replace')[-2000:]}")


class Talk:
    """One conversation over the real transport; ``reply`` is the last reply."""

    def __init__(
        self,
        base_url: str,
        protocol: str,
        *,
        tries: int = 1,
        max_wait: float = 0.2,
        timeouts: Mapping[str, float] | None = None,
        **options: Any,
    ) -> None:
        fields = {name: options.pop(name) for name in ("headers", "api_key_env") if name in options}
        self.model: ModelConfig = replace(model(protocol, **options), base_url=base_url, **fields)
        self.adapter = adapter_for(protocol)
        self.history: Messages = []
        self.reply: Response | None = None
        self._timeouts = {"first_byte": 5.0, "total": 20.0, **(timeouts or {})}
        self._retries = {"tries": tries, "max_wait": max_wait, "patience": 0}

    async def say(self, text: str, what: Offer) -> ModelDecision:
        self.history = (
            self.adapter.append_user(self.history, text)
            if self.history
            else self.adapter.start("Be brief.", [{"role": "user", "content": text}], what)
        )
        return await self.ask(what)

    async def ask(self, what: Offer) -> ModelDecision:
        request = self.adapter.build_request(self.model, self.history, what)
        redactor = redactor_for(Config(runs=(self.model,)))
        # What it makes by itself, but for the certificates, which take longer to load than all the rest.
        inner = AiohttpTransport(verify=_NO_TLS)
        async with Transport(redactor, self._timeouts, self._retries, inner) as transport:
            self.reply = await transport.send(self.model, self.adapter, request)
        decision = self.adapter.parse_decision(self.reply.body, request, what)
        self.history = self.adapter.append_response(self.history, self.reply.body)
        return decision

    async def answer(
        self, decision: ModelDecision, results: Sequence[ToolResult], what: Offer
    ) -> ModelDecision:
        pairs = list(zip(decision.calls, results, strict=True))
        self.history = self.adapter.append_tool_results(self.history, pairs)
        return await self.ask(what)

    async def failure(self, text: str, what: Offer) -> TransportError:
        """Say something and return the error that must come of it."""
        try:
            decision = await self.say(text, what)
        except TransportError as error:
            return error
        raise AssertionError(f"no error but {decision}")

    @property
    def retried(self) -> list[str]:
        """The codes of the tries that failed before the last reply."""
        assert self.reply is not None
        return [str(retry["code"]) for retry in self.reply.retries]


def gist(decision: ModelDecision) -> dict[str, Any]:
    """Return a decision without what a server invents anew for each reply."""
    data = decision.to_json()
    del data["returned_model"], data["response_id"]
    data["calls"] = [
        {"name": call.name, "arguments": call.arguments, "raw": call.raw_arguments, "error": call.error}
        for call in decision.calls
    ]
    return data


def run_all(runs: Sequence[Mapping[str, Any]], folder: Path, **more: Any) -> tuple[RunSummary, list[Attempt]]:
    """Run the suite's cases once with each model."""
    data = {
        "runs": list(runs),
        "baselines": [],
        "repetitions": 1,
        "retries": {"tries": 4, "max_wait": 0.2},
        "timeouts": {"first_byte": 5, "total": 20},
        **more,
    }
    summary = run_matrix_sync(Config.from_json(data, "config.json"), [SUITE], folder)
    return summary, list(RunLog.open(folder).attempts)


def assert_all_pass(attempts: Sequence[Attempt]) -> None:
    """Check that every attempt is complete and is judged to be exactly right."""
    for attempt in attempts:
        where = (attempt.model, attempt.protocol, attempt.case_id)
        assert (attempt.status, attempt.stop) == ("ok", "answered"), (where, attempt.error)
        verdict = score(attempt, SUITE, {c.name: c for c in Config(runs=()).conditions}["auto"])
        assert verdict is not None, where
        assert not verdict.findings, (where, verdict.findings)


def retried(attempt: Attempt) -> list[str]:
    """The codes of all failed tries of an attempt that succeeded."""
    return [str(retry["code"]) for turn in attempt.turns for retry in turn.retries]
