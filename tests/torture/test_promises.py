"""The page of promises: every sentence names tests, and they exist."""

import ast
import re

from tests.support import ROOT

PAGE = (ROOT / "docs/promises.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def test_every_promise_names_a_test_that_exists() -> None:
    promises = [line for line in PAGE.splitlines() if line.startswith("- ")]
    assert len(promises) >= 15
    for promise in promises:
        named = NAMED.findall(promise)
        assert named, promise
        for file, name in named:
            tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
            functions = {
                node.name
                for node in ast.walk(tree)
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            }
            assert name in functions, f"{file}::{name}"
