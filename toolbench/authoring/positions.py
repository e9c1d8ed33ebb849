"""Line numbers inside a JSON document, so that a finding can point at the entry it is about."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

Path = tuple[str | int, ...]

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


def line_index(text: str) -> Mapping[Path, int]:
    """Map the path of every value of a valid JSON document to the line it starts on (from 1).

    Examples
    --------
    >>> line_index('{"tools": [\\n  {"name": "a"}]}')[("tools", 0, "name")]
    2
    """
    return dict(_values(text))


def repeated_key_line(text: str) -> int:
    """Return the line of the first key that its object already has (1 when there is none)."""
    seen: set[Path] = set()
    for path, line in _values(text):
        if path in seen:
            return line
        seen.add(path)
    return 1


def _values(text: str) -> Iterator[tuple[Path, int]]:
    """Yield path and line of every value, in document order."""
    stack: list[str | int] = []
    in_object: list[bool] = []
    expect_key = False
    line, scanned = 1, 0
    for match in TOKEN.finditer(text):
        token = match[0]
        line += text.count("\n", scanned, match.start())
        scanned = match.start()
        if token == ",":
            expect_key = in_object[-1]
            if not in_object[-1]:
                stack[-1] = int(stack[-1]) + 1
        elif token == ":":
            expect_key = False
        elif token in "}]":
            in_object.pop()
            stack.pop()
            expect_key = False
        elif expect_key:
            stack[-1] = json.loads(token)
        else:
            yield tuple(stack), line
            if token in "{[":
                in_object.append(token == "{")
                stack.append("" if token == "{" else 0)
                expect_key = token == "{"
