"""What stands between a model's text and anything that happens: calculator, whitelist, limit."""

from __future__ import annotations

import json
import time

import pandas as pd

from toolbench.course import layout
from toolbench.course.words import Words
from toolbench.domain.calculator import ExpressionError, calculate
from toolbench.domain.canonical import JSON
from toolbench.domain.decision import ToolCall
from toolbench.domain.record import ToolResult
from toolbench.domain.suite import Suite
from toolbench.running.executor import Executor
from toolbench.showing import html
from toolbench.showing.html import Page

EXPRESSIONS = (
    "2+2*2",
    "240 * 15%",
    "__import__('os').system('ls')",
    "(1).__class__.__bases__",
    "10**100**100",
    "9**9**9**9",
    "1/0",
)
CALLS: tuple[tuple[str, str, dict[str, JSON]], ...] = (
    ("get_time", '{"timezone": "Asia/Tokyo"}', {"timezone": "Asia/Tokyo"}),
    ("run_shell", '{"command": "ls"}', {"command": "ls"}),
    ("get_time", '{"timezone": 9}', {"timezone": 9}),
    ("get_time", '{"timezone": "Asia/Tokyo", "format": "12h"}', {"timezone": "Asia/Tokyo", "format": "12h"}),
    ("get_exchange_rate", '{"base": "dollar"}', {"base": "dollar"}),
)
FAILURES: tuple[tuple[str, dict[str, JSON]], ...] = (
    ("get_time", {"timezone": "Tokyo"}),
    ("get_exchange_rate", {"base": "USD", "quote": "RUR"}),
    ("get_exchange_rate", {"base": "USD", "quote": "TRY"}),
)


def calculator_page(words: Words) -> Page:
    """Expressions, good and hostile, and what the calculator makes of them."""
    rows = []
    for expression in EXPRESSIONS:
        started = time.perf_counter()
        try:
            outcome = str(calculate(expression))
        except ExpressionError as fault:
            outcome = f"✘ {words.of(fault.reason)}"
        rows.append((expression, outcome, f"{1000 * (time.perf_counter() - started):.2f}"))
    names = [words(f"column_{name}") for name in ("expression", "outcome", "milliseconds")]
    return layout.table(pd.DataFrame(rows, columns=names), numbers=names[2:])


def whitelist_page(suite: Suite, words: Words) -> Page:
    """Calls that a model might propose, and how far each of them comes."""
    executor = Executor(suite.contract, suite.executor, words.lang)
    rows = []
    for number, (name, raw, arguments) in enumerate(CALLS):
        record = executor.run(ToolCall(f"call_{number}", name, raw, arguments), 0, executor.tool_names)
        answer = record.result.content if record.result else ""
        rows.append((f"{name}({raw})", " → ".join(record.states), answer))
    names = [words(f"column_{name}") for name in ("proposed", "states", "told")]
    effects = ", ".join(f"{tool.name}: {tool.effect}" for tool in suite.contract.tools)
    return layout.table(pd.DataFrame(rows, columns=names)) + html.paragraph(words("effects", effects=effects))


def errors_page(suite: Suite, words: Words) -> Page:
    """The same failures with a bare and with a helpful text."""
    rows = [
        (
            f"{tool}({json.dumps(arguments)})",
            _failure(suite, words, index, False),
            _failure(suite, words, index, True),
        )
        for index, (tool, arguments) in enumerate(FAILURES)
    ]
    names = [words(f"column_{name}") for name in ("proposed", "bare", "helpful")]
    return layout.table(
        pd.DataFrame([(call, bare.content, full.content) for call, bare, full in rows], columns=names)
    )


def first_failure(suite: Suite, words: Words) -> ToolResult:
    """Return the result of the first failing call, with its hint."""
    return _failure(suite, words, 0, True)


def _failure(suite: Suite, words: Words, index: int, hints: bool) -> ToolResult:
    tool, arguments = FAILURES[index]
    result, _ = Executor(suite.contract, suite.executor, words.lang, hints).answer(tool, arguments)
    return result
