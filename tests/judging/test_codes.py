"""The registry of finding codes and the checks that raise them say the same."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from toolbench.domain.codes import CODES, LANGS
from toolbench.domain.validation import CODE_OF_KEYWORD

ROOT = Path(__file__).parents[2]
MODULES = sorted(path.stem for path in (ROOT / "toolbench/judging").glob("*.py") if path.stem != "__init__")
FROM_DATA = {
    "issue.code": {*CODE_OF_KEYWORD.values(), "null_value", "empty_value", "schema_mismatch"},
    "call.error": {
        *("invalid_json", "trailing_text", "duplicate_key", "non_finite_number"),
        *("not_an_object", "double_encoded", "truncated"),
    },
}
"""Expression in a check → the codes that it can stand for."""


def literals(node: ast.expr, function: ast.FunctionDef) -> set[str]:
    """Return the codes that the first argument of a finding can be."""
    match node:
        case ast.Constant(value=str(code)):
            return {code}
        case ast.IfExp():
            return literals(node.body, function) | literals(node.orelse, function)
        case ast.Name() if node.id in {argument.arg for argument in function.args.args}:
            return set()
        case ast.Name():
            values = [
                made.value
                for made in ast.walk(function)
                if isinstance(made, ast.Assign) and ast.unparse(made.targets[0]) == node.id
            ]
            assert values, f"{function.name}: nothing is known about {node.id}"
            return set[str]().union(*(literals(value, function) for value in values))
        case _:
            return FROM_DATA[ast.unparse(node)]


@cache
def functions(module: str) -> dict[str, ast.FunctionDef]:
    tree = ast.parse(inspect.getsource(importlib.import_module(module)))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def raised(module: str, function: str, seen: frozenset[str] = frozenset()) -> Iterator[tuple[str, str]]:
    """Yield ``(code, layer)`` of all findings that a function and what it calls in its module can make."""
    node = functions(module)[function]
    for call in ast.walk(node):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        if call.func.id in ("Finding", "_finding"):
            layer = next(
                (ast.literal_eval(given.value) for given in call.keywords if given.arg == "layer"), ""
            )
            for code in literals(call.args[0], node):
                yield code, layer or CODES[code].layer
        elif call.func.id in functions(module) and call.func.id not in seen:
            yield from raised(module, call.func.id, seen | {function})


def every_finding() -> set[tuple[str, str]]:
    modules = [f"toolbench.judging.{name}" for name in MODULES]
    return {found for module in modules for name in functions(module) for found in raised(module, name)}


def test_every_code_that_a_check_can_raise_is_registered_and_no_other() -> None:
    assert every_finding() == {(code, layer) for code, known in CODES.items() for layer in known.checks}


@pytest.mark.parametrize("code", CODES)
def test_a_code_is_raised_by_the_check_it_names(code: str) -> None:
    for layer, check in CODES[code].checks.items():
        module, _, function = check.partition(":")
        assert (code, layer) in set(raised(module, function))


@pytest.mark.parametrize("code", CODES)
def test_a_code_has_a_meaning_and_a_diagnosis_in_every_language(code: str) -> None:
    for texts in (CODES[code].meaning, CODES[code].diagnosis):
        assert tuple(texts) == LANGS
        assert all(text[0].isupper() or text.startswith("null") for text in texts.values())
        assert all(text.endswith((".", "?")) for text in texts.values())
        assert any("а" <= letter <= "я" for letter in texts["ru"])


def test_the_readers_of_arguments_have_no_other_code() -> None:
    """What adapters and the schema checks call a fault is what the checks pass on."""
    for name, known in (
        ("toolbench/adapters/strict_arguments.py", "call.error"),
        ("toolbench/domain/canonical.py", "call.error"),
        ("toolbench/domain/validation.py", "issue.code"),
    ):
        found = set(_codes(ROOT / name))
        assert found
        assert found <= FROM_DATA[known], name


def _codes(path: Path) -> Iterator[str]:
    """Yield the constants that a module makes a fault with or calls a code."""
    makers = {"call": 1, "StrictJSONError": 0, "ArgumentIssue": 0}
    for node in ast.walk(ast.parse(path.read_text())):
        given: Any = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in makers:
            given = node.args[makers[node.func.id] :][:1]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "replace":
            given = [keyword.value for keyword in node.keywords if keyword.arg == "error"]
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).split(",")[0].strip("(") == "code":
            given = node.value.elts[:1] if isinstance(node.value, ast.Tuple) else [node.value]
        yield from (one.value for one in given or () if isinstance(one, ast.Constant))


def test_selfcheck_expects_registered_codes_only() -> None:
    folder = ROOT / "toolbench/selfcheck"
    traces = json.loads((folder / "traces.json").read_text())
    expected = {code for trace in traces["traces"] for code in trace["codes"]}
    for path in folder.glob("break_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "named":
                expected |= {arg.value for arg in node.args if isinstance(arg, ast.Constant)}  # type: ignore[misc]
    assert len(expected) > 30
    assert expected <= set(CODES)
