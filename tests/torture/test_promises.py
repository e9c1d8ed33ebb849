"""The pages of promises and of proofs: what they name as their tests is there."""

import ast
import re
from functools import cache

import pytest

from tests.support import ROOT

PAGE = (ROOT / "docs/promises.md").read_text(encoding="utf-8")
PROOFS = (ROOT / "tests/bench/README.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


@cache
def functions(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    found = ast.FunctionDef | ast.AsyncFunctionDef
    return {node.name for node in ast.walk(tree) if isinstance(node, found)}


def test_every_promise_names_a_test_that_exists() -> None:
    promises = [line for line in PAGE.splitlines() if line.startswith("- ")]
    assert len(promises) >= 15
    for promise in promises:
        assert NAMED.findall(promise), promise


@pytest.mark.parametrize(
    ("file", "name"), sorted({*NAMED.findall(PAGE), *NAMED.findall(PROOFS)}), ids=lambda part: part
)
def test_every_test_that_is_named_exists(file: str, name: str) -> None:
    assert name in functions(file)


def test_every_fault_of_the_figures_has_a_test() -> None:
    _, _, after = PROOFS.partition("## What misled, and what holds it now")
    table, _, _ = after.partition("\n## ")
    rows = [line for line in table.splitlines() if re.match(r"\| \d+ ", line)]
    assert [int(row.split()[1]) for row in rows] == list(range(1, 16))
    for row in rows:
        assert NAMED.findall(row), row
