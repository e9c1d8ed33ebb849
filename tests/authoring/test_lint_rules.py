"""Lint of order rules and real tools: what can never come into play, or nothing enforces, is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.authoring.test_lint import Change, Suite, add_rule, good_suite, write_suite
from toolbench.authoring.lint import lint


def rules(suite: Suite, **changes: Any) -> None:
    suite["rules"].update(changes)


def real(suite: Suite, tool: str, name: str) -> None:
    add_rule(
        suite,
        0,
        tool=tool,
        when={"phone": "1"} if tool == "find_order" else {},
        results=[{"implementation": name}],
    )


BAD: list[tuple[str, Change, str, str]] = [
    (
        "unreachable_tool",
        lambda s: rules(s, transitions={"START": ["find_order"], "find_order": ["find_order"]}),
        "rules.json",
        "no sequence of calls from START reaches book_slot",
    ),
    (
        "requires_itself",
        lambda s: rules(s, requires={"book_slot": ["find_order"], "find_order": ["book_slot"]}),
        "rules.json",
        "book_slot requires itself, so it can never run",
    ),
    (
        "never_empty",
        lambda s: rules(s, stop_after_empty={"find_order": ["book_slot"]}),
        "rules.json",
        "no scripted result of find_order is empty",
    ),
    (
        "condition_never_holds",
        lambda s: rules(
            s, unless={"book_slot": [{"tool": "find_order", "path": "orders[].id", "equals": "ORD-000000"}]}
        ),
        "rules.json",
        "no result of find_order has 'ORD-000000' there, so book_slot can never run",
    ),
    (
        "interval_nobody_keeps",
        lambda s: rules(s, repeats={"find_order": {"max": 3, "every_seconds": 10}}),
        "rules.json",
        "no executor rule of find_order keeps calls 10 s apart",
    ),
    (
        "confirming_a_read",
        lambda s: rules(s, confirm=["find_order"]),
        "rules.json",
        "find_order only reads, there is nothing to confirm",
    ),
    (
        "unknown_real_tool",
        lambda s: real(s, "find_order", "teleport"),
        "executor.json",
        "there is no such real tool (there are calculate, get_time, get_exchange_rate)",
    ),
    (
        "real_tool_without_its_argument",
        lambda s: real(s, "find_order", "calculate"),
        "executor.json",
        "needs 'expression', which find_order does not require",
    ),
    (
        "running_clock",
        lambda s: real(s, "find_order", "get_time"),
        "executor.json",
        "without now, its answer changes with the clock",
    ),
    (
        "live_answers",
        lambda s: s["executor"].update(live=True),
        "executor.json",
        "live answers have no expected value",
    ),
    (
        "effect_of_a_read",
        lambda s: s["executor"]["rules"][1]["results"][0].update(effect=True),
        "executor.json",
        "find_order only reads, it has no effect",
    ),
]


@pytest.mark.parametrize(("change", "name", "reason"), [pytest.param(*rest, id=name) for name, *rest in BAD])
def test_what_can_never_matter_is_refused(tmp_path: Path, change: Change, name: str, reason: str) -> None:
    suite = good_suite()
    change(suite)
    file = write_suite(tmp_path, suite) / name
    problems = [problem for problem in lint([file]) if problem.file == file]
    assert any(reason in problem.reason for problem in problems), problems


def test_a_tool_without_transitions_may_be_followed_by_anything(tmp_path: Path) -> None:
    suite = good_suite()
    rules(suite, transitions={"START": ["find_order"]})
    assert lint([write_suite(tmp_path, suite)]) == []


def test_results_of_real_tools_are_open(tmp_path: Path) -> None:
    """What a real tool answers stands in no script, so rules may speak of any path and error of it."""
    suite = good_suite()
    suite["tools"]["tools"][0]["parameters"] = {
        "type": "object",
        "properties": {"phone": {"type": "string"}, "expression": {"type": "string"}},
        "required": ["phone", "expression"],
    }
    suite["executor"]["rules"] = [
        {"tool": "find_order", "results": [{"implementation": "calculate"}]},
        {"tool": "book_slot", "results": [{"ok": {"status": "booked_today"}}]},
    ]
    suite["cases"] = [
        {
            "id": "hello",
            "class": "hello",
            "lang": "en",
            "user": "Hello",
            "expect": {"kind": "text", "must_not_call": True},
        }
    ]
    rules(suite, depends_on_result={"book_slot": {"order_id": "find_order.anything"}})
    rules(suite, stop_after_error={"BAD_EXPRESSION": ["book_slot"]})
    assert lint([write_suite(tmp_path, suite)]) == []
