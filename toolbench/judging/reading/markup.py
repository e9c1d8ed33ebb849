"""What is no prose in a reply, told by its shape: calls, tool results, data, tags.

No family of models is listed: a tag is one by its angle brackets, its meaning by the roots of its name; a
call is a name on offer in front of its arguments.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

CALL = "tool_call"
RESULT = "tool_result"
DATA = "json"
TAG = "tag"

_TAG = re.compile(r"</?[|｜]?([A-Za-z][^<>\n]{0,200}|[|｜][^<>\n]{1,200})>|\[/?([A-Z][A-Z_]{3,40})\]")
_OPEN = re.compile(r"</?(?:[|｜]|(?:tool|function|invoke|antml|parameter)[\w:=-]*\b)[^<>\n]{0,60}")
_CALL_ROOT = re.compile(
    r"tool_?code|tool_?call|function|invoke|dsml|action|parameter|python_tag|tool_?use|to=", re.I
)
_RESULT_ROOT = re.compile(r"respon|result|output|observ|return", re.I)
_PROSE_TAGS = re.compile(
    r"/?(?:b|i|u|s|p|br|hr|em|strong|ul|ol|li|a|code|pre|table|tr|td|th|div|span|h\d|sup|sub)\b", re.I
)
_DATA = re.compile(r"[{\[]\s*(?:\{\s*)?(?:\"[^\"\n]{1,60}\"|'[^'\n]{1,60}')\s*:")
_ACTION = re.compile(
    r"(?m)^[ \t]*Action(?: Input)?[ \t]*:[ \t]*\S+"
    r"|^[ \t]*(?:Function|Tool)(?: call| name)?[ \t]*:[ \t]*\w+[_(]",
    re.I,
)
_OBSERVED = re.compile(
    r"(?m)^[ \t]*(?:Observation|Tool (?:result|response|output)|Function (?:result|response))\s*:", re.I
)
_FENCE = re.compile(r"```[ ]?(tool_code|tool_call|tool_outputs?|function_call)", re.I)
_BARE_CALL = re.compile(r"\[?\b([a-z][a-z0-9]*(?:_[a-z0-9]+)+)\s*\(\s*(?:\w+\s*=|[\"'{)])")


def markup(text: str, tools: Collection[str] = ()) -> list[tuple[str, int, int]]:
    """Return ``(kind, start, end)`` of everything that is no prose, in order.

    Parameters
    ----------
    text
        Prepared text.
    tools
        Names on offer: one of them in front of a bracket is a call even where nothing else looks like one.
    """
    found = [*_tags(text), *_data(text)]
    found += [(CALL, m.start(), m.end()) for m in _ACTION.finditer(text)]
    found += [(RESULT, m.start(), m.end()) for m in _OBSERVED.finditer(text)]
    found += [
        (RESULT if "output" in m[1].lower() else CALL, m.start(), m.end()) for m in _FENCE.finditer(text)
    ]
    found += [(CALL, m.start(), m.end()) for m in _BARE_CALL.finditer(text)]
    if tools:
        names = "|".join(map(re.escape, sorted(tools, key=len, reverse=True)))
        call = re.compile(rf"(?<![\w-])(?:{names})\s*[({{]\s*(?!\))")
        found += [(CALL, m.start(), m.end()) for m in call.finditer(text)]
    return sorted(found, key=lambda one: one[1])


def _tags(text: str) -> Iterator[tuple[str, int, int]]:
    for found in _TAG.finditer(text):
        name = (found[1] or found[2] or "").strip("|｜ /")
        if not _PROSE_TAGS.match(name) and "@" not in name and "://" not in name:
            yield _meaning(found[0]), found.start(), found.end()
    for found in _OPEN.finditer(text):
        yield _meaning(found[0]), found.start(), found.end()


def _meaning(tag: str) -> str:
    if _RESULT_ROOT.search(tag):
        return RESULT
    return CALL if _CALL_ROOT.search(tag) else TAG


def _data(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield objects and lists of data, whole or cut, up to the closing bracket where there is one."""
    end = 0
    for found in _DATA.finditer(text):
        if found.start() < end:
            continue
        end = _closing(text, found.start())
        inside = text[found.start() : end]
        named = re.search(r"[\"'](?:name|tool|function)[\"']\s*:", inside)
        holds = re.search(r"[\"'](?:arguments|parameters|args|input)[\"']\s*:", inside)
        yield (CALL if named and holds else DATA), found.start(), end


def _closing(text: str, start: int) -> int:
    depth = 0
    for at in range(start, len(text)):
        if text[at] in "{[":
            depth += 1
        elif text[at] in "}]":
            depth -= 1
            if depth == 0:
                return at + 1
    return len(text)
