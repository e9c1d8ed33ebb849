"""Traps that no provider refuses: everything is answered with 200, and the result is wrong all the same."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

import pandas as pd

from toolbench.course import layout
from toolbench.course.dialogue import Asked, dialogue, said
from toolbench.course.players import Players, is_scripted
from toolbench.course.rates_service import rate
from toolbench.course.words import Words
from toolbench.domain.condition import Condition
from toolbench.domain.config import ModelConfig
from toolbench.domain.suite import Suite
from toolbench.running import frozen_rates
from toolbench.showing.html import Page

FEW_TOKENS = 12
CHARACTERS_A_TOKEN = 4
"""A rule of thumb for JSON; the exact number depends on the model's tokenizer."""
DAYS = 90
ITERATIONS = 5
SPELLINGS = (
    ('{"base": "USD", "quote": "EUR"}', '{"quote":"EUR","base":"USD"}'),
    ('{"city": "Орёл"}', r'{"city": "\u041e\u0440\u0451\u043b"}'),
    ('{"amount": 1.50}', '{"amount": 1.5}'),
    ('{"base": "USD", "quote": "EUR"}', '{"base": "USD", "quote": "GBP"}'),
)
"""Arguments as two models may spell them; the last pair is really different."""


async def cut_page(suite: Suite, words: Words, players: Players, own: ModelConfig) -> Page:
    """A call that the token limit cut in two, and what may be done with it."""
    model = players.simulated("sim-course-cut", "chat_completions")
    if not is_scripted(own.provider):
        model = replace(own, settings=replace(own.settings, max_output_tokens=FEW_TOKENS))
    move = await dialogue(suite, words, model, "rate").move()
    if not isinstance(move, Asked):
        return layout.box("note", words("trap_no_reply"))
    decision = move.decision
    facts = {
        "column_finish": decision.finish_reason,
        "column_raw": "; ".join(call.raw_arguments for call in decision.calls) or decision.text,
        "column_read": f"{decision.kind} ({decision.reason})" if decision.reason else decision.kind,
    }
    frame = pd.DataFrame([facts.values()], columns=[words(key) for key in facts])
    rule = layout.box("note", words("cut_rule"))
    return (
        _panel(words, model, layout.json_page(said(model.protocol, move.body))) + layout.table(frame) + rule
    )


async def memory_page(suite: Suite, words: Words, players: Players, own: ModelConfig) -> Page:
    """A rate from memory with a prompt that allows it, and with one that does not."""
    forgetful = own
    if is_scripted(own.provider):
        forgetful = players.simulated("sim-course-memory", "chat_completions")
    rows = []
    for key, model, condition in (
        ("memory_loose", forgetful, Condition("loose", descriptions="bad", prompt="short")),
        ("memory_strict", own, Condition("strict")),
    ):
        move = await dialogue(suite, words, model, "rate", condition=condition).move()
        if not isinstance(move, Asked):
            return layout.box("note", words("trap_no_reply"))
        calls = ", ".join(f"{call.name}({call.raw_arguments})" for call in move.decision.calls)
        rows.append((words(key), model.model, calls or words("no_call"), move.decision.text or "—"))
    names = [words(f"column_{name}") for name in ("wording", "player", "called", "answer")]
    truth = words("memory_truth", rate=rate("EUR", "RUB"), date=frozen_rates()["date"])
    return layout.table(pd.DataFrame(rows, columns=names)) + layout.box("note", truth)


async def oversized_page(suite: Suite, words: Words, players: Players, own: ModelConfig) -> Page:
    """A raw answer beside the four fields that are needed, in characters and tokens, once and resent."""
    table = frozen_rates()
    day = {code: rate("USD", code) for code in table["per_euro"]}
    raw = json.dumps({"amount": 1.0, "base": "USD", "rates": {f"day {n}": day for n in range(DAYS)}})
    short = json.dumps({"base": "USD", "quote": "EUR", "rate": rate("USD", "EUR"), "date": table["date"]})
    cap = suite.executor.max_result_chars
    rows = []
    for key, text in (("result_raw", raw), ("result_capped", raw[:cap]), ("result_short", short)):
        tokens = len(text) // CHARACTERS_A_TOKEN
        rows.append((words(key, cap=cap), f"{len(text)}", f"≈ {tokens}", f"≈ {tokens * ITERATIONS}"))
    names = [words(f"column_{name}") for name in ("what", "characters", "in_tokens", "resent")]
    return layout.table(pd.DataFrame(rows, columns=names), numbers=names[1:])


async def strings_page(suite: Suite, words: Words, players: Players, own: ModelConfig) -> Page:
    """The same arguments in two spellings, compared as text and as JSON."""
    rows = [
        (
            left,
            right,
            words("yes" if left == right else "no"),
            words("yes" if json.loads(left) == json.loads(right) else "no"),
        )
        for left, right in SPELLINGS
    ]
    names = [words(f"column_{name}") for name in ("one_model", "other_model", "same_text", "same_json")]
    return layout.table(pd.DataFrame(rows, columns=names))


SILENT: Mapping[str, Callable[[Suite, Words, Players, ModelConfig], Awaitable[Page]]] = {
    "max_tokens": cut_page,
    "from_memory": memory_page,
    "oversized_result": oversized_page,
    "json_as_text": strings_page,
}
"""Name → what shows the trap, in the order of the lesson."""


def _panel(words: Words, model: ModelConfig, page: Page) -> Page:
    who = words("scripted" if is_scripted(model.provider) else "real")
    return layout.columns([(f"{model.model} ({who})", page)])
