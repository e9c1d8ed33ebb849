"""Exercise: a calculator on ``ast``. Checked in turn: values, refusal of names and calls, limits, signs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from toolbench.course.problems import Problem, attempted, problem

VALUES = (("2+2*2", 6), ("(1+2)*3", 9), ("-2+5", 3), ("7/2", 3.5), ("2**10", 1024), ("240*15/100", 36))
EVALUATED = "len('four')"
"""Only a program that runs the text as Python returns 4 for it."""
TEXT = "'a'*3"
"""Made of nodes that arithmetic needs as well: only the value of the constant tells."""
HOSTILE = ("__import__('os')", "abs(-1)", "x+1", "(1).__class__", TEXT, "[1, 2]")
SIGNS: Mapping[str, tuple[int, ...]] = {"+5": (5,), "~5": ()}
"""Signs other than the minus, and what may come back where they are not refused."""
TAKEN_FOR_MINUS = -5
LARGE = "10**100000"
NESTED = "9**9**7"
"""Takes long enough to notice whether it was calculated before it was refused, and not too long."""
KILLER = "10**100**100"
SLOW_SECONDS = 0.3


def check_calculator(answer: object) -> list[Problem]:
    """Return the first thing that is wrong with a student's ``calculate``."""
    if not callable(answer):
        return [problem("calculate.not_a_function", found=type(answer).__name__)]
    found = _values(answer) or _hostile(answer) or _limits(answer) or _signs(answer)
    return [found] if found else []


def _values(fn: Callable[..., Any]) -> Problem | None:
    for number, (expression, wanted) in enumerate(VALUES):
        result, error = attempted(lambda text=expression: fn(expression=text))  # type: ignore[misc]
        if error is not None:
            said = f"{type(error).__name__}: {error}"
            return problem("calculate.raised", expression=expression, error=said)
        if result is None:
            kind = "not_started" if number == 0 else "nothing"
            return problem(f"calculate.{kind}", expression=expression)
        if isinstance(result, str):
            return problem("calculate.text", expression=expression, found=repr(result))
        value = result.get("result") if isinstance(result, dict) else result
        if isinstance(value, bool) or not isinstance(value, int | float):
            return problem("calculate.not_a_number", expression=expression, found=result)
        if abs(value - wanted) > 1e-9:
            return problem("calculate.wrong", expression=expression, found=value, wanted=wanted)
    return None


def _hostile(fn: Callable[..., Any]) -> Problem | None:
    if attempted(lambda: fn(expression=EVALUATED))[0] == 4:
        return problem("calculate.eval", expression=EVALUATED)
    for expression in HOSTILE:
        result, error = attempted(lambda text=expression: fn(expression=text))  # type: ignore[misc]
        if error is None:
            kind = "constant" if expression == TEXT else "no_refusal"
            return problem(f"calculate.{kind}", expression=expression, found=repr(result))
        if not isinstance(error, ValueError):
            return problem("calculate.wrong_error", expression=expression, found=type(error).__name__)
        if not str(error).strip():
            return problem("calculate.bare_error", expression=expression)
    return None


def _limits(fn: Callable[..., Any]) -> Problem | None:
    """Ask for what is merely large first: the last one would stop a calculator without limits for good."""
    if attempted(lambda: fn(expression=LARGE))[1] is None:
        return problem("calculate.no_limit", expression=LARGE)
    started = time.perf_counter()
    _, error = attempted(lambda: fn(expression=NESTED))
    if error is None:
        return problem("calculate.nested_limit", expression=NESTED)
    if time.perf_counter() - started > SLOW_SECONDS:
        return problem("calculate.late_limit", expression=NESTED)
    if attempted(lambda: fn(expression=KILLER))[1] is None:
        return problem("calculate.no_limit", expression=KILLER)
    return None


def _signs(fn: Callable[..., Any]) -> Problem | None:
    for expression, values in SIGNS.items():
        result, error = attempted(lambda text=expression: fn(expression=text))  # type: ignore[misc]
        found = result.get("result") if isinstance(result, dict) else result
        if error is None and found not in values:
            kind = "sign" if found == TAKEN_FOR_MINUS else "no_refusal"
            return problem(f"calculate.{kind}", expression=expression, found=found)
    return None
